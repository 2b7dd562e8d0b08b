"""The page: scripts and styles of this package under a content security policy, and data as scripts that call it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from vmmetrics.metrics.registry import METRICS, colour_of
from vmmetrics.utils.display import bundle
from vmmetrics.utils.display.bundle import digest
from vmmetrics.utils.schema import with_texts
from vmmetrics.viewer.texts import legible

VENDORED = "_vendor/uPlot.iife.min.js"
STYLES = ("_vendor/uPlot.min.css", "style.css")
"""Those before the styles of single scripts, which have their names."""
MARK = '<meta name="generator" content="vmmetrics report">'
"""In every page, by which an earlier report is recognised."""
_START = "vmReport.start();"
_START_INLINE = (
    'vmReport.inline(JSON.parse(document.getElementById("data-inline").textContent));'
    f'vmReport.index(JSON.parse(document.getElementById("data-index").textContent));{_START}'
)
_PROTOTYPE = '"__proto__"'
_PROTOTYPE_KEY = re.compile(rf"(?<!\\){_PROTOTYPE}:")
_LUMA = (0.2126, 0.7152, 0.0722)  # of red, green and blue (ITU-R BT.709)
_DARK, _LIGHTER = 100, 0.3  # luma of a colour hard to see on dark paper; share of white mixed into it
_ESCAPED = "<>&\u2028\u2029"


def to_script(value: Any) -> str:
    r"""Return JSON that may stand in a script element; bytes that are no text become escapes.

    >>> to_script({"clip": "</script>"})
    '{"clip":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(with_texts(value, legible), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in _ESCAPED:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def call(function: str, *values: Any) -> str:
    """Return the script that hands values to a function of ``vmReport``; :func:`values_of` reads it back."""
    text = ",".join(map(to_script, values))
    if _PROTOTYPE in text:  # which sets the prototype of an object unless it is in brackets
        text = _PROTOTYPE_KEY.sub(f"[{_PROTOTYPE}]:", text)
    return f"vmReport.{function}({text});\n"


def values_of(text: str) -> list[Any]:
    """Return the values that a script of :func:`call` hands on."""
    text = text[text.index("(") + 1 : text.rindex(")")].replace(f"[{_PROTOTYPE}]:", f"{_PROTOTYPE}:")
    values: list[Any] = json.loads(f"[{text}]")
    return values


def modules(entry: str = "main.js") -> dict[str, str]:
    """Return a module of the page and those that it imports, by name, each after those that it needs."""
    return bundle.modules(entry, _asset)


def script(entry: str = "main.js") -> str:
    """Return a module and those that it imports in one script, with what draws series where one needs it."""
    chosen = modules(entry)
    drawing = _asset(VENDORED) if "timeline.js" in chosen else ""
    return drawing + bundle.bundle(chosen.values())


def style(entry: str = "main.js") -> str:
    """Return the styles of a module and those that it imports in one, with the colours of the registered metrics."""
    folder = files("vmmetrics.viewer").joinpath("page")
    own = [name for name in (name.replace(".js", ".css") for name in modules(entry)) if folder.joinpath(name).is_file()]
    return "".join(_asset(name) for name in (*STYLES, *own)) + "".join(
        f"{root} {{ {' '.join(f'--m-{key}: #{bytes(colour).hex()};' for key, colour in colours.items())} }}\n"
        for root, colours in ((":root", _colours(0.0)), (':root[data-theme="dark"]', _colours(_LIGHTER)))
    )


def _colours(white: float) -> dict[str, tuple[int, ...]]:
    """Return the colours of our metrics; dark ones mixed with this share of white."""
    shades = {}
    for key, colour in ((key, colour_of(key)) for key in METRICS):
        luma = sum(weight * part for weight, part in zip(_LUMA, colour, strict=True))
        share = white if luma < _DARK else 0.0
        shades[key] = tuple(round(part + share * (255 - part)) for part in colour)
    return shades


def page() -> str:
    """Return ``index.html`` of a folder: data and program in files beside it, and nothing from elsewhere."""
    files_ = "".join(f'<script src="{name}"></script>\n' for name in ("app/report.js", "data/index.js"))
    return filled(
        "index.html",
        policy=policy(f"'self' {digest(_START)}", "'self'"),
        styles='<link rel="stylesheet" href="app/report.css">',
        scripts=f"{files_}<script>{_START}</script>",
    )


def single_page(index: Mapping[str, Any], inline: Mapping[str, Any]) -> str:
    """Return a page that needs no other file.

    Args:
        index: The index.
        inline: ``posters`` and ``overlays`` by row, ``details`` by shard, as ``data.js`` expects them.
    """
    program, styles = script(), style()
    blocks = "".join(
        f'<script type="application/json" id="{name}">{to_script(value)}</script>\n'
        for name, value in (("data-inline", inline), ("data-index", index))
    )
    return filled(
        "index.html",
        policy=policy(f"{digest(program)} {digest(_START_INLINE)}", digest(styles)),
        styles=f"<style>{styles}</style>",
        scripts=f"{blocks}<script>{program}</script>\n<script>{_START_INLINE}</script>",
    )


def policy(scripts: str, styles: str) -> str:
    """Return the content security policy: no request to any other place, and no program but our own.

    Args:
        scripts: Sources of scripts.
        styles: Sources of styles.
    """
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src 'self' data: blob:; "
        "media-src 'self' data: blob:; base-uri 'none'; form-action 'none'"
    )


def filled(name: str, **parts: str) -> str:
    """Return a page of this package with a part in the place of each comment that names one."""
    return re.sub(r"<!--(\w+)-->", lambda match: parts[match[1]], _asset(name))


def _asset(name: str) -> str:
    return files("vmmetrics.viewer").joinpath("page", name).read_text("utf-8")
