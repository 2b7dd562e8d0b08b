"""How long scoring takes: as many made-up answers as FAVOR-Bench has questions, captions as it has videos and TUNA has.

``python -m benchmarks.understanding_speed`` (aims: 8,184 answers in 5 s, 1,776 captions in 10 minutes on 2 cores).
The captions repeat few actions, and each distinct text is embedded once: people's captions take longer.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence

from vmmetrics.models.questions import Answered, Question
from vmmetrics.understanding.benchmarks.tuna.judging import Caption, Judged
from vmmetrics.understanding.benchmarks.tuna.scoring import LABELS
from vmmetrics.understanding.registry import find
from vmmetrics.utils.text.embedding import embedding_installed

ANSWERS, CAPTIONS, ACTIONS, JUDGEMENTS = 8184, 1776, 9, 1000
_VERBS = ("opens", "lifts", "turns", "drops", "pushes", "folds", "throws", "wipes", "pours", "carries")
_THINGS = ("a red box", "the door", "a wet cloth", "two cups", "the lamp", "a book", "a long rope", "the chair")


def main() -> None:
    rng = random.Random(0)
    tasks = ("AS", "HAC", "SAD", "MAD", "CM", "NSM")
    questions = [
        Question(str(n), f"v{n // 5}", "?", tuple("pqrst"), rng.randrange(5), {"task": (rng.choice(tasks),)})
        for n in range(ANSWERS)
    ]
    answers = {q.id: Answered(q.id, f"The answer is {rng.choice('ABCDE')}.") for q in questions}
    mcq = find("favor-mcq")
    start = time.perf_counter()
    mcq.figures(questions, mcq.score(questions, answers, "vmmetrics"), "vmmetrics")
    print(f"{ANSWERS:,} answers scored and tabled: {time.perf_counter() - start:.1f} s")

    described = [caption_question(str(n), rng) for n in range(CAPTIONS)]
    said = {q.id: Answered(q.id, caption(rng)) for q in described}
    captions = find("favor-caption")
    start = time.perf_counter()
    captions.score(described, said, "vmmetrics")
    how = "sentence embedding" if embedding_installed() else "word overlap"
    print(f"{CAPTIONS:,} captions of {ACTIONS} actions scored by {how}: {time.perf_counter() - start:.1f} s")

    judged = [judged_question(str(n), rng) for n in range(JUDGEMENTS)]
    tuna = find("tuna-cap")
    start = time.perf_counter()
    tuna.figures(judged, tuna.score(judged, said, "vmmetrics", MadeUpJudge(rng)), "vmmetrics")
    print(f"{JUDGEMENTS:,} judgements of captions scored and tabled: {time.perf_counter() - start:.1f} s")


def caption(rng: random.Random) -> str:
    """A man and what he does, one sentence an action."""
    return " ".join(f"The man {rng.choice(_VERBS)} {rng.choice(_THINGS)}." for _ in range(ACTIONS))


def caption_question(key: str, rng: random.Random) -> Question:
    """A video with an annotation in FAVOR-Bench's released form, as its reader keeps it."""
    actions = [f"{rng.choice(_VERBS)} {rng.choice(_THINGS)}" for _ in range(ACTIONS)]
    annotation = {
        "caption": caption(rng),
        "camera_motion": "Stationary",
        "subject_attributes": "Subject 1: Man",
        "motion_list": f"Subject 1: Man [{', '.join(actions)}]",
        "chronological_motion_list": ", ".join(f"{action} (Subject 1)" for action in actions),
    }
    return Question(key, key, "Describe the motion.", reference=annotation)


def judged_question(key: str, rng: random.Random) -> Question:
    """A video with three events of five elements, in TUNA's released form."""
    kinds = ("camera", "scene", "action", "attribute")
    elements = [[{"content": f"{n}", "type": rng.choice(kinds), "weight": 2} for n in range(5)] for _ in range(3)]
    events = [{"event": "e", "visual_elements": some} for some in elements]
    groups = {"characteristic": (rng.choice(("Low-Dynamic", "High-Dynamic")),)}
    return Question(key, key, "Describe the video.", groups=groups, reference={"events": events})


class MadeUpJudge:
    """Says anything of anything, in the released form."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def judged(self, captions: Sequence[Caption]) -> Iterator[tuple[Caption, Judged]]:
        """Three matched events of each caption."""
        for caption in captions:
            labels = [[{"relationship": self._rng.choice(LABELS)} for _ in event.elements] for event in caption.events]
            relationship = [{"visual_elements": elements} for elements in labels]
            matches = {"candidate_events": ["a"] * 3, "match_ids": [[1, 1], [2, 2], [3, 3]]}
            yield caption, Judged(matches | {"relationship": relationship})


if __name__ == "__main__":
    main()
