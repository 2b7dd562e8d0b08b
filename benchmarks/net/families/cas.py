"""Cases of cas."""

CASES = []
