"""One file per metric: what it asks of the scene, and the call into :mod:`vmmetrics.functional`; the registry."""

from vmmetrics.metrics.registry import METRICS, Metric, register, registered

__all__ = ["METRICS", "Metric", "register", "registered"]
