"""People decide, and every decision is kept."""

from __future__ import annotations
