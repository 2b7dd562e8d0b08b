"""Published weights: what there is, where it lies, whether it is what its publisher gave away, and how to get it."""

from vmmetrics.utils.weights.folder import Inspection, inspect, resolve, resolve_all, weights_home
from vmmetrics.utils.weights.manifest import Published, load_published, published, select

__all__ = [
    "Inspection", "Published", "inspect", "load_published", "published", "resolve", "resolve_all", "select",
    "weights_home",
]  # fmt: skip
