"""Subsets of a prompt list that cover it and are balanced."""
