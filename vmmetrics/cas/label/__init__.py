"""Labels for a commonsense classifier, from comparisons of clips."""
