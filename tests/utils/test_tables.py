from __future__ import annotations

from pathlib import Path

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.utils.tables import MOST_COLUMNS, read_rows


def test_a_table_of_more_columns_than_any_tool_writes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(",".join(map(str, range(MOST_COLUMNS))) + "\n" + "a" + "," * (MOST_COLUMNS - 1))
    assert len(read_rows(path)[0]) == MOST_COLUMNS
    path.write_text(",".join(map(str, range(10**6))) + "\n" + ("," * (10**6 - 1) + "\n") * 3)
    with pytest.raises(SetupError, match="1,000,000 columns; at most 10,000 are read"):
        read_rows(path)
