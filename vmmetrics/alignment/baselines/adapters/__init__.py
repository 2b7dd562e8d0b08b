"""Baselines that run on weights the user has; each module is imported only when one of its baselines is asked for."""
