"""Make what tests share importable: tests/bad_inputs.py, tests/endpoint_server.py and the helpers of this folder."""

from __future__ import annotations

import sys
from pathlib import Path

for _folder in (Path(__file__).resolve().parents[2], Path(__file__).resolve().parent):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))
