"""Baselines: cheap or published measures, reported beside our metrics."""
