"""Checks of repetition: the same clip again, in another process, order, company or environment."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from vmmetrics.alignment.audit.breaks.bench import Bench, Check, Variant, always, batches, files
from vmmetrics.alignment.audit.calls import Answer, Item
from vmmetrics.alignment.audit.lines import Finding
from vmmetrics.alignment.audit.material import array_of, scaled, with_frames
from vmmetrics.alignment.audit.runner import MalformedError


def repeat(bench: Bench) -> Iterator[Finding]:
    """Score clips twice in one process."""
    few = bench.few[:3]
    with bench.process():
        runs = [bench.ask(few) for _ in range(2)]
    asked = [(Variant(f"call {n + 1}", few), answers) for n, answers in enumerate(runs)]
    slack, bench.slack = bench.slack, dict.fromkeys(bench.slack, 0.0)
    for finding in bench.judged(asked, bench.reference[: len(few)], 1e-6, "the same each time", lost=True):
        yield finding if finding.grade == "good" else finding._replace(verdict="another score in a later call")
    bench.slack = slack


def processes(bench: Bench) -> Iterator[Finding]:
    """Score the clips in processes that differ in hash seed and threads, and in two at once."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    few = bench.few[:3]
    asked = []
    for label, environment in (
        ("hash seed 1", {"PYTHONHASHSEED": "1"}),
        ("hash seed 2", {"PYTHONHASHSEED": "2"}),
        ("one thread", one_thread),
    ):
        with bench.process(environment=environment):
            asked.append((Variant(label, few), bench.ask(few)))

    def alone(own: Bench) -> list[Answer]:
        with own.process():
            return [own.survived(item) for item in few]

    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(alone, [bench.copied(), bench.copied()]))
    asked += [
        (Variant(f"two processes at once, {which}", few), answers)
        for which, answers in zip(("one", "other"), both, strict=True)
    ]
    yield from bench.judged(asked, bench.reference[: len(few)], lost=True)


def order(bench: Bench) -> Iterator[Finding]:
    """Score the clips one by one backwards, and three of them after a clip that it refuses, and after a longer one."""
    with bench.process():
        asked = [(Variant("backwards", bench.few), bench.ask(bench.few[::-1])[::-1])]
    few = bench.few[:3]
    for label, other in (("each after a broken one", _broken(bench)), ("each after a longer one", _longer(bench, few))):
        with bench.process():
            answers = [bench.ask([other, item])[1] for item in few]
        asked.append((Variant(label, few), [*answers, *bench.reference[len(few) :]]))
    yield from bench.judged(asked, bench.reference, same="no effect", lost=True)


def _broken(bench: Bench) -> Item:
    if bench.file_route == bench.route:
        return bench.material.bytes(b"no video", ".mp4")
    return bench.material.frames(bench.clips[0], array_of(bench.few[0])[:1])


def same_name(bench: Bench) -> Iterator[Finding]:
    """Score different clips that have one file name, in folders of their own, and one path, one after another."""
    route = bench.file_route
    few = bench.few[:3]
    twins = [bench.material.named(item, "clip.mp4") for item in few]
    asked = []
    with bench.process():
        asked.append((Variant("one name in several folders", twins, route), bench.ask(twins, route)))
    path = bench.material.new(".mp4")
    answers = []
    with bench.process():
        for item in few:
            shutil.copyfile(str(item.path), path)
            answers += bench.ask([item._replace(path=str(path))], route)
    asked.append((Variant("files overwritten by the next", twins, route), answers))
    yield from bench.judged(asked, bench.by(str(route))[: len(few)], same="each by its content", lost=True)


