from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.errors import SetupError
from vmmetrics.utils.text.embedding import PACKAGE, WordPieces, embedding_installed, read_vocabulary, split_words

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "run",
    "##ning",
    "##ner",
    "##s",
    "##n",
    "un",
    "!",
    "[",
    "]",
    "sep",
    "é",
    "e",
]
TINY = WordPieces({piece: number for number, piece in enumerate(PIECES)}, longest=8)


def pieces(text: str) -> list[str]:
    return [PIECES[number] for number in TINY.encode(text)[1:-1]]


def test_longest_pieces_first() -> None:
    assert pieces("Running runners!") == ["run", "##ning", "run", "##ner", "##s", "!"]


def test_word_that_cannot_be_cut_is_unknown_as_a_whole() -> None:
    assert pieces("run runx run") == ["run", "[UNK]", "run"]


def test_longest_word_that_is_cut() -> None:
    long = WordPieces({"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "n": 3, "##n": 4})
    assert long.encode("n" * 100) == [1, 3, *[4] * 99, 2]
    assert long.encode("n" * 101) == [1, 0, 2]


def test_text_is_cut_off_with_its_end_marked() -> None:
    assert TINY.encode("run " * 50) == [2, *[4] * 6, 3]


def test_names_of_special_tokens_are_words() -> None:
    assert pieces("[SEP]") == ["[", "sep", "]"]


def test_accents_and_case_do_not_count() -> None:
    assert pieces("É e\u0301 E") == ["e", "e", "e"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("soft\u00adhyphen zero\u200bwidth", ["softhyphen", "zerowidth"]),
        ("no\u00a0break\u3000wide\u2028line", ["no", "break", "wide", "line"]),
        ("bell\x07 and \ufffd", ["bell", "and"]),
        ("a猫b", ["a", "猫", "b"]),
        ("ΟΔΟΣ İ", ["οδοσ", "i"]),
        ("5%+$3 «x»—y", ["5", "%", "+", "$", "3", "«", "x", "»", "—", "y"]),
        (" \t\r\n", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


@given(st.text(max_size=60))
def test_words_are_settled(text: str) -> None:
    words = split_words(text)
    assert all(word and not any(c.isspace() for c in word) for word in words)
    assert split_words(" ".join(words)) == words


@given(st.text(alphabet="runige! sx", max_size=60))
def test_pieces_make_up_their_words(text: str) -> None:
    for word in split_words(text):
        found = TINY._cut(word)
        if found:
            assert "".join(PIECES[number].removeprefix("##") for number in found) == word
            assert not PIECES[found[0]].startswith("##")


def test_vocabulary_without_special_tokens() -> None:
    with pytest.raises(SetupError, match=r"lacks \[CLS\], \[SEP\]"):
        WordPieces({"[UNK]": 0})


def test_vocabulary_file(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"[UNK]\r\n\xc3\xa9\r\na\n")
    assert read_vocabulary(path) == {"[UNK]": 0, "é": 1, "a": 2}
    path.write_bytes(b"\xff")
    with pytest.raises(SetupError, match="UTF-8"):
        read_vocabulary(path)
    with pytest.raises(SetupError, match="Cannot read"):
        read_vocabulary(tmp_path / "none.txt")


@pytest.mark.skipif(not embedding_installed(), reason=f"{PACKAGE} is not installed")
def test_numbers_are_those_of_the_published_tokenizer() -> None:
    from vmmetrics.utils.text.embedding import _home

    rows = json.loads((Path(__file__).parents[2] / "utils" / "text" / "data" / "minilm.json").read_text())["texts"]
    own = WordPieces(read_vocabulary(_home(None) / "vocab.txt"))
    assert len(rows) >= 15
    for row in rows:
        assert own.encode(row["text"]) == row["ids"], row["text"]
