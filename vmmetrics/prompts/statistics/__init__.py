"""Statistics of a prompt list, and comparison of two."""
