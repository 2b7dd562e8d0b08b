"""Published weights: what there is, where it lies, whether it is what its publisher gave away, and how to get it."""
