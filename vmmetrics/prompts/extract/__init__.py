"""From captions to metadata: subjects, places and actions of any corpus."""

from __future__ import annotations
