"""Filters of prompt lists."""
