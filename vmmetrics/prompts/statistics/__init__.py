"""What a list consists of, and how two compare."""

from __future__ import annotations
