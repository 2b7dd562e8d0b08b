"""Cases of prompts."""

CASES = []
