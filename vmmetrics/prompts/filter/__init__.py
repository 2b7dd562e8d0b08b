"""What of a list is worth keeping."""
