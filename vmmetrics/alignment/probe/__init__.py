"""What a metric notices: defects put into good clips one at a time, and harmless changes that should not matter."""

from vmmetrics.alignment.probe.analysis import analyse
from vmmetrics.alignment.probe.cases import Plan
from vmmetrics.alignment.probe.results import ProbeReport, Tolerance
from vmmetrics.alignment.probe.session import probe

__all__ = ["Plan", "ProbeReport", "Tolerance", "analyse", "probe"]
