from __future__ import annotations

import re

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.utils.weights.manifest import is_inside, load_manifest, load_published, select


def test_every_entry_says_where_it_comes_from_and_under_what_licence() -> None:
    for entry in load_published().values():
        assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", entry.name)
        assert entry.used_by
        assert entry.licence
        assert entry.sets
        assert (entry.hub is not None) != all(file.url for file in entry.files)
        assert entry.size > 10**7
        if entry.must_accept:
            assert entry.notice


def test_every_file_stays_in_its_folder_and_is_named_once() -> None:
    for entry in load_published().values():
        paths = [file.path for file in entry.files]
        assert len(paths) == len(set(paths))
        for file in entry.files:
            assert is_inside(file.path)
            assert file.url is None or file.url.startswith("https://")
            assert not file.url or not file.url.endswith(".zip")
            assert file.sha256 is None or re.fullmatch(r"[0-9a-f]{8}|[0-9a-f]{64}", file.sha256)


def test_hashes_agree_with_those_in_openmmlabs_file_names() -> None:
    hashed = [f for e in load_published().values() for f in e.files if "openmmlab" in (f.url or "")]
    assert hashed
    for file in hashed:
        assert file.sha256 is not None
        assert file.sha256[:8] in file.path


def test_shipped_and_published_names_are_apart() -> None:
    assert not load_manifest().keys() & load_published().keys()


def test_a_set_and_its_members_once() -> None:
    chosen = [entry.name for entry in select(["one-align", "vmbench"])]
    assert chosen.count("one-align") == 1
    assert {"cotracker3-offline", "videomae-vmbench", "sam-vit-huge"} < set(chosen)
    assert chosen == [name for name in load_published() if name in chosen]


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(SetupError, match="did you mean one-align"):
        select(["one-aling"])


@pytest.mark.parametrize(
    "path", ["../x", "a/../../x", "/x", "a\\..\\x", "c:x", "~/x", "", "a\0b", "\x1b]0;x", "a\ud800", 3, None]
)
def test_names_that_leave_the_folder(path: object) -> None:
    assert not is_inside(path)
