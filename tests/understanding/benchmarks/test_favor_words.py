from __future__ import annotations

from vmmetrics.errors import SetupError
from vmmetrics.understanding.benchmarks.favor.released_similarity import NltkWords, PlainWords


def test_without_nltk_only_the_same_verb_is_alike() -> None:
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
