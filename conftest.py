"""Doctests of modules that need torch are collected only where it is installed; no test fails because it is slow."""

from __future__ import annotations

import os
import signal
from importlib.util import find_spec

from hypothesis import HealthCheck, settings

_TORCH = [
    "vmmetrics/perception/vmbench/*",
    "vmmetrics/cas/train/*",
    "vmmetrics/cas/evaluate/model_card.py",
    "vmmetrics/understanding/fusion/*",
]
collect_ignore_glob = [] if find_spec("torch") else _TORCH

# Before numpy is imported, here and in the processes of tests: on matrices as small as theirs, threads of OpenBLAS only
# wait for one another, and take for it the core of a second process of tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# How long an example takes says how busy the machine is, and nothing about the code.
settings.register_profile("untimed", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would every command that a test stops.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
