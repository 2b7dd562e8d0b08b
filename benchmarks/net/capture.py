"""Files that a case left behind, in a form that can be held against another: text by lines, pictures by pixels."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.net.normalise import COLUMNS, GONE, Normaliser

EMBEDDED = re.compile(r"data:(image|video)/(\w+);base64,([A-Za-z0-9+/=\s]+)")
DRAWN = (
    (re.compile(r"<dc:date>[^<]*</dc:date>"), "<dc:date/>"),
    (re.compile(r"Matplotlib v[\d.]+"), "Matplotlib"),
)
DRAWN_ID = re.compile(r'(?:id="|#)([mp][0-9a-f]{10}|C[0-9a-f]_[0-9a-f]_[0-9a-f]{10})')
"""Names that matplotlib makes up in an SVG; they follow from a random salt."""


def captured(folder: Path, normaliser: Normaliser) -> dict[str, Any]:
    """Return what every file below the folder holds, by its name; inputs are left out."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if name.parts[0] == "in" or (path.is_dir() and not path.is_symlink()):
            continue
        found[normaliser.text(name.as_posix())] = _content(path, normaliser)
    return found


def _content(path: Path, normaliser: Normaliser) -> dict[str, Any]:
    if path.is_symlink():
        return {"link": normaliser.text(str(path.readlink()))}
    data = path.read_bytes()
    reader = READERS.get(path.suffix.lower())
    try:
        if reader is not None and data:
            return reader(data, normaliser)
        return {"text": normaliser.lines(data.decode())}
    except Exception as error:  # whatever cannot be read is named by its bytes
        return {"bytes": hashlib.sha256(data).hexdigest(), "size": len(data), "why": type(error).__name__}


def _number(text: str) -> str:
    return f"float {text}"  # every digit as it is written


def _json(data: bytes, normaliser: Normaliser) -> dict[str, Any]:
    text = data.decode()
    value = json.loads(text, parse_float=_number)
    return {"json": normaliser.value(value), "lines": text.count("\n")}


def _json_lines(data: bytes, normaliser: Normaliser) -> dict[str, Any]:
    lines = data.decode().splitlines()
    return {"json": [normaliser.value(json.loads(line, parse_float=_number)) for line in lines]}


def _table(delimiter: str) -> Callable[[bytes, Normaliser], dict[str, Any]]:
    def read(data: bytes, normaliser: Normaliser) -> dict[str, Any]:
        text = data.decode()
        header, *rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
        out = io.StringIO()
        writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
        writer.writerow(header)
        for row in rows:
            cells = [*zip(header, row, strict=False), *[("", cell) for cell in row[len(header) :]]]
            writer.writerow([GONE if name in COLUMNS and cell else cell for name, cell in cells])
        return {"text": normaliser.lines(out.getvalue()), "ends": "\r\n" if "\r\n" in text else "\n"}

    return read


def _parquet(data: bytes, normaliser: Normaliser) -> dict[str, Any]:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(io.BytesIO(data))
    rows = [{name: _cell(cell) for name, cell in row.items()} for row in table.to_pylist()]
    return {"types": [f"{field.name}: {field.type}" for field in table.schema], "json": normaliser.value(rows)}


def _cell(value: Any) -> Any:
    return f"float {value!r}" if isinstance(value, float) else value


def pixels(data: bytes) -> dict[str, Any]:
    """Return size and hash of a picture's pixels."""
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        shown = image.convert("RGBA")
        return {"size": list(shown.size), "pixels": hashlib.sha256(shown.tobytes()).hexdigest()}


def _film(data: bytes) -> dict[str, Any]:
    import av

    whole, count, times = hashlib.sha256(), 0, []
    with av.open(io.BytesIO(data)) as opened:
        for frame in opened.decode(video=0):
            whole.update(frame.to_ndarray(format="rgb24").tobytes())
            times.append(str(frame.time))
            count += 1
    return {"frames": count, "pixels": whole.hexdigest(), "times": hashlib.sha256(",".join(times).encode()).hexdigest()}


def _page(data: bytes, normaliser: Normaliser) -> dict[str, Any]:
    def drawn(match: re.Match[str]) -> str:
        inside = base64.b64decode(match[3])
        if match[2].startswith("svg"):
            return f"data:svg {_page(inside, normaliser)}"
        return f"data:{match[1]} {(pixels if match[1] == 'image' else _film)(inside)}"

    text = EMBEDDED.sub(drawn, data.decode())
    for pattern, with_ in DRAWN:
        text = pattern.sub(with_, text)
    for number, name in enumerate(dict.fromkeys(DRAWN_ID.findall(text))):
        text = text.replace(name, f"drawn{number}")
    return {"text": normaliser.lines(text)}


def _archive(data: bytes, _: Normaliser) -> dict[str, Any]:
    import numpy as np

    with np.load(io.BytesIO(data), allow_pickle=False) as opened:
        arrays = {name: opened[name] for name in opened.files}
    return {n: [str(a.dtype), list(a.shape), hashlib.sha256(a.tobytes()).hexdigest()] for n, a in arrays.items()}


READERS: dict[str, Callable[[bytes, Normaliser], dict[str, Any]]] = {
    ".json": _json,
    ".jsonl": _json_lines,
    ".csv": _table(","),
    ".tsv": _table("\t"),
    ".parquet": _parquet,
    ".html": _page,
    ".svg": _page,
    ".npz": _archive,
    **{suffix: lambda data, _: pixels(data) for suffix in (".png", ".jpg", ".jpeg")},
    **{suffix: lambda data, _: _film(data) for suffix in (".mp4", ".gif", ".webm")},
}
