"""Cases of weights."""

CASES = []
