from __future__ import annotations

from typing import Any

import pytest

from vmmetrics.alignment.readers.formats.pandas_json import detect


@pytest.mark.parametrize("data", [5, [5], [["1.mp4"]], None])
def test_a_split_frame_of_another_shape_is_none(data: Any) -> None:
    assert not detect({"columns": ["clip", "smooth"], "index": [0], "data": data})
