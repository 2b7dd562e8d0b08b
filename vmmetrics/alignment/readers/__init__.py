"""Readers of scores and ratings: run directories, tables of every usual form, and released rated sets."""
