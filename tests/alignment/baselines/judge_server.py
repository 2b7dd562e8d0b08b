"""The server of ``tests/endpoint_server.py`` with a judge's answers."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

_spec = importlib.util.spec_from_file_location("endpoint_server", Path(__file__).parents[2] / "endpoint_server.py")
assert _spec and _spec.loader
_server = sys.modules["endpoint_server"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_server)

Script, completion, hang_up, serve, truncated = (
    _server.Script, _server.completion, _server.hang_up, _server.serve, _server.truncated
)  # fmt: skip

GOOD = {"cas": 4, "mss": 5, "ois": 3, "pas": 2, "tcs": 1}


def good(**changed: Any) -> Any:
    return completion(json.dumps(GOOD | changed))
