"""Motion scores for generated video."""
