"""The page: scripts and styles of this package under a content security policy, and data as scripts that call it."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

SCRIPTS = (
    "core.js", "data.js", "state.js", "filter.js", "filters.js", "gallery.js", "leaderboard.js", "distributions.js",
    "player.js", "transport.js", "overlay.js", "timeline.js", "clip.js", "matching.js", "duet.js", "pair.js", "compare.js", "changes.js", "groups.js", "about.js", "main.js",
)  # fmt: skip
"""In the order in which they are run."""
STYLES = (
    "_vendor/uPlot.min.css", "style.css", "filters.css", "gallery.css", "leaderboard.css", "distributions.css", "player.css",
    "timeline.css", "clip.css", "compare.css", "changes.css", "groups.css", "about.css",
)  # fmt: skip
VENDORED = "_vendor/uPlot.iife.min.js"
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def to_script(value: Any) -> str:
    """Return JSON that may stand in a script element, surrogates replaced.

    >>> to_script({"clip": "</script>"})
    '{"clip":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPED.items():
        text = text.replace(character, escape)
    return text.encode("utf-8", "replace").decode()


def call(function: str, *values: Any) -> str:
    """Return the script that hands values to a function of ``vmReport``."""
    return f"vmReport.{function}({','.join(map(to_script, values))});\n"


def script() -> str:
    """Return all scripts of the page in one."""
    return "".join(_asset(name) for name in (VENDORED, *SCRIPTS))


def style() -> str:
    """Return all styles of the page in one."""
    return "".join(_asset(name) for name in STYLES)


def page() -> str:
    """Return ``index.html`` of a folder: data and program in files beside it, and nothing from elsewhere."""
    start = "vm.start();"
    digest = base64.b64encode(hashlib.sha256(start.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; media-src 'self' data: blob:; base-uri 'none'; form-action 'none'"
    )
    scripts = "".join(f'<script src="{name}"></script>\n' for name in ("app/report.js", "data/index.js"))
    text = _asset("index.html")
    text = text.replace("<!--policy-->", f'<meta http-equiv="Content-Security-Policy" content="{policy}">')
    text = text.replace("<!--styles-->", '<link rel="stylesheet" href="app/report.css">')
    return text.replace("<!--scripts-->", f"{scripts}<script>{start}</script>")


def _asset(name: str) -> str:
    return files("vmmetrics.viewer").joinpath("page", name).read_text("utf-8")
