"""JSON of a pandas data frame: orients "columns" (the default), "split" and "table"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vmmetrics.alignment.readers.columns import CLIP, first_column
from vmmetrics.alignment.readers.source_table import Rows, is_rows

_SPLIT, _TABLE = {"columns", "index", "data"}, {"schema", "data"}


def detect(content: Any) -> bool:
    """Return True if content is of one of the three orients."""
    if not isinstance(content, Mapping) or not content:
        return False
    if content.keys() == _SPLIT:
        names, data = content["columns"], content["data"]
        lists = (
            isinstance(names, list)
            and all(isinstance(name, str) for name in names)
            and isinstance(data, list)
            and all(isinstance(row, list) for row in data)
        )
        return lists and all(len(row) == len(names) for row in data)
    if content.keys() == _TABLE and is_rows(content["data"]):
        return True
    columns = list(content.values())
    if not all(isinstance(of, Mapping) and of and list(of) == list(columns[0]) for of in columns):
        return False
    is_table = first_column(map(str, content), CLIP) is not None
    return is_table and all(str(row).isdigit() for row in columns[0])


def rows(content: Any, _: str) -> Rows:
    """Return rows, or columns."""
    if content.keys() == _SPLIT:
        return [dict(zip(content["columns"], row, strict=True)) for row in content["data"]], ""
    if content.keys() == _TABLE:
        return [{name: cell for name, cell in row.items() if name != "index"} for row in content["data"]], ""
    return {str(name): list(of.values()) for name, of in content.items()}, ""
