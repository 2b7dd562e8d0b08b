"""Clips from prompts: a resumable loop over a text-to-video pipeline or any command, laid out as scoring reads it."""
