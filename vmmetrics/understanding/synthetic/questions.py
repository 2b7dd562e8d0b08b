"""Questions decided by short events: counts, speed, order, a blink, and synchrony."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Final, NamedTuple, TypeVar

import numpy as np

from vmmetrics.types import FloatArray
from vmmetrics.understanding.synthetic import figures
from vmmetrics.understanding.synthetic.figures import MARKERS, SIDE, Point, Shape, paint, room
from vmmetrics.understanding.synthetic.scenes import Draft, DrawnScene, Dwell, Reading, lifts, swings, unseen

# What every question is made with: options in their places, and times with pauses between.

T = TypeVar("T")
REST: Final = 0.6
"""Least seconds without an event at either end of a clip."""
SPARE: Final = 0.8
"""Extra seconds of a clip, so that events can begin at several times."""
PAUSE: Final = 0.25
"""Least seconds between two events."""


def colours(rng: np.random.Generator, count: int) -> tuple[str, ...]:
    """Draw some markers, in random order."""
    return tuple(str(name) for name in rng.permutation(list(MARKERS))[:count])


class QuestionSlot(NamedTuple):
    """Position of a question in its task's balanced design, the same for every redraw.

    Attributes:
        position: Index of the right option.
        answer: Index of the right one among the task's answers.
        number: How many questions of the task were before.
    """

    position: int
    answer: int
    number: int


def placed(rng: np.random.Generator, right: T, others: Sequence[T], position: int) -> tuple[T, ...]:
    """Return the options with the right one at its position and the others in random order."""
    rest = [others[i] for i in rng.permutation(len(others))]
    return (*rest[:position], right, *rest[position:])


def rest(dwell: Dwell) -> int:
    """Return the frames without an event at either end: at least the dwell, so that any sampling phase works."""
    return max(dwell.seconds(REST), dwell.frames)


def spell(rng: np.random.Generator, dwell: Dwell, moved: int, most: int) -> tuple[int, int]:
    """Draw the start of a movement, in a clip as long as the longest one needs, so that length reveals nothing.

    Args:
        rng: Chooses when.
        dwell: Of the clip.
        moved: Frames of movement.
        most: Frames of the longest movement that any answer has.

    Returns:
        Its first frame, and the length of the clip.
    """
    frames = 2 * rest(dwell) + dwell.seconds(SPARE) + most
    return int(rng.integers(rest(dwell), frames - rest(dwell) - moved + 1)), frames


def moments(rng: np.random.Generator, dwell: Dwell, count: int, most: int) -> tuple[list[int], int]:
    """Draw the first frames of events that last the dwell, in a clip as long as the most events need.

    Returns:
        The first frames, and the length of the clip.
    """
    pause = max(dwell.seconds(PAUSE), dwell.frames)
    frames = 2 * rest(dwell) + dwell.seconds(SPARE) + most * dwell.frames + 2 * (most - 1) * pause
    spare = frames - 2 * rest(dwell) - count * dwell.frames - (count - 1) * pause
    before = np.sort(rng.integers(0, spare + 1, count))
    return [rest(dwell) + k * (dwell.frames + pause) + int(n) for k, n in enumerate(before)], frames


# Questions whose answer is counted: repetitions, instances, and the ratio of two speeds.

REPEATED: Final = (5, 6, 7, 8, 9)
"""Repetition counts: all five are options of every question, so that neither options nor range reveal the answer."""
POPPED: Final = (6, 7, 8, 9, 10)
"""Instance counts. With fewer, one missed would be a larger share, but the ends of the clip would reveal more."""
SWUNG: Final = 12
"""Swings of the faster of two, divisible by 2 and 3 for the slower one."""
_FLOOR: Final = 396.0


class Actor(NamedTuple):
    """A subject that moves up and down.

    Attributes:
        draw: From feet (or pivot), size, height of the swing in 0..1, and a colour to shapes.
        shift: Pixels from the middle of its place to its feet.
        y: Height of the feet on the canvas.
        size: Its size.
    """

    draw: Callable[[Point, float, float, str], Sequence[Shape]]
    shift: float
    y: float
    size: float


def _scene(
    dwell: Dwell,
    actors: Sequence[Actor],
    positions: Sequence[float],
    names: Sequence[str],
    heights: Sequence[FloatArray],
) -> DrawnScene:
    """Return a scene of actors side by side, each in its colour and at its own height in each frame."""
    cast = list(zip(actors, positions, names, heights, strict=True))

    def shapes(frame: int) -> Sequence[Shape]:
        return [s for a, x, c, h in cast for s in a.draw((SIDE * x + a.shift, a.y), a.size, float(h[frame]), c)]

    return DrawnScene(dwell.fps, len(heights[0]), shapes, room(_FLOOR - 12))


_REPEATED: Final = {
    "hammer": ("the figure raise its {colour} hammer", Actor(figures.hammerer, -70, _FLOOR, 240)),
    "jumping jacks": ("the figure with {colour} gloves do a jumping jack", Actor(figures.jumping_jack, 0, _FLOOR, 250)),
    "pendulum": ("the {colour} pendulum swing over to the right side", Actor(figures.pendulum, 0, 90, 210)),
    "flag": ("the figure raise its {colour} flag", Actor(figures.flag_bearer, -30, _FLOOR, 220)),
}


def repetitions(rng: np.random.Generator, dwell: Dwell, turn: QuestionSlot) -> Draft:
    """Draw a question on how often something is repeated."""
    name = str(rng.choice(list(_REPEATED)))
    (colour,) = colours(rng, 1)
    count = REPEATED[turn.position]
    start, frames = spell(rng, dwell, 2 * dwell.frames * count, 2 * dwell.frames * REPEATED[-1])
    what, actor = _REPEATED[name]
    scene = _scene(dwell, [actor], [0.5], [colour], [swings(frames, start, dwell.frames, count)])
    text = f"How many times does {what.format(colour=colour)}?"
    options = tuple(f"{v} times" for v in REPEATED)
    return Draft(scene, text, options, turn.position, Reading("cycles", (colour,), REPEATED), dwell.min_fps, name)


def instances(rng: np.random.Generator, dwell: Dwell, turn: QuestionSlot) -> Draft:
    """Draw a question on how many balls pop up one after the other, never twice in a row at one hole."""
    (colour,) = colours(rng, 1)
    count = POPPED[turn.position]
    start, frames = spell(rng, dwell, dwell.frames * count, dwell.frames * POPPED[-1])
    holes: list[Point] = [(96.0 + 128 * column, 150.0 + 118 * row) for row in range(3) for column in range(3)]
    at = [int(rng.integers(len(holes)))]
    while len(at) < count:
        at.append((at[-1] + int(rng.integers(1, len(holes)))) % len(holes))
    rise = lifts(dwell.frames, (0,), dwell.frames)

    def shapes(frame: int) -> Sequence[Shape]:
        popped, step = divmod(frame - start, dwell.frames)
        if not 0 <= popped < count:
            return ()
        x, y = holes[at[popped]]
        return (figures.form("circle", (x, y - 8 - 22 * float(rise[step])), 30, colour),)

    scene = DrawnScene(dwell.fps, frames, shapes, room(70))
    paint(scene.background, [figures.hole(hole) for hole in holes])
    text = f"{colour.capitalize()} balls pop out of the holes, one after the other. How often does one pop out?"
    options = tuple(f"{v} times" for v in POPPED)
    return Draft(scene, text, options, turn.position, Reading("places", (colour,), POPPED), dwell.min_fps, "pop up")


_PAIRS: Final = {
    "pendulums": ("Two pendulums swing. Which one swings", Actor(figures.pendulum, 0, 110, 150)),
    "hammers": (
        "Two figures raise their hammers again and again. Whose hammer is",
        Actor(figures.hammerer, -40, _FLOOR, 175),
    ),
    "gloves": (
        "Two figures do jumping jacks. Whose gloves go up and down",
        Actor(figures.jumping_jack, 0, _FLOOR, 215),
    ),
}


def speed(rng: np.random.Generator, dwell: Dwell, turn: QuestionSlot) -> Draft:
    """Draw a question on which of two moves faster and by what factor; never equal speeds."""
    name = str(rng.choice(list(_PAIRS)))
    first, second = colours(rng, 2)
    ratios = {f"the {first} one, 2 times as fast": 2.0, f"the {first} one, 3 times as fast": 3.0,
              f"the {second} one, 2 times as fast": 0.5, f"the {second} one, 3 times as fast": 1 / 3}  # fmt: skip
    words = list(ratios)
    right = words[turn.answer]
    times = max(round(ratios[right]), round(1 / ratios[right]))
    start, frames = spell(rng, dwell, 2 * dwell.frames * SWUNG, 2 * dwell.frames * SWUNG)
    quick, unhurried = (swings(frames, start, dwell.frames * n, SWUNG // n) for n in (1, times))
    heights = (quick, unhurried) if ratios[right] > 1 else (unhurried, quick)
    options = placed(rng, right, [word for word in words if word != right], turn.position)
    reading = Reading("ratio", (first, second), tuple(ratios[option] for option in options))
    which, actor = _PAIRS[name]
    scene = _scene(dwell, [actor] * 2, (0.27, 0.73), (first, second), heights)
    return Draft(scene, f"{which} faster, and by how much?", options, turn.position, reading, dwell.min_fps, name)


_ROW: Final = {
    "flags": Actor(figures.flag_bearer, -20, _FLOOR, 132),
    "gloves": Actor(figures.jumping_jack, 0, _FLOOR, 124),
}


def _row(
    name: str, rng: np.random.Generator, dwell: Dwell, names: Sequence[str], heights: Sequence[FloatArray]
) -> DrawnScene:
    """Return a scene of four actors of one kind side by side; shapes have different forms."""
    forms = [figures.FORMS[i] for i in rng.permutation(len(figures.FORMS))]
    shapes = [Actor(partial(figures.hopper, kind), 0, _FLOOR, 36) for kind in forms[:4]]
    actors = [_ROW[name]] * 4 if name in _ROW else shapes
    return _scene(dwell, actors, [(index + 0.5) / 4 for index in range(4)], names, heights)


_ORDERED: Final = {
    "flags": "Each figure raises its flag once. In which order are the flags raised?",
    "gloves": "Each figure does one jumping jack. In which order do the gloves go up?",
    "shapes": "Each of the four shapes hops once. In which order do they hop?",
}


def order(rng: np.random.Generator, dwell: Dwell, turn: QuestionSlot) -> Draft:
    """Draw a question on the order of four movements. The wrong orders swap the first two, the last two, or both.

    Who misses one of the four cannot tell two options apart. Any of the options could be the one that the others were
    made from, so words alone do not tell either.
    """
    name = str(rng.choice(list(_ORDERED)))
    names = colours(rng, 4)
    right = tuple(names[i] for i in rng.permutation(4))
    starts, frames = moments(rng, dwell, 4, 4)
    heights = [lifts(frames, (starts[right.index(c)],), dwell.frames) for c in names]
    a, b, c, d = right
    values = placed(rng, right, [(b, a, c, d), (a, b, d, c), (b, a, d, c)], turn.position)
    options = tuple(", ".join(value) for value in values)
    scene = _row(name, rng, dwell, names, heights)
    return Draft(scene, _ORDERED[name], options, turn.position, Reading("order", names, values), dwell.min_fps, name)


def flash(rng: np.random.Generator, dwell: Dwell, turn: QuestionSlot) -> Draft:
    """Draw a question on which of five bobbing shapes vanishes for a moment."""
    names = colours(rng, 5)
    vanishing = names.index(list(MARKERS)[turn.answer])
    frames = 2 * rest(dwell) + dwell.seconds(2.6)
    edge = max(dwell.seconds(0.5), dwell.frames)
    start = int(rng.choice(unseen(frames, dwell, edge, frames - edge - dwell.frames)))
    forms = [figures.FORMS[i] for i in rng.permutation(5)]
    other = forms.index(figures.FORMS[turn.number // 5 % 5])  # each form vanishes as often as each colour
    forms[vanishing], forms[other] = forms[other], forms[vanishing]
    angles = 2 * np.pi * (np.arange(5) / 5 + rng.random())
    beats, phases = rng.uniform(0.2, 0.4, 5), rng.random(5)

    def shapes(frame: int) -> Sequence[Shape]:
        bob = 16 * np.sin(2 * np.pi * (beats * frame / dwell.fps + phases))
        hidden = vanishing if start <= frame < start + dwell.frames else None
        x, y = SIDE / 2 + 142 * np.cos(angles), SIDE / 2 + 142 * np.sin(angles) + bob
        return [figures.form(forms[k], (float(x[k]), float(y[k])), 40, names[k]) for k in range(5) if k != hidden]

    values = placed(rng, names[vanishing], [c for c in names if c != names[vanishing]], turn.position)
    options = tuple(f"the {c} {forms[names.index(c)]}" for c in values)
    scene = DrawnScene(dwell.fps, frames, shapes, room(SIDE))
    text = "One of the shapes vanishes for a moment and comes back. Which one is it?"
    return Draft(scene, text, options, turn.position, Reading("gone", names, values), dwell.min_fps, "shapes")


_TOGETHER: Final = {
    "flags": "Which two figures always raise their flags together?",
    "gloves": "Which two figures do all their jumping jacks together? Tell them by their gloves.",
    "shapes": "Which two shapes always hop together?",
}


def synchrony(rng: np.random.Generator, dwell: Dwell, turn: QuestionSlot) -> Draft:
    """Draw a question on which two of four move together; one moment sets the others apart."""
    name = str(rng.choice(list(_TOGETHER)))
    names = colours(rng, 4)
    a, b, c, d = (names[i] for i in rng.permutation(4))
    count = int(rng.integers(4, 6))
    starts, frames = moments(rng, dwell, count, 5)
    lone = rng.permutation(count)[:2]
    still = {int(lone[0]): d, int(lone[1]): c}  # who stays at rest in which event
    heights = [
        lifts(frames, [s for k, s in enumerate(starts) if still.get(k) != colour], dwell.frames) for colour in names
    ]
    pairs = [pair for pair in combinations(names, 2) if set(pair) != {a, b}]
    right = tuple(colour for colour in names if colour in (a, b))
    values = placed(rng, right, [pairs[i] for i in rng.permutation(len(pairs))[:4]], turn.position)
    options = tuple(" and ".join(value) for value in values)
    scene = _row(name, rng, dwell, names, heights)
    return Draft(
        scene, _TOGETHER[name], options, turn.position, Reading("together", names, values), dwell.min_fps, name
    )
