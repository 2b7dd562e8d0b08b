"""Body poses by BlazePose, tracked."""
