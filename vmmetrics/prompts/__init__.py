"""Prompts that make models move: metadata, generation, validation, review and choice of motion prompts."""
