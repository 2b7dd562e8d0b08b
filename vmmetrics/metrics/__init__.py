"""The metrics, one file each: the inputs from the scene and the call into :mod:`vmmetrics.functional`; the registry."""

from vmmetrics.metrics.registry import METRICS, Metric, register, registered

__all__ = ["METRICS", "Metric", "register", "registered"]
