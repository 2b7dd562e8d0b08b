"""Checks of files: names, containers, codecs, and files that hold no whole clip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from vmmetrics.alignment.audit.breaks.bench import (
    LOOSE,
    Bench,
    Check,
    Variant,
    always,
    files,
)
from vmmetrics.alignment.audit.breaks.coverage import finite
from vmmetrics.alignment.audit.calls import Answer, Item
from vmmetrics.alignment.audit.lines import Finding, Grade, Look
from vmmetrics.alignment.audit.material import CODECS, CONTAINERS, array_of, scaled, with_frames

_NAMES = (
    "with space.mp4", "Ünï-中文.mp4", "-dash.mp4", "007.mp4", "UPPER.MP4", "two.dots.v2.mp4", "a[1]{b}.mp4",
    "100%d.mp4", "it's \"so\".mp4", "fake_bad_00.mp4", f"{'long' * 40}.mp4",
)  # fmt: skip
"""Names that scripts stumble over."""


def names(bench: Bench) -> Iterator[Finding]:
    """Score a clip under names with spaces, other scripts, digits, capitals, brackets and quotes."""
    variants = []
    for n, name in enumerate(_NAMES):
        at = n % len(bench.few)
        items = list(bench.few)
        items[at] = bench.material.named(items[at], name)
        variants.append((name, at, items[at]))
    with bench.process():
        expected, lost = bench.by(str(bench.file_route)), dict[str, str]()
        asked = []
        for name, at, item in variants:
            answers = list(expected)
            answers[at] = bench.survived(item, bench.file_route)
            if answers[at].refused and expected[at].scores:
                lost[name] = str(answers[at].refused)
            asked.append((Variant(name, [item if n == at else of for n, of in enumerate(bench.few)]), answers))
        if lost:
            shown = "; ".join(f"{name}: {reason}" for name, reason in lost.items())
            yield Finding("bad" if bench.target.kind == "results" else "note", "no score under some names", shown)
        yield from bench.judged(asked, expected, same="names play no part")


def containers(bench: Bench) -> Iterator[Finding]:
    """Score the same packets in other containers."""
    route, few = bench.file_route, bench.few[:3]
    variants = [Variant(suffix[1:], [bench.material.remuxed(item, suffix) for item in few], route)
                for suffix in CONTAINERS]  # fmt: skip
    with bench.process():
        yield from bench.compare(variants, 0.01)


def codecs(bench: Bench) -> Iterator[Finding]:
    """Score the same pixels by other codecs without loss, in full range, with ten bits, beside a track of sound."""
    route, make, few = bench.file_route, bench.material, bench.few[:3]
    variants = [Variant(codec, [make.coded(item, codec) for item in few], route) for codec in CODECS]
    variants.append(Variant("ten bits", [make.ten_bits(item) for item in few], route))
    variants.append(Variant("full range, marked so", [make.full_range(item) for item in few], route))
    variants.append(Variant("a track of sound first", [make.with_sound(item) for item in few], route))
    with bench.process():
        yield from bench.compare(variants, LOOSE)


def turned(bench: Bench) -> Iterator[Finding]:
    """Score clips stored on their side, with the mark by which players turn them upright."""
    wide = [n for n, item in enumerate(bench.few) if array_of(item).shape[1] != array_of(item).shape[2]]
    numbers = wide or range(len(bench.few))
    items = [bench.material.turned(bench.few[n]) for n in numbers]
    with bench.process():
        expected = [bench.by(str(bench.file_route))[n] for n in numbers]
        yield from bench.compare(
            [Variant("turned by a mark", items, bench.file_route)], 0.1, grade="note", reference=expected,
            clips=[bench.few[n] for n in numbers],
        )  # fmt: skip


# What is no clip: a number for it is made up.

_NOT_A_NUMBER = "NaN in place of no score"
_UNDEFINED = "NaN or infinite; an exception, or None, says that there is no score"


def no_video(bench: Bench) -> Iterator[Finding]:
    """Score files that hold no video."""
    make = bench.material
    cases = {
        "a missing file": make.absent(make.folder / "missing.mp4"),
        "an empty file": make.bytes(b"", ".mp4"),
        "text named .mp4": make.bytes(b"this is no video\n" * 100, ".mp4"),
        "random bytes": make.bytes(bench.rng.bytes(20_000), ".mp4"),
        "a header alone": make.cut(bench.few[0], 0.04),
    }
    yield from _refused(bench, cases, bench.file_route)


def cut(bench: Bench) -> Iterator[Finding]:
    """Score files of which the last part is missing."""
    names = [bench.clips[n].name for n in bench.chosen]
    cases = {f"the first {share:.0%} of the bytes of {name}": bench.material.cut(item, share)
             for share in (0.5, 0.8) for name, item in zip(names, bench.few, strict=True)}  # fmt: skip
    yield from _refused(bench, cases, bench.file_route)


def one_frame(bench: Bench) -> Iterator[Finding]:
    """Score clips of one frame, in which no motion can be seen, and of two, between which it changes only once."""

    def start(item: Item, frames: int) -> Item:
        return bench.material.item(with_frames(item, array_of(item)[:frames], item.fps))

    cases = {f"clip {n + 1}": start(item, 1) for n, item in enumerate(bench.few)}
    pairs = [start(item, 2) for item in bench.few[:2]]
    with bench.process():
        answers = [bench.survived(item, bench.route) for item in cases.values()]
        of_two = [bench.survived(item, bench.route) for item in pairs]
    yield from _constants(bench, answers, "one frame", cases)
    for name in bench.names:
        if not finite(of_two, name):
            yield Finding("bad", _NOT_A_NUMBER, f"two frames: {_UNDEFINED}", name)


def _constants(
    bench: Bench, answers: Sequence[Answer], what: str, cases: dict[str, Item], scored: Grade = "note"
) -> Iterator[Finding]:
    """Yield whether input without an answer is refused, answered by a constant, or by numbers."""
    if dead := next((answer.refused for answer in answers if answer.failed), None):
        yield Finding("bad", "hangs or dies", f"{what}: {dead}")
    if all(not answer.scores for answer in answers):
        yield Finding("good", "refused", f"{what}: {answers[0].refused}")
        return
    for name in bench.names:
        values = [answer.scores[name] for answer in answers if name in answer.scores]
        if not values:
            yield Finding("good", "no score", f"{what}: none of {len(answers)} has a score", name)
            continue
        looks = [
            Look(str(item.path), what, answer.scores.get(name))
            for item, answer in list(zip(cases.values(), answers, strict=True))[:2]
            if item.path
        ]
        if not np.isfinite(values).all():
            yield Finding("bad", _NOT_A_NUMBER, f"{what}: {_UNDEFINED}", name, looks=looks)
        elif len(values) > 1 and len(set(values)) == 1 and not (bench.target.is_amount(name) or name in bench.constant):
            text = f"{what}: {values[0]:.4g} for {len(values)} different clips, where an exception or None is due"
            yield Finding("bad", f"always {values[0]:.4g}", text, name, looks=looks)
        else:
            text = f"{what}: {min(values):.4g} to {max(values):.4g} for {len(values)} clips"
            yield Finding(scored, "scores it", text, name, looks=looks)


def _refused(bench: Bench, cases: dict[str, Item], route: str | None) -> Iterator[Finding]:
    with bench.process():
        answers = {label: bench.survived(item, route) for label, item in cases.items()}
    scored = {label: answer for label, answer in answers.items() if answer.scores}
    if dead := {label: answer.refused for label, answer in answers.items() if answer.failed}:
        label, why = next(iter(dead.items()))
        yield Finding("bad", "hangs or dies", f"{label}: {why}")
    if not scored:
        kinds = "; ".join(f"{label}: {answer.refused}" for label, answer in list(answers.items())[:5])
        yield Finding("good", "refused", kinds)
        return
    for name in bench.names:
        values = {label: answer.scores[name] for label, answer in scored.items() if name in answer.scores}
        if not values:
            continue
        first = sorted(values.items(), key=lambda of: not np.isfinite(of[1]))[:2]
        shown = "; ".join(f"{label}: {value:.4g}" for label, value in first)
        looks = [Look(str(cases[label].path), label, value) for label, value in first]
        is_number = np.isfinite(list(values.values())).any()
        what = "a number" if is_number else "NaN"
        text = f"{what}, where an exception or None is due, for {len(values)} of {len(cases)}, such as {shown}"
        verdict = "scores a broken file" if is_number else _NOT_A_NUMBER
        yield Finding("bad", verdict, text, name, looks=looks)


def tiny(bench: Bench) -> Iterator[Finding]:
    """Score frames of 8 and 16 pixels a side."""
    cases: dict[str, Item] = {}
    for side in (8, 16):
        for n, item in enumerate(bench.few[:3]):
            cases[f"clip {n + 1} at {side} pixels"] = bench.material.changed(item, scaled(array_of(item), side, side))
    with bench.process():
        answers = [bench.survived(item, bench.route) for item in cases.values()]
    yield from _constants(bench, answers, "8 and 16 pixels a side", cases, scored="good")


def huge(bench: Bench) -> Iterator[Finding]:
    """Score four frames of 3840 by 2160 pixels against the same at their size."""
    item = bench.few[0]
    frames = array_of(item)[:: max(1, len(item.times) // 4)][:4]
    rate = (item.fps or 8) / max(1, len(item.times) // 4)

    wide = bench.material.item(with_frames(item, scaled(frames, 3840, 2160), rate))
    with bench.process():
        answer = bench.survived(wide, bench.route)
    if answer.scores:
        bad = [name for name, value in answer.scores.items() if not np.isfinite(value)]
        grade, verdict = ("bad", "no finite number") if bad else ("good", "scores it")
        yield Finding(grade, verdict, ", ".join(f"{k} {v:.4g}".strip() for k, v in answer.scores.items()))  # type: ignore[arg-type]
    else:
        yield Finding("note", "refuses, and says so", str(answer.refused))


def not_finite(bench: Bench) -> Iterator[Finding]:
    """Score float frames of which some are not a number."""
    frames = array_of(bench.few[0]).astype(np.float32) / 255
    frames[len(frames) // 2] = np.nan
    item = bench.material.frames(bench.clips[bench.chosen[0]], frames, "array")
    with bench.process():
        answer = bench.ask([item], "floats")[0]
    finite = {name: value for name, value in answer.scores.items() if np.isfinite(value)}
    if finite:
        yield Finding(
            "bad", "a number for frames that are none", ", ".join(f"{k} {v:.4g}".strip() for k, v in finite.items())
        )
    elif answer.scores:
        yield Finding("note", "not a number in, not a number out", "it returns NaN for a frame of NaN")
    else:
        yield Finding("good", "refused", str(answer.refused))


CHECKS = (
    Check("names", "File names", "names are split, matched or sorted as text", files, names),
    Check("containers", "The same packets in other containers",
          "the suffix decides how a file is read", files, containers),
    Check("codecs", "The same pixels by other codecs, in full range, beside sound",
          "colours are converted by hand, or by another rule for each codec", files, codecs),
    Check("turned", "Stored on its side, marked upright", "the mark of rotation is not read", files, turned),
    Check("no-video", "Files that hold no video", "that nothing was read goes unnoticed", files, no_video),
    Check("cut", "Cut files", "where decoding fails, or stops early, is taken for the end", files, cut),
    Check("one-frame", "One frame, and two",
          "a constant, or a mean of nothing, stands for no motion", always, one_frame),
    Check("tiny", "Tiny frames", "a constant stands where nothing can be seen", always, tiny),
    Check("huge", "Huge frames", "a sum overflows", always, huge),
    Check("not-finite", "Frames of NaN",
          "NaN is passed over",
          lambda bench: None if "floats" in bench.target.takes else "it takes no floats", not_finite),
)  # fmt: skip
"""Checks of files."""
