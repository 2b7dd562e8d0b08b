"""Clips in: files, folders of frames, arrays; and the prompts that belong to them."""