def together(bench: Bench) -> Iterator[Finding]:
    """Score clips together: all at once, in other orders and company, one of them twice, under names alike."""
    route, few = str(bench.target.batch), _of_one_size(bench)
    count = len(few)
    with bench.process():
        alone = bench.ask(few, route)
    with bench.process():
        calls: dict[str, tuple[list[Item] | None, slice | list[int]]] = {
            "all in one call": (few, slice(None)),
            "in two calls": (None, slice(None)),
            "backwards in one call": (few[::-1], slice(None, None, -1)),
        }
        if route != "folder":
            calls["seventeen in one call"] = (
                [few[n % count] for n in range(17)],
                [16 - (16 - n) % count for n in range(count)],
            )
        if route in ("paths", "folder"):
            calls["beside a clip of twice the length"] = ([*few, _longer(bench, few)], slice(count))
        if route == "paths":
            calls["one name in several folders"] = (
                [bench.material.named(item, "clip.mp4") for item in few],
                slice(None),
            )
        if route in ("paths", "folder"):
            alike = [bench.material.named(item, f"clip.v{n}.mp4") for n, item in enumerate(few)]
            calls["under names that begin alike"] = (alike, slice(None))
        if route != "folder":
            calls["with one of them three times"] = ([*few, few[0], few[0]], slice(count))
            calls["one of them repeated"] = ([*few[1:], few[0], few[0]], [count, *range(count - 1)])
        asked = []
        for label, (items, order) in calls.items():
            if items is None:
                parts = [bench.ask(part, route, together=True) for part in (few[:2], few[2:]) if part]
                answers = [answer for part in parts for answer in part]
            else:
                answers = bench.ask(items, route, together=True)
            chosen = answers[order] if isinstance(order, slice) else [answers[n] for n in order]
            asked.append((Variant(label, few), chosen))
    yield from bench.judged(asked, alone, same="as alone", clips=few)


def _longer(bench: Bench, few: Sequence[Item]) -> Item:
    """Return a clip of twice the length."""
    frames = array_of(few[-1])
    return bench.material.item(with_frames(few[-1], np.concatenate([frames, frames[::-1]]), few[-1].fps))


def _of_one_size(bench: Bench) -> list[Item]:
    """Return the clips as they fit into one array: files as they are, else as many frames of one size."""
    if bench.target.batch in ("paths", "folder"):
        return list(bench.few)
    count = min(len(item.times) for item in bench.few)
    frames = [scaled(array_of(item)[:count], 128, 96) for item in bench.few]
    return [bench.material.item(with_frames(item, of, item.fps)) for item, of in zip(bench.few, frames, strict=True)]


def broken_member(bench: Bench) -> Iterator[Finding]:
    """Score clips together with a file that is no video."""
    route = str(bench.target.batch)
    broken = bench.material.bytes(b"no video", ".mp4")._replace(prompt=bench.few[0].prompt)
    items = [*bench.few[:2], broken, *bench.few[2:]]
    with bench.process():
        answers = bench.ask(items, route, together=True)
    rest = [*answers[:2], *answers[3:]]
    if all(answer.refused for answer in answers):
        why = str(answers[0].refused)
        if why.startswith(MalformedError.__name__):
            yield Finding("bad", "not one score a clip", f"beside a broken file: {why}; whose they are cannot be told")
        else:
            yield Finding("note", "the whole call fails", f"one broken file loses the others: {why}")
        return
    if answers[2].scores:
        yield Finding("bad", "a number for a broken file", f"it scores {_figures(answers[2])}, where there is no video")
    alone = bench.by(route)
    yield from bench.judged(
        [(Variant("beside a broken file", bench.few), rest)], alone, same="the others keep their scores"
    )


def _figures(answer: Answer) -> str:
    return ", ".join(f"{name} {value:.4g}".strip() for name, value in answer.scores.items())


def _broken_file_in_batch(bench: Bench) -> str | None:
    return batches(bench) or (None if bench.target.batch in ("paths", "folder") else "its batches are arrays")


def environments(bench: Bench) -> Iterator[Finding]:
    """Score the clips with other interpreters, and with them the packages installed there."""
    asked = []
    for python in bench.pythons:
        with bench.process(python):
            asked.append((Variant(python, bench.few), bench.ask(bench.few)))
    yield from bench.judged(asked, bench.reference, grade="bad")


CHECKS = (
    Check("again", "The same clips again, in one process",
          "chance without a seed, or state kept between calls", always, repeat),
    Check("processes", "New processes: other hash seeds, one thread, two at once",
          "order of hashes, of threads, or a file that processes share", always, processes),
    Check("order", "Clips in another order, and after broken ones", "state is left by the clip before", always, order),
    Check("same-name", "Different clips under one name", "answers are kept by name, not by content", files, same_name),
    Check("together", "Clips together against alone", "order, padding or normalisation of a batch", batches, together),
    Check("broken-member", "A broken file among others",
          "a missing answer moves those of others", _broken_file_in_batch, broken_member),
    Check("environments", "Other environments",
          "versions of packages decide",
          lambda bench: None if bench.pythons else "no --python was given", environments),
)  # fmt: skip
"""Checks of repetition."""
