"""Clips to scores and a run directory: records, resume, provenance, export, and the engine that drives it."""
