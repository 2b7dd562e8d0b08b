from __future__ import annotations

from pathlib import Path

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.understanding.benchmarks.favor.released_similarity import NltkWords, PlainWords, WordNetWords

INDEX = """  1 a licence in lines that begin with a space
begin v 2 1 @ 2 1 00345761 00348541
start v 1 2 @ ~ 1 1 00345761
walk v 1 0 1 0 01904930
travel v 1 0 1 0 01835496
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "index.verb").write_text(INDEX)
    (tmp_path / "verb.exc").write_text("began begin\nbegun begin\ntravelled travel\n")
    return tmp_path


def test_base_forms_and_senses(folder: Path) -> None:
    words = WordNetWords(folder)
    assert [words.lemma(form) for form in ("began", "walks", "walking", "starting", "travelled", "cup")] == [
        "begin", "walk", "walk", "start", "travel", "cup"]  # fmt: skip
    assert words.senses("begins") == {345761, 348541}
    assert words.share_sense("began", "starts")
    assert not words.share_sense("walk", "travel")
    assert str(folder) in words.name
    assert words.tags(["walks", "cup", "."]) == ["VB", "NN", "."]


def test_other_files_are_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="WordNet"):
        WordNetWords(tmp_path)
    (tmp_path / "verb.exc").write_text("")
    (tmp_path / "index.verb").write_text("begin v two")
    with pytest.raises(SetupError, match="WordNet"):
        WordNetWords(tmp_path)


def test_without_wordnet_only_the_same_verb_is_alike() -> None:
    assert PlainWords().share_sense("walk", "walk")
    assert not PlainWords().share_sense("begin", "start")
    assert PlainWords().lemma("walks") == "walk"


def test_nltk_where_it_is_installed() -> None:
    try:
        words = NltkWords()
    except SetupError as error:
        assert "nltk.downloader" in str(error)
        return
    assert words.lemma("walks") == "walk"
    assert words.share_sense("begin", "start")
