"""Technical quality per frame."""
