"""Charts of understanding results."""
