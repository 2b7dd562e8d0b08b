"""Prompts as people leave them: what is taken out, what is dropped and why."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics.prompts.extract.captions import DROPPED, Cleaner, Seen, clean_caption


@pytest.mark.parametrize(
    ("raw", "text", "changes"),
    [
        ("a dog runs --ar 16:9", "a dog runs", ("parameters",)),
        ("a dog runs -motion 2 -gs 12 -fps 24", "a dog runs", ("parameters",)),
        ("a dog runs —ar 16:9 --seed=42 --v 5.2", "a dog runs", ("parameters",)),
        ("a dog runs -neg blurry, ugly, text -ar 9:16", "a dog runs", ("parameters",)),
        ("a dog runs --no cats", "a dog runs", ("parameters",)),
        ("a cat naps -camera zoom in -motion 1", "a cat naps", ("parameters",)),
        ("a cat naps --foo 3", "a cat naps", ("parameters",)),
        ("a cat naps https://cdn.example.com/a/b.png?x=1", "a cat naps", ("links",)),
        ("see www.example.com a cat naps", "see a cat naps", ("links",)),
        ("a cat naps #cat #cute_cats", "a cat naps", ("hash tags",)),
        ("a #cat naps", "a cat naps", ("hash tags",)),
        ("<@123456> a cat naps", "a cat naps", ("mentions",)),
        ("/imagine prompt: a cat naps", "a cat naps", ("mentions",)),
        ("a cat naps Image: 1 Attachment", "a cat naps", ("mentions",)),
        ("a (red:1.3) cat:: naps", "a red cat naps", ("weights",)),
        ("a cat naps, 4k, highly detailed, octane render", "a cat naps", ("quality words",)),
        ("a cat &amp; a dog nap", "a cat & a dog nap", ()),
        ("a  cat\nnaps\x00\ufffd 🐱", "a cat naps", ()),
    ],
)
def test_what_is_no_description_is_taken_out(raw: str, text: str, changes: tuple[str, ...]) -> None:
    found = clean_caption(raw)
    assert (found.text, found.dropped, found.changes) == (text, "", changes)


@pytest.mark.parametrize(
    "text",
    [
        "A well-known 10-year-old boy - in a T-shirt - jumps at 10:30.",
        "a man in a café in Zürich pours two-thirds of a cup",
        "the motion of the camera, the seed and the style of a loop",
        "he runs, detailed maps in hand, no hat on",
        "dogs",
        "a slow train - late as ever - leaves",
    ],
)
def test_prose_stays(text: str) -> None:
    assert clean_caption(text).text == text


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("🐱🐱", "empty"),
        ("123 456 !!!", "symbols"),
        ("a ################ 1234567890 %%%%%%%%", "symbols"),
        ("собака бежит по пляжу", "script"),
        ("一只狗在海滩上奔跑", "script"),
        ("un perro corriendo por la playa con una pelota", "language"),
        ("Ein Hund läuft auf der Wiese", "language"),
        ("un chien court dans la rue avec une balle", "language"),
        ("um homem pescando em um barco na praia", "language"),
        ("dog dog dog dog dog dog dog cat dog dog dog dog", "repetitive"),
        ("word%d " * 301 % tuple(range(301)), "long"),
        ("a" * 20_000, "long"),
        ("--ar 16:9", "empty"),
    ],
)
def test_what_is_no_use_is_dropped_with_its_reason(raw: str, reason: str) -> None:
    found = clean_caption(raw)
    assert (found.text, found.dropped) == ("", reason)


NOISE = st.sampled_from(
    ["--ar", "16:9", "-neg", "#", "::", "<@1>", "http://", "\x00", "é", "4k", ",", "(", "dog", "è", "的"]
)


@settings(max_examples=300)
@given(st.lists(NOISE | st.text(max_size=12), max_size=25).map(" ".join))
def test_any_text_is_dropped_or_comes_out_clean(raw: str) -> None:
    found = clean_caption(raw)
    assert (found.dropped in DROPPED) if not found.text else (found.dropped == "")
    assert found.text == found.text.strip() and "  " not in found.text
    assert "http://" not in found.text and "\x00" not in found.text
    assert not any(ord(c) < 32 for c in found.text)
    assert len(found.text) <= 3 * len(raw) + 3


@given(
    st.lists(
        st.sampled_from(["dog", "cat", "horse", "runs", "jumps", "the", "a", "over", "under", "red"]),
        min_size=2,
        max_size=11,
    )
)
def test_plain_english_is_never_touched(words: list[str]) -> None:
    text = " ".join(words)
    assert clean_caption(text).text == text


@given(st.sampled_from(["--ar 16:9", "-motion 3", "--seed 9", "-gs 12.5", "--fps 24"]), st.integers(1, 3))
def test_parameters_go_wherever_prompts_end(flag: str, times: int) -> None:
    assert clean_caption("a heron spears a fish " + " ".join([flag] * times)).text == "a heron spears a fish"


def test_repeats_are_seen_whatever_capitals_signs_and_parameters_they_have() -> None:
    cleaner = Cleaner()
    kept = [cleaner(text) for text in ("A dog runs.", "a dog runs", "a dog, runs! --ar 1:1", "a cat runs", "")]
    assert kept == ["A dog runs.", "", "", "a cat runs", ""]
    assert cleaner.read == 5
    assert cleaner.dropped == {"repeat": 2, "empty": 1}
    assert Cleaner(keep_repeats=True)("a dog") == "a dog"


def test_repeats_are_never_wrongly_seen_however_small_the_memory() -> None:
    seen = Seen(slots=16)
    assert not any(seen.again(f"caption {n}") for n in range(2000))
    assert seen.again("caption 1999")


def test_every_caption_is_kept_or_counted_once() -> None:
    cleaner = Cleaner()
    corpus = [f"a dog number {n % 50} runs" for n in range(200)] + ["", "собака", "la casa de las flores con un gato"]
    kept = [text for text in map(cleaner, corpus) if text]
    assert len(kept) == 50
    assert cleaner.read == len(corpus) == len(kept) + cleaner.dropped.total()
