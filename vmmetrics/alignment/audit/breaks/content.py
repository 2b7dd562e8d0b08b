"""Checks of content: rates and times, lengths and sizes, directions and contrast, prompts, and the scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from vmmetrics.alignment.audit.breaks.bench import FEW, Bench, Check, always, differences
from vmmetrics.alignment.audit.breaks.coverage import PARTLY, finite, foreign, unscored
from vmmetrics.alignment.audit.calls import Answer, Item
from vmmetrics.alignment.audit.clips import PROMPTS
from vmmetrics.alignment.audit.lines import Finding, Grade
from vmmetrics.alignment.audit.material import array_of, scaled, with_frames

RATES = (5, 7, 10, 15, 24)
"""Frames per second against which rates a little higher are compared; a band of frequencies may hold both of some."""


def rate(bench: Bench) -> Iterator[Finding]:
    """Show the same frames at two and three times the rate; leave the rate out where it is a parameter."""
    route = bench.file_route if bench.file_route == bench.route else bench.array_route or bench.route

    def at(times: Sequence[Sequence[float]]) -> list[Answer]:
        return bench.ask([bench.material.retimed(*pair) for pair in zip(bench.few, times, strict=False)], route)

    def even(rate: float) -> list[Answer]:
        return at([(np.arange(len(item.times)) / rate).tolist() for item in bench.few[:2]])

    with bench.process():
        plain = bench.by(route)
        answers = [plain, *(at([[time / by for time in item.times] for item in bench.few]) for by in (2, 3))]
        rounded = [
            name for name in bench.names if any(bench.moves(plain[:2], other[:2], name) for other in answers[1:])
        ]
        for of in RATES:
            if bench.blind or rounded:
                whole, more = even(of), even(of + 0.4)
                rounded = [name for name in rounded if not bench.moves(whole, more, name)]
        without = bench.ask(bench.few, route, ("fps",)) if "fps" in bench.facts.get("named", ()) else None
    for name in bench.names:
        values = [a.scores[name] for a in answers[0] if name in a.scores]
        bound = bench.tolerance(name, values, 0.005)
        gaps = [differences(answers[0], other, name) for other in answers[1:]]
        moved = [max((gap for gap in of if gap is not None), default=0.0) for of in gaps]
        depends = max(moved) > bound
        often = any(sum(gap is not None and gap > bound for gap in of) > FEW // 2 for of in gaps)
        if often and name in rounded:
            text = f"two and three times the rate count; 0.4 more than {', '.join(map(str, RATES))} a second does not"
            yield Finding("bad", "rates are rounded", text, name)
            continue
        if without is not None and not all(a.refused for a in without):
            gap = max((g for g in differences(answers[0], without, name) if g is not None), default=0.0)
            if gap > bound:
                default = bench.facts.get("defaults", {}).get("fps", "some default")
                yield Finding(
                    "bad",
                    "a rate is made up",
                    f"without fps it takes {default}, without an error: scores differ by up to {gap:.3g}",
                    name,
                    gap,
                )
                continue
        if any(not finite(of, name) for of in answers):
            yield unscored(name, PARTLY)
            continue
        taken = bench.target.kind == "function" and "fps" in bench.facts.get("named", ())
        verdict = "takes a rate that plays no part" if taken else "does not use the frame rate"
        verdict = "uses the frame rate" if depends else verdict
        text = f"the same frames at 2 and 3 times the rate change it by up to {moved[0]:.3g} and {moved[1]:.3g}"
        yield Finding("good" if depends else "note", verdict, text, name, max(moved))


def irregular(bench: Bench) -> Iterator[Finding]:
    """Show frames at uneven times that follow the motion: a film from which frames were dropped at random."""
    items, clips = [], []
    for item in bench.few[:3]:
        frames = array_of(item)
        inner = bench.rng.permutation(np.arange(1, len(frames) - 1))[: len(frames) // 2]
        kept = np.sort(np.concatenate([[0, len(frames) - 1], inner]))
        regular = bench.material.item(with_frames(item, frames[kept], 8.0))
        clips.append(bench.material.retimed(regular, regular.times))
        times = np.asarray(item.times)[kept]
        items.append(bench.material.retimed(regular, (times * regular.times[-1] / times[-1]).tolist()))
    route = bench.file_route
    with bench.process():
        uneven, even = bench.ask(items, route), bench.ask(clips, route)
    for name in bench.names:
        if not finite([*uneven, *even], name):
            yield unscored(name, PARTLY)
            continue
        gap = max((g for g in differences(uneven, even, name) if g is not None), default=0.0)
        bound = bench.tolerance(name, [], 0.005)
        verdict = "times count" if gap > bound else "does not read the times of frames"
        text = f"the same frames, shown evenly instead of when they were taken, change it by up to {gap:.3g}"
        yield Finding("good" if gap > bound else "note", verdict, text, name, gap)


def length(bench: Bench) -> Iterator[Finding]:
    """Show clips there and back once and twice: twice as long, alike in every second, and without a seam."""
    few, once, twice, short = bench.few[:3], list[Item](), list[Item](), list[Item]()
    for item in few:
        frames = array_of(item)
        there = np.concatenate([frames, frames[-2:0:-1]])
        once.append(bench.material.item(with_frames(item, there, item.fps)))
        twice.append(bench.material.item(with_frames(item, np.concatenate([there, there]), item.fps)))
        short.append(bench.material.item(with_frames(item, frames[: len(frames) * 5 // 8], item.fps)))
    cases = [("there and back", few, once), ("twice as long", once, twice), ("five eighths of the frames", few, short)]
    yield from alike(bench, cases, 0.5, "length plays no part", grade="note")


def sizes(bench: Bench) -> Iterator[Finding]:
    """Show clips a few pixels smaller, in odd and uneven sizes, where little is lost."""
    few, cases = bench.few[:3], list[tuple[str, Sequence[Item], Sequence[Item]]]()
    for label, rows, columns in (
        ("2 lines fewer", 2, 0),
        ("6 columns fewer", 0, 6),
        ("10 lines and 2 columns fewer", 10, 2),
    ):
        items = []
        for item in few:
            frames = array_of(item)
            items.append(bench.material.changed(item, frames[:, : frames.shape[1] - rows, : frames.shape[2] - columns]))
        cases.append((label, few, items))
    wide = {
        width: [bench.material.changed(item, scaled(array_of(item), width, 120)) for item in few]
        for width in (160, 162, 128, 130)
    }
    cases += [
        (f"{more} instead of {width} columns", wide[width], wide[more]) for width, more in ((160, 162), (128, 130))
    ]
    small = [bench.material.changed(item, scaled(array_of(item), 64, 48)) for item in few]
    cases.append(("64 by 48 instead of 160 by 120", wide[160], small))
    yield from alike(bench, cases, 0.5, "sizes play little part", grade="note")


def sides(bench: Bench) -> Iterator[Finding]:
    """Turn clips by a quarter: what is wide becomes tall."""
    items = [
        bench.material.changed(item, np.ascontiguousarray(np.rot90(array_of(item), 1, (1, 2)))) for item in bench.few
    ]
    yield from alike(bench, [("turned by a quarter", bench.few, items)], 0.15, "wide and tall alike", grade="note")


def alike(
    bench: Bench, cases: Sequence[tuple[str, Sequence[Item], Sequence[Item]]], share: float, same: str,
    grade: Grade = "bad",
) -> Iterator[Finding]:  # fmt: skip
    """Yield whether pairs of clips that are nearly the same score alike, on average."""
    with bench.process():
        asked = [
            (bench.reference[: len(before)] if before[0] is bench.few[0] else bench.ask(before), bench.ask(after))
            for _, before, after in cases
        ]
    yield from alike_answers(bench, cases, asked, share, same, grade)


def alike_answers(
    bench: Bench, cases: Sequence[tuple[str, Sequence[Item], Sequence[Item]]],
    asked: Sequence[tuple[Sequence[Answer], Sequence[Answer]]], share: float, same: str, grade: Grade = "bad",
) -> Iterator[Finding]:  # fmt: skip
    """Yield the same of answers for both clips of each pair."""
    for name in bench.names:
        large, figures, looks, compared = [], [], [], 0
        for (label, items, changed), (before, after) in zip(cases, asked, strict=True):
            both = zip(differences(before, after, name), before, strict=True)
            gaps = [g for g, one in both if g is not None and (g or math.isfinite(one.scores[name]))]
            compared += len(gaps)
            mean = float(np.mean(gaps)) if gaps else 0.0
            figures.append(f"{label}: {mean:.3g} on average" if gaps else f"{label}: no score")
            if mean > max(share * bench.typical[name], 3 * bench.slack[name]):
                large.append(label)
                was = "as it was" if items[0] in bench.few else f"not: {label}"
                looks += bench.look(changed[0], label, after[0], items[0], before[0], name, was)
        if not compared:
            numbers = all(finite([*before, *after], name) for before, after in asked)
            yield unscored(name) if numbers else unscored(name, PARTLY)
            continue
        text = f"{'; '.join(figures)}; clips differ by {bench.typical[name]:.3g} from their median"
        if large:
            yield Finding(grade, f"changes: {large[0]}", text, name, looks=looks)
        else:
            yield Finding("good", same, text, name)


def prompts(bench: Bench) -> Iterator[Finding]:
    """Leave the prompt out, or empty; give it other forms, and a long beginning; in batches, exchange it."""
    prompted = [
        item._replace(prompt=item.prompt or f"a thing that moves, number {n}") for n, item in enumerate(bench.few)
    ]
    own = [str(item.prompt) for item in prompted]
    others = [next(p for p in PROMPTS[n:] + PROMPTS[:n] if p != prompt) for n, prompt in enumerate(own)]

    def ask(prompts: Iterable[str]) -> list[Answer]:
        return bench.ask([item._replace(prompt=of) for item, of in zip(prompted, prompts, strict=True)])

    with bench.process():
        given, turned = ask(own), ask(others)
        matter = [name for name in bench.names if bench.moves(given, turned, name)]
        for name in bench.names:
            if name not in matter:
                yield Finding("note", "prompts play no part", "another clip's prompt changes no score", name)
        if not matter:
            return
        without = bench.ask(prompted, None, ("prompt", "prompts")) if bench.target.kind == "function" else []
        empty = ask([""] * len(own))
        forms = {what: ask(map(form, own)) for what, form in _FORMS.items()}
        one, same = (ask([text] * len(own)) for text in _ALIKE)
        long, ended = (ask(map(_LONG.format, of)) for of in (own, others))
        mixed = _mixed_up(bench, prompted, others)
    for name in matter:
        if _numbers(without, name):
            text = "prompts count, yet without one it gives numbers, and no error"
            yield Finding("bad", "scores without a prompt", text, name)
        elif _numbers(empty, name):
            yield Finding("note", "scores an empty prompt", "prompts count, and an empty one has a score", name)
        else:
            yield Finding("good", "asks for its prompt", "without one it refuses", name)
        whole = typical_gap(given, turned, name)
        least = max(whole / 2, bench.tolerance(name, []))
        pairs = {**{what: (given, of) for what, of in forms.items()}, "letters within words": (one, same)}
        counts = [what for what, (a, b) in pairs.items() if typical_gap(a, b, name) > least or _lost(a, b, name)]
        if counts:
            text = f"{' and '.join(counts)} change its scores as much as half of what another prompt does"
            yield Finding("note", "the form of a prompt counts", text, name)
        if any(name in answer.scores for answer in long) and not bench.moves(long, ended, name):
            text = f"after {len(_LONG.split()) - 1} words, another prompt changes no score"
            yield Finding("note", "the end of a long prompt does not count", text, name)
        if name in mixed:
            text = "clips with their prompts score otherwise together than alone"
            yield Finding("bad", "mixes up prompts", text, name)


def _numbers(answers: Sequence[Answer], name: str) -> list[float]:
    """Return the finite values of a score."""
    return [value for answer in answers if math.isfinite(value := answer.scores.get(name, math.nan))]


def _lost(before: Sequence[Answer], after: Sequence[Answer], name: str) -> bool:
    """Return True if any clip has a score before or after alone."""
    return any((name in one.scores) != (name in other.scores) for one, other in zip(before, after, strict=True))


def _mixed_up(bench: Bench, prompted: Sequence[Item], others: Sequence[str]) -> set[str]:
    """Return the scores that differ where clips are scored together, one of them with two prompts, from those alone."""
    route = bench.target.batch
    if route not in ("paths", "folder") or "prompts" not in bench.facts.get("named", ()):
        return set()
    twice = [prompted[0], prompted[0]._replace(prompt=others[0]), prompted[-1]]
    asked = [prompted[::-1], *([twice] if route == "paths" else [])]
    pairs = [(bench.ask(items, route), bench.ask(items, route, together=True)) for items in asked]
    return {
        name for name in bench.names for alone, together in pairs
        if any(gap is not None and gap > bench.tolerance(name, [], 0.001) for gap in differences(alone, together, name))
    }  # fmt: skip


_FORMS = {"capitals": str.upper, "a full stop": "{}.".format, "a line feed at its end": "{}\n".format}
"""Forms of one prompt."""
_ALIKE = ("Hundreds of tired people, scattered about.", "Crowds of sleepy people, strewn about.")
"""Words in which others are found ("red" in "hundred"), and words of the same meaning."""
_LONG = ", ".join(f"in the {n}th of many quiet rooms of a large old house" for n in range(4, 12)) + ": {}"
"""A prompt after a long beginning."""


def typical_gap(before: Sequence[Answer], after: Sequence[Answer], name: str) -> float:
    """Return the mean difference of a score."""
    gaps = [gap for gap in differences(before, after, name) if gap is not None]
    return float(np.mean(gaps)) if gaps else 0.0


def references(bench: Bench) -> Iterator[Finding]:
    """Compare with the clip itself, and with the wrong reference: of another clip, of twice as many frames, none."""
    halves, wholes, others, missing = [], [], [], []
    selves = [item._replace(reference=item.path) for item in bench.few]
    for item in bench.few:
        frames = array_of(item)
        half = with_frames(item, frames[: len(frames) // 2], item.fps)
        halves.append(bench.material.item(half)._replace(reference=bench.material.reference(half)))
        wholes.append(halves[-1]._replace(reference=bench.material.reference(with_frames(item, frames, item.fps))))
        other = bench.material.reference(with_frames(item, foreign(bench, item, len(frames)), item.fps))
        others.append(item._replace(reference=other))
        missing.append(item._replace(reference=str(bench.material.folder / "no-reference.mp4")))
    with bench.process():
        paired, cut, wrong, without, own = (bench.ask(items) for items in (halves, wholes, others, missing, selves))
    for name in bench.names:
        bound = bench.tolerance(name, [])
        same = [gap is not None and gap <= bound for gap in differences(paired, cut, name)]
        compared = [gap for gap in differences(bench.reference, wrong, name) if gap is not None]
        unread = bool(compared) and max(compared) <= bound
        if unread and name not in bench.constant:
            yield Finding("bad", "the reference plays no part", "the reference of another clip changes no score", name)
        elif _numbers(without, name):
            yield Finding("bad", "scores without a reference", "where its file is missing it gives numbers", name)
        elif unread:
            yield unscored(name, "it is the same for every clip, and for these")
        elif all(same):
            text = "half a clip scores against the whole reference as against its half"
            yield Finding("bad", "missing frames do not count", text, name)
        elif len(_numbers(own, name)) < len(own):
            why = next((answer.refused for answer in own if answer.refused), None) or "NaN or infinite"
            yield Finding("note", "no finite number for an exact copy", f"a clip against itself: {why}", name)
        else:
            yield Finding("good", "compares with its reference", "another, a longer one and none are told apart", name)


# Values.


def distinct(bench: Bench) -> Iterator[Finding]:
    """Look at the scores of all clips: equal ones, those out of range, those that are no numbers.

    Where all are equal, a cut and noise tell a constant from a count of what is rare.
    """
    scored = [answer for answer in bench.answers if answer.scores]
    refusing = [answer.refused for answer in bench.answers if not answer.scores]
    rest = f"; {len(refusing)} clips have none ({refusing[0]})" if refusing else ""
    events = _events(bench) if bench.blind or bench.constant else {}
    for name in bench.names:
        values = [answer.scores[name] for answer in scored if name in answer.scores]
        pairs = zip(bench.clips, bench.answers, strict=True)
        wrong = [(clip.name, v) for clip, a in pairs if not math.isfinite(v := a.scores.get(name, 0.0))]
        span = bench.target.span(name)
        outside = [v for v in values if span and math.isfinite(v) and not span[0] - 1e-6 <= v <= span[1] + 1e-6]
        common, count = Counter(values).most_common(1)[0]
        grade: Grade = "note"
        if wrong:
            grade, verdict = "bad", "no finite number"
            text = f"{len(wrong)} of {len(values)} clips: {', '.join(f'{clip} {v}' for clip, v in wrong[:3])}"
        elif len(set(values)) == 1 and len(values) > 1:
            other = [
                f"{what} scores {of:.4g}"
                for what, a in events.items()
                if math.isfinite(of := a.scores.get(name, common)) and of != common
            ]
            grade, verdict = ("note" if other else "bad"), "the same for every clip"
            text = f"{len(values)} different clips all score {common:.4g}{'; '.join(['', *other])}"
        elif outside:
            grade, verdict = "bad", "out of its range"
            text = f"{len(outside)} of {len(values)} clips, such as {outside[0]:.4g}"
        elif len(values) > 4 and all(round(v, 2) == v for v in values) and max(map(abs, values)) <= 1:
            verdict = "rounded"
            text = f"{len(set(values))} values for {len(values)} clips, none with more than two digits"
        elif span and np.ptp(values) < (span[1] - span[0]) / 50:
            verdict = "little of its range is used"
            text = f"{min(values):.4g} to {max(values):.4g} of {span[0]:g} to {span[1]:g}"
        elif count > max(2, len(values) // 5):
            verdict, text = "equal scores", f"{count} of {len(values)} different clips score {common:.4g}"
        else:
            grade, verdict = "good", "differ"
            text = f"{len(set(values))} values for {len(values)} clips, {min(values):.4g} to {max(values):.4g}"
        yield Finding(grade, verdict, f"{text}{rest}", name)


def _events(bench: Bench) -> dict[str, Answer]:
    """Return answers for a clip that is cut to another in its middle, and for noise."""
    item = bench.few[0]
    cut = array_of(item).copy()
    middle = len(cut) // 2
    cut[middle:] = foreign(bench, item, len(cut) - middle)
    shown = {"a cut": cut, "noise": bench.rng.integers(0, 256, cut.shape).astype(np.uint8)}
    with bench.process():
        return {what: bench.survived(bench.material.changed(item, frames)) for what, frames in shown.items()}


def _takes_prompts(bench: Bench) -> str | None:
    named = {"prompt", "prompts"} & set(bench.facts.get("named", ()))
    return None if named else "it takes no prompt"


def _takes_references(bench: Bench) -> str | None:
    named = {"reference", "references"} & set(bench.facts.get("named", ()))
    return None if named else "it takes no reference"


def _reads_times(bench: Bench) -> str | None:
    return None if bench.file_route else "it takes no files, in which times stand"


CHECKS = (
    Check("distinct", "The scores of all clips", "equal scores, NaN, values out of its range", always, distinct),
    Check("rate", "The same frames at other rates, and without a rate",
          "a rate is made up where none is given, or rounded", always, rate),
    Check("irregular", "Frames at uneven times", "times of frames are not read", _reads_times, irregular),
    Check("length", "There and back once and twice, and less", "a sum stands where a mean should", always, length),
    Check("sizes", "A few lines and columns fewer",
          "sides are cut to blocks, or lengths count in pixels", always, sizes),
    Check("sides", "Turned by a quarter", "width and height are exchanged", always, sides),
    Check("references", "References: the clip itself, of other clips, longer ones, none",
          "clip and reference are paired up to the shorter one", _takes_references, references),
    Check("prompts", "Prompts left out and exchanged",
          "a prompt is made up, or is that of another clip", _takes_prompts, prompts),
)  # fmt: skip
"""Checks of content."""
