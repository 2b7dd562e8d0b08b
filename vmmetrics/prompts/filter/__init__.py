"""What of a list is worth keeping."""

from __future__ import annotations
