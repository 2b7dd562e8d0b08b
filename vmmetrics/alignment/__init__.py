"""How far people agree with a score: correlations, human ceiling, agreement, preferences, power."""
