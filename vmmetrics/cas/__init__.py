"""CAS beyond scoring: labels from comparisons, and the classifiers that learn from them."""
