"""Helpers for all packages: safe text, strict parsing, statistics, storage. Nothing here is about motion."""
