"""Print which heavy packages an import of vmmetrics brings along: none should."""

from __future__ import annotations

import sys

import vmmetrics

HEAVY = ("torch", "cv2", "av", "scipy", "matplotlib", "pandas", "spacy", "typer", "rich", "pydantic", "ai_edge_litert")
print(vmmetrics.__version__, [name for name in HEAVY if name in sys.modules])
vmmetrics.functional.motion_index({"cas": 0.5, "mss": 0.9})
print([name for name in HEAVY if name in sys.modules])
