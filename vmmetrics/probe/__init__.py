"""What a metric notices: defects put into good clips one at a time, and harmless changes that should not matter."""

from vmmetrics.probe.analysis import analyse
from vmmetrics.probe.api import probe
from vmmetrics.probe.plan import Plan
from vmmetrics.probe.results import ProbeReport, Tolerance

__all__ = ["Plan", "ProbeReport", "Tolerance", "analyse", "probe"]
