"""Sensitivity of metrics: response to injected defects and to harmless changes."""

from vmmetrics.alignment.probe.analysis import analyse
from vmmetrics.alignment.probe.cases import Plan
from vmmetrics.alignment.probe.results import ProbeReport, Tolerance
from vmmetrics.alignment.probe.session import probe

__all__ = ["Plan", "ProbeReport", "Tolerance", "analyse", "probe"]
