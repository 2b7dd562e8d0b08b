"""Pictures of what cost points."""
