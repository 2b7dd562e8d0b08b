"""Cases of baselines."""

CASES = []
