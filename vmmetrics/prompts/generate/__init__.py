"""Prompt generation from metadata: plausible combinations, written by a language model or by grammar."""
