"""What a list consists of, and how two compare."""
