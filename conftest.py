"""Doctests of modules that need torch are collected only where it is installed."""

from __future__ import annotations

from importlib.util import find_spec

_TORCH = [
    "vmmetrics/perception/vmbench/*",
    "vmmetrics/cas/training/*",
    "vmmetrics/cas/backbone.py",
    "vmmetrics/understanding/fusion/*",
]
collect_ignore_glob = [] if find_spec("torch") else _TORCH
