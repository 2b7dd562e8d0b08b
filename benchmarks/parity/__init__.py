"""The published packages themselves, for comparison with our ports of them."""
