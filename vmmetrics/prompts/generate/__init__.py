"""From metadata to prompts: plausible combinations, written by a language model or by grammar."""
