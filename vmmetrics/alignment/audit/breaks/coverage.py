"""Checks of coverage: which frames, places and colours a score depends on, each replaced in turn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import cv2
import numpy as np

from vmmetrics.alignment.audit.breaks.bench import FEW, Bench, Check, always
from vmmetrics.alignment.audit.calls import CRASH, Answer, Item
from vmmetrics.alignment.audit.lines import Finding, Look
from vmmetrics.alignment.audit.material import Frames, array_of, scaled, with_frames

LONG = 128
"""Frames of the long clip in which it is looked for the end of reading."""


def foreign(bench: Bench, item: Item, count: int) -> Frames:
    """Return frames of another clip in the size of this one."""
    other = array_of(bench.items[int(bench.rng.integers(len(bench.items)))])
    height, width = array_of(item).shape[1:3]
    resized = np.stack([cv2.resize(255 - frame, (width, height), interpolation=cv2.INTER_AREA) for frame in other])
    return resized[np.arange(count) % len(resized)]


def frames_read(bench: Bench) -> Iterator[Finding]:
    """Put a foreign frame in place of each frame in turn, in a clip of up to 26 frames."""
    first = array_of(bench.few[0])[:16]
    longer = np.concatenate([first, first[-2::-1]])[: len(first) * 5 // 3]
    clip = with_frames(bench.few[0], longer, bench.few[0].fps)
    make = bench.material.reordered
    with bench.process():
        before = bench.ask([make(clip)])
        if not bench.blind and not before[0].scores:  # it reads no H.265
            make = bench.material.lossless
            before = bench.ask([make(clip)])
        changed = []
        for t in range(len(clip)):
            frames = clip.frames.copy()
            frames[t] = foreign(bench, bench.few[0], 1)[0]
            changed.append(make(replace(clip, frames=frames)))
        after = bench.ask(changed)
    for name in bench.names:
        if name not in before[0].scores:
            yield unscored(name)
        else:
            read = [bench.moves(before, [answer], name) for answer in after]
            yield _coverage(read, [range(t, t + 1) for t in range(len(clip))], "frame", name)


PARTLY = "some clips of this check have no finite score: where it is NaN, mend that first"


def unscored(name: str, text: str = "no clip of this check has a score") -> Finding:
    """Return that nothing can be said of a score that clips of a check do not have."""
    return Finding("open", "not told apart", text, name)


def finite(answers: Sequence[Answer], name: str) -> bool:
    """Return True unless a score is NaN or infinite for any clip."""
    return all(math.isfinite(answer.scores.get(name, 0.0)) for answer in answers)


def _coverage(read: Sequence[bool], parts: Sequence[range], what: str, name: str) -> Finding:
    """Return whether all parts of a clip count, which are frames or changes between them."""
    if all(read):
        return Finding("good", f"every {what} counts", f"each of {len(parts)}, replaced alone, changes the score", name)
    if not any(read):
        text = f"none of {len(parts)}, replaced alone, changes the score"
        return Finding("note", f"no {what} counts", text, name)
    unread = [n for n, counts in enumerate(read) if not counts]
    ending = sum(len(parts[n]) for n in unread) > 1 and unread == list(range(unread[0], len(parts)))
    spans: list[range] = []
    for part in (parts[n] for n in unread):
        if spans and spans[-1].stop == part.start:
            spans[-1] = range(spans[-1].start, part.stop)
        else:
            spans.append(part)
    shown = ", ".join(str(s.start) if len(s) == 1 else f"{s.start} to {s.stop - 1}" for s in spans[:12])
    shown += ", …" if len(spans) > 12 else ""
    of = what if len(parts) == parts[-1].stop else "frame"
    text = f"{of} {shown} (of 0 to {parts[-1].stop - 1}) can be replaced without any change of the score"
    verdict = "the last are not read" if ending else "single ones do not count"
    return Finding("bad" if ending else "note", verdict, text, name)


def long_clips(bench: Bench) -> Iterator[Finding]:
    """Replace parts of a clip of 128 small frames: by noise, by its first frame, by black and white in turn."""
    frames = np.concatenate([scaled(array_of(item), 96, 96) for item in bench.items])
    frames = np.concatenate([frames] * math.ceil(LONG / len(frames)))[:LONG]
    base = with_frames(bench.few[0], frames, 16.0)
    with bench.process():
        before = bench.ask([bench.material.lossless(base)])
        names = [name for name in bench.names if name in before[0].scores or bench.blind]
        if not names:
            verdict = "crashes" if CRASH.match(before[0].refused or "") else "refuses, and says so"
            yield Finding("note", verdict, f"a clip of {LONG} frames: {before[0].refused}")
            return
        after = []
        for part in _PARTS:
            noise, still, strobe = frames.copy(), frames.copy(), frames.copy()
            noise[part] = bench.rng.integers(0, 256, noise[part].shape)
            still[part] = frames[part[0]]
            strobe[part] = np.where(np.asarray(part) % 2, 255, 0)[:, None, None, None]
            answers = list[Answer]()
            for changed in (noise, still, strobe):  # one that every score notices will do
                answers += bench.ask([bench.material.lossless(with_frames(bench.few[0], changed, 16.0))])
                if not bench.blind and all(bench.moves(before, answers[-1:], name) for name in names):
                    break
            after.append(answers)
    for name in bench.names:
        if name not in before[0].scores:
            yield unscored(name)
            continue
        read = [bench.moves(before * len(answers), answers, name) for answers in after]
        yield _coverage(read, _PARTS, f"part of {LONG} frames", name)


_PARTS = (range(64), range(64, 112), range(112, LONG))
"""Parts of the long clip, finer to its end, where reading may stop."""


def regions(bench: Bench) -> Iterator[Finding]:
    """Put other content into each ninth of the frame, of wide and tall ones as well."""
    first = bench.few[0]
    other = [bench.material.changed(first, scaled(array_of(first), *size)) for size in ((192, 96), (96, 192))]
    items = [*bench.few[:2], *other]
    shapes = [int(np.sign(array_of(item).shape[2] - array_of(item).shape[1])) for item in items]  # tall, square, wide
    groups = [[n for n, of in enumerate(shapes) if of == shape] for shape in dict.fromkeys(shapes)]
    unread = {name: Counter[str]() for name in bench.names}  # shapes of the frame in which a place is not read
    with bench.process():
        before = bench.ask([bench.material.lossless(with_frames(item, array_of(item))) for item in items])
        scored = [{name for name in bench.names if any(name in before[n].scores for n in group)} for group in groups]
        shown = zip(groups, scored, strict=True)
        for (up, row), (side, column), (group, same) in product(_ROWS.items(), _COLUMNS.items(), shown):
            for n in group:  # one that every score notices will do
                if same or bench.blind:
                    answer = bench.ask([_replaced(bench, items[n], row, column)])
                    same = {name for name in same if not bench.moves([before[n]], answer, name)}
            for name in same:
                unread[name][f"{up}{side}"] += 1
    for name, places in unread.items():
        count = sum(name in of for of in scored)
        if not count:
            yield unscored(name)
        elif places.total() == 9 * count:  # as of a score at an end of its range
            yield unscored(name, "other content in no ninth of the frame changes the score of these clips")
        elif places:
            text = f"other content there changes no score: {', '.join(places)}"
            yield Finding("note", "parts of the frame do not count", text, name)
        else:
            yield Finding(
                "good", "the whole frame counts", "other content in each ninth of the frame changes the score", name
            )


_ROWS, _COLUMNS = {"top ": 0, "": 1, "bottom ": 2}, {"left": 0, "middle": 1, "right": 2}


def _replaced(bench: Bench, item: Item, row: int, column: int) -> Item:
    """Return a clip with other content in a ninth of the frame."""
    frames = array_of(item).copy()
    _, height, width, _ = frames.shape
    place = np.s_[:, row * height // 3 : (row + 1) * height // 3, column * width // 3 : (column + 1) * width // 3]
    frames[place] = foreign(bench, item, len(frames))[place]
    return bench.material.lossless(with_frames(item, frames))


def channels(bench: Bench) -> Iterator[Finding]:
    """Put noise into each colour channel, in files that keep RGB."""
    clips = [with_frames(item, array_of(item)) for item in bench.few[:3]]
    changed = [clips]
    for channel in range(3):
        others = []
        for clip in clips:
            frames = clip.frames.copy()
            frames[..., channel] = bench.rng.integers(0, 256, frames.shape[:3])
            others.append(replace(clip, frames=frames))
        changed.append(others)
    with bench.process():
        before, *after = [bench.ask([bench.material.exact(clip) for clip in row]) for row in changed]
    for name in bench.names:
        moved = [
            [bench.moves([was], [now], name) for was, now in zip(before, answers, strict=True)] for answers in after
        ]
        blind = [colour for colour, of in zip(_COLOURS, moved, strict=True) if not any(of)]
        # Where clips are at an end of the range, or score alike as counts do, a colour of small weight looks unread.
        told = [n for n in range(len(before)) if any(of[n] for of in moved)]
        differ = 1 < len({before[n].scores.get(name) for n in told}) == len(told)
        sure = differ and all(of[n] for of in moved if any(of) for n in told)
        if not any(name in answer.scores for answer in before):
            yield Finding("open", "not told apart", "files that keep RGB are refused", name)
        elif len(blind) == 3:
            yield unscored(name, "noise in no colour changes the score")
        elif blind and not sure:
            yield unscored(name, f"noise in {' and '.join(blind)} changes no score; these clips are too alike to tell")
        elif blind:
            yield Finding(
                "bad",
                f"does not see {' and '.join(blind)}",
                f"noise in {' and '.join(blind)} alone changes no score",
                name,
            )
        else:
            yield Finding("good", "all colours count", "noise in each colour channel changes the score", name)


_COLOURS = ("red", "green", "blue")


def _stripes(count: int, weights: Sequence[float], flat: int) -> Frames:
    """Return moving stripes of two colours that are equally light by ``weights``; they differ in the channels given."""
    high, low = (int(w) for w in weights)
    x, y = np.meshgrid(np.arange(96), np.arange(96))
    frames = np.full((count, 96, 96, 3), 128, np.uint8)
    for t in range(count):
        on = ((x + 3 * t + y // 3) // 8) % 2 == 0
        frames[t][on] = (128 + high, 128 - low, 128) if flat == 0 else (128, 128 - low, 128 + high)
        frames[t][~on] = (128 - high, 128 + low, 128) if flat == 0 else (128, 128 + low, 128 - high)
    return frames


def channel_order(bench: Bench) -> Iterator[Finding]:
    """Show stripes of two colours equally light by BT.601, and the same with red and blue exchanged.

    A scorer that works on lightness sees no motion in the first; one that takes red for blue sees none in the other.
    """
    # 0.299 · 98 = 0.587 · 50 to a fifth of a level; with red and blue exchanged, lightness differs by 36 levels
    right, wrong = _stripes(16, (98, 50), 0), _stripes(16, (98, 50), 2)
    blue = right.copy()
    blue[..., :2] = 128
    blue[..., 2] = right[..., 0]
    base = bench.few[0]
    shown = (right, wrong, np.repeat(right[:1], 16, 0), np.repeat(wrong[:1], 16, 0), blue)
    items = [bench.material.exact(with_frames(base, frames, 8.0)) for frames in shown]
    with bench.process():
        answers = [bench.survived(item) for item in items]
    for name in bench.names:
        values = [answer.scores.get(name, math.nan) for answer in answers]
        of_right, of_wrong, still, wrong_still, of_blue = values
        near, far, alone = abs(of_right - still), abs(of_wrong - wrong_still), abs(of_blue - still)
        bound = bench.tolerance(name, [])
        text = f"equally light by BT.601: {of_right:.4g}; red and blue exchanged: {of_wrong:.4g}; still: {still:.4g}"
        if near > 20 * max(far, bound) and alone > bound:
            looks = [
                Look(
                    str(items[1].path),
                    "red and blue exchanged",
                    of_wrong,
                    str(items[0].path),
                    "equally light",
                    of_right,
                )
            ]
            yield Finding(
                "bad",
                "takes red for blue",
                f"it is blind to the pattern that is equally light in BGR; {text}",
                name,
                near,
                looks,
            )
        elif far > 20 * max(near, bound):
            yield Finding("good", "red is red", text, name)
        else:
            yield Finding("open", "not told apart", f"it does not go by lightness alone; {text}", name)


def transitions(bench: Bench) -> Iterator[Finding]:
    """Show one picture and then another: the change from one frame to the next is at each place in turn."""
    item = bench.few[0]
    first, second = array_of(item)[0], foreign(bench, item, 1)[0]
    still = bench.material.exact(with_frames(item, np.stack([first] * 16), 8.0))
    cuts = [
        bench.material.exact(with_frames(item, np.stack([first] * t + [second] * (16 - t)), 8.0)) for t in range(1, 16)
    ]
    with bench.process():
        before = bench.ask([still])
        after = [bench.ask([cut]) for cut in cuts]
    for name in bench.names:
        was, *now = (answers[0].scores.get(name, math.nan) for answers in (before, *after))
        if not any(name in answer.scores for answers in after for answer in answers):
            text = f"a still picture that changes once: {after[0][0].refused or 'no score'}"
            yield Finding("good", "refused", text, name)
            continue
        if not np.isfinite([was, *now]).all():
            yield unscored(name, PARTLY)
            continue
        gaps = [abs(value - was) for value in now]
        least = max(0.02 * max(gaps), 3 * bench.slack[name])  # another still picture has another score, too
        parts = [range(t, t + 1) for t in range(len(gaps))]
        yield _coverage([gap > least for gap in gaps], parts, "change between frames", name)


def flash(bench: Bench) -> Iterator[Finding]:
    """Put two flat frames into the middle: black, white, grey."""
    levels = {"black": 0, "white": 255, "grey": 128}
    with bench.process():
        after = {}
        for colour, level in levels.items():
            items = []
            for item in bench.few:
                frames = array_of(item).copy()
                frames[len(frames) // 2 : len(frames) // 2 + 2] = level
                items.append(bench.material.changed(item, frames))
            after[colour] = bench.ask(items)
    for name in bench.names:
        unseen = [colour for colour, answers in after.items() if not bench.moves(bench.reference, answers, name)]
        if not all(finite(answers, name) for answers in (bench.reference, *after.values())):
            yield unscored(name, PARTLY)
            continue
        if len(unseen) == len(after) and name in bench.constant:
            yield unscored(name, "it is the same for every clip, and for these")
            continue
        sign = bench.target.sign(name) * (not bench.target.is_amount(name))
        bound, rewarded = bench.tolerance(name, [], 0.02), []
        for colour, answers in after.items():
            pairs = zip(answers, bench.reference, strict=True)
            gains = [
                sign * (a.scores[name] - was.scores[name])
                for a, was in pairs if name in a.scores and name in was.scores
            ]  # fmt: skip
            if len(gains) > FEW // 2 and np.median(gains) > bound and min(gains) >= -bound:
                rewarded.append(colour)
        if not unseen and rewarded:
            text = f"two {' or '.join(rewarded)} frames make clips better, and none worse"
            yield Finding("note", "flat frames are rewarded", text, name)
        elif unseen:
            yield Finding(
                "bad", "flat frames are passed over", f"two {' or '.join(unseen)} frames change no score", name
            )
        else:
            yield Finding("good", "flat frames count", "two black, white or grey frames change the score", name)


CHECKS = (
    Check("frames-read", "A foreign frame in place of each",
          "the last frames are never read", always, frames_read, exact=True),
    Check("long-clips", "Other content in parts of a long clip",
          "reading ends at a fixed number of frames", always, long_clips, exact=True),
    Check("regions", "Other content in each ninth of the frame",
          "a crop leaves parts of the frame out", always, regions, exact=True),
    Check("channels", "Noise in each colour", "a colour is never read", always, channels, exact=True),
    Check("channel-order", "Stripes of equally light colours", "BGR is read as RGB", always, channel_order),
    Check("transitions", "One change, between each two frames in turn",
          "some frames are never compared with the next", always, transitions, exact=True),
    Check("flash", "Two flat frames in the middle", "frames are skipped by what they show", always, flash, exact=True),
)  # fmt: skip
"""Checks of coverage."""
