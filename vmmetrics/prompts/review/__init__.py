"""Review of prompt lists by people; every decision is recorded."""

from __future__ import annotations
