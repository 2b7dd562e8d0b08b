from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.errors import ClipError
from vmmetrics.video.budget import clip_bytes, make_plan


def test_bytes_by_hand() -> None:
    # 10 frames of 512 x 1024: RGB 3 bytes a pixel; working pictures of half that size, 70 bytes a pixel
    assert clip_bytes(10, 1024, 512) == 10 * (1024 * 512 * 3 + 512 * 256 * 70)


@given(
    count=st.integers(1, 2000),
    width=st.integers(64, 2000),
    height=st.integers(64, 2000),
    mebibytes=st.integers(64, 4096),
)
def test_what_is_kept_fits_and_keeps_its_shape(count: int, width: int, height: int, mebibytes: int) -> None:
    bound = mebibytes * 2**20
    try:
        plan = make_plan(count, width, height, bound)
    except ClipError:
        assert clip_bytes(count, *(round(64 * side / min(width, height)) + 1 for side in (width, height))) > bound
        return
    assert clip_bytes(count, *plan.kept) <= bound
    assert min(plan.kept) >= min(63, width, height)
    assert abs(plan.kept[0] / plan.kept[1] / (width / height) - 1) <= 2 / min(plan.kept)
    if plan.kept != plan.full:  # and it is the largest that fits, but for the changed aspect of the grown size
        grown = [side + 2 for side in plan.kept]
        assert clip_bytes(count, *grown) > 0.99 * bound


def test_the_bound_that_would_do_does() -> None:
    with pytest.raises(ClipError, match=r"max_memory of \d+ MiB would do") as caught:
        make_plan(10_000, 1280, 720, 2**30)
    needed = int(str(caught.value).split("max_memory of ")[1].split()[0])
    assert min(make_plan(10_000, 1280, 720, needed * 2**20).kept) >= 63
