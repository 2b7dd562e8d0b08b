from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.alignment.readers.names import groups_from_names, match_names
from vmmetrics.errors import SetupError


def matched(first: list[str], second: list[str], *, of_models: bool = False) -> dict[str, str]:
    return {first[a]: second[b] for a, b in match_names(first, second, of_models=of_models).pairs}


@pytest.mark.parametrize(
    ("first", "second", "how"),
    [
        ("a/1.mp4", "a/1.mp4", "path"),
        ("./a/1.mp4", "a\\1.mp4", "path"),
        ("é/1.mp4", "e\u0301/1.mp4", "path"),
        ("a/1.mp4", "a/1", "path without suffix"),
        ("a/1.mp4", "A/1.MP4", "path without suffix, whatever the case"),
        ("/data/x/a/1.mp4", "a/1.mp4", "last 2 parts of the path"),
        ("/data/x/a/1.mp4", "other/place/a/1.gif", "last 2 parts of the path without suffix"),
        ("a/1.mp4", "1.mp4", "file name"),
        ("a/1.mp4", "b/1.mp4", "file name"),
        ("1.mp4", "1", "name without suffix"),
        ("Clip.mp4", "clip.gif", "name without suffix, whatever the case"),
    ],
)
def test_each_way_of_being_the_same_clip(first: str, second: str, how: str) -> None:
    match = match_names([first], [second])
    assert match.pairs == ((0, 0),)
    assert match.how == ((how, 1),)


def test_the_strictest_way_wins() -> None:
    assert matched(["1.mp4", "1.gif"], ["1.gif", "1.mp4"]) == {"1.mp4": "1.mp4", "1.gif": "1.gif"}
    assert matched(["a/1.mp4", "b/1.mp4"], ["b/1.mp4", "a/1.mp4"]) == {"a/1.mp4": "a/1.mp4", "b/1.mp4": "b/1.mp4"}


def test_folders_that_told_clips_apart_are_not_ignored_afterwards() -> None:
    # b/1 and c/1 share a file name, and taking one for the other would be a guess
    assert matched(["a/1.mp4", "b/1.mp4"], ["a/1.mp4", "c/1.mp4"]) == {"a/1.mp4": "a/1.mp4"}


def test_folders_inside_a_models_folder_may_be_on_one_side_alone() -> None:
    ours = ["out/wan/smooth/a.mp4", "out/mochi/smooth/a.mp4", "out/wan/large/b.mp4", "out/mochi/large/b.mp4"]
    theirs = ["wan/a.mp4", "mochi/a.mp4", "wan/b.mp4", "mochi/b.mp4"]
    assert matched(ours, theirs) == dict(zip(ours, theirs, strict=True))
    assert groups_from_names(ours)[1] == ["out/wan", "out/mochi"] * 2
    with pytest.raises(SetupError, match="Clip names are ambiguous"):  # a.mp4 of wan could be either
        match_names(["out/wan/smooth/a.mp4", "out/wan/large/a.mp4"], ["wan/a.mp4"])


def test_a_name_that_could_be_two_clips_is_an_error_that_names_them() -> None:
    with pytest.raises(SetupError, match=r"a/1.mp4, b/1.mp4 \(scores\) and 1.mp4 \(ratings\)"):
        match_names(["a/1.mp4", "b/1.mp4"], ["1.mp4"])
    with pytest.raises(SetupError, match=r"1.gif, 1.mp4 \(left\) and 1 \(right\)"):
        match_names(["1.gif", "1.mp4"], ["1"], sides=("left", "right"))


def test_one_name_that_could_be_two_clips_is_an_error_among_others_that_are_clear() -> None:
    with pytest.raises(SetupError, match=r"1.mp4, 1.gif \(scores\) and 1 \(ratings\)"):
        match_names(["1.mp4", "1.gif", "2.mp4"], ["1", "2"])


def test_names_of_models() -> None:
    assert matched(["Wan2.1", "Wan2.2"], ["wan2.2", "wan2.1"]) == {"Wan2.1": "wan2.1", "Wan2.2": "wan2.2"}
    assert matched(["OpenSora-v1.2"], ["OpenSora v1.2"], of_models=True) == {"OpenSora-v1.2": "OpenSora v1.2"}
    assert matched(["OpenSora-v1.2"], ["OpenSora v1.2"]) == {}


def test_nothing_to_match() -> None:
    assert match_names([], ["a"]).pairs == ()
    assert match_names(["a"], []).pairs == ()


names = st.lists(st.text("ab12/.", min_size=1, max_size=8), unique=True, max_size=8)


@given(names, names)
def test_a_match_pairs_each_clip_once_and_equal_names_first(first: list[str], second: list[str]) -> None:
    try:
        pairs = match_names(first, second).pairs
    except SetupError:
        return
    assert len({a for a, _ in pairs}) == len(pairs) == len({b for _, b in pairs})
    for a, b in pairs:
        if first[a] in second:
            ours = [part for part in first[a].split("/") if part not in {"", "."}]
            theirs = [part for part in second[b].split("/") if part not in {"", "."}]
            assert ours == theirs
