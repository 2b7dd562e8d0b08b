"""The embedded commonsense classifier."""
