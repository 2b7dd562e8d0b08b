"""Baselines: what is cheap or published, measured beside our metrics so that they can be beaten in the open."""
