"""What the models see of a clip, computed once and shared by the metrics."""
