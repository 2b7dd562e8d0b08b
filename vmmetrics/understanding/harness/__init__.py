"""What every understanding benchmark shares: the run, answers, scores, comparisons."""
