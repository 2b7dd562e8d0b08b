"""The synthetic suite: words, letters, lengths and sizes of files say nothing of the answers; looks and versions."""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import av
import numpy as np
import pytest
from scipy.stats import binom
from typer.testing import CliRunner

from vmmetrics.cli.app import understand as app
from vmmetrics.models.questions import Answered
from vmmetrics.understanding import registry
from vmmetrics.understanding.synthetic import textures
from vmmetrics.understanding.synthetic.figures import INK, MARKERS, room
from vmmetrics.understanding.synthetic.reader import find_markers
from vmmetrics.understanding.synthetic.suite import TASKS, Item, make, write_suite

pytestmark = pytest.mark.slow
EACH = 60


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return list(make(EACH * len(TASKS)))


def of_task(items: list[Item], task: str) -> list[Item]:
    return [item for item in items if item.task == task]


def answer_of(item: Item) -> str:
    """The right answer, with the colours of a question's own left out."""
    text = item.draft.options[item.draft.right]
    if item.task == "speed":
        first, _ = item.draft.reading.markers
        return text.replace(f"the {first} one", "the first").split(" one, ")[-1] + str(first in text)
    return text.split()[1] if item.task == "flash" else text


@pytest.mark.parametrize("task", TASKS)
def test_every_letter_is_right_equally_often(items: list[Item], task: str) -> None:
    places = Counter(item.draft.right for item in of_task(items, task))
    assert set(places.values()) == {EACH / TASKS[task].options}


@pytest.mark.parametrize(
    "task", ["repetition count", "instance count", "direction", "speed", "flash", "camera motion", "camera jolt"]
)
def test_every_answer_is_right_and_offered_equally_often(items: list[Item], task: str) -> None:
    right = Counter(answer_of(item) for item in of_task(items, task))
    assert set(right.values()) == {EACH / TASKS[task].answers}
    if task not in ("speed", "flash"):  # in their options are a question's own colours and forms
        wrong = Counter(o for i in of_task(items, task) for k, o in enumerate(i.draft.options) if k != i.draft.right)
        assert set(wrong) == set(right)
        assert len(set(wrong.values())) == 1


@pytest.mark.parametrize("task", TASKS)
def test_no_letter_goes_with_an_answer(items: list[Item], task: str) -> None:
    if task in ("direction", "speed", "flash", "camera motion", "camera jolt"):
        pairs = Counter((item.draft.right, answer_of(item)) for item in of_task(items, task))
        assert (
            max(pairs.values()) - min(pairs.values()) <= 1 and len(pairs) == TASKS[task].options * TASKS[task].answers
        )


def nearest_vote(features: np.ndarray, answers: list[str], neighbours: int = 1) -> float:
    """Share of answers that the most frequent one among the clips nearest by some numbers is, each clip left out."""
    scaled = (features - features.mean(axis=0)) / np.maximum(features.std(axis=0), 1e-9)
    apart = np.abs(scaled[:, None] - scaled[None]).sum(axis=2)
    apart += np.random.default_rng(0).uniform(0, 1e-6, apart.shape)  # equally near ones in any order
    np.fill_diagonal(apart, np.inf)
    votes = [Counter(answers[k] for k in row[:neighbours]).most_common(1)[0][0] for row in np.argsort(apart, axis=1)]
    return float(np.mean([vote == answer for vote, answer in zip(votes, answers, strict=True)]))


def numbers_of(item: Item) -> tuple[float, ...]:
    scene = item.draft.scene
    return scene.frames, scene.fps, scene.seconds, *scene.picture(0).shape[:2]


@pytest.mark.parametrize("task", TASKS)
def test_who_sees_only_length_rate_and_size_of_the_picture_guesses(items: list[Item], task: str) -> None:
    asked = of_task(items, task)
    features = np.array([numbers_of(item) for item in asked])
    for answers in ([answer_of(item) for item in asked], [str(item.draft.right) for item in asked]):
        chance = max(Counter(answers).values()) / EACH
        assert nearest_vote(features, answers) * EACH <= binom.ppf(0.9995, EACH, chance)


@pytest.mark.parametrize("task", ["repetition count", "instance count"])
def test_that_predictor_sees_what_lengths_gave_away_when_clips_ended_with_the_movement(
    items: list[Item], task: str
) -> None:
    asked = of_task(items, task)
    counts = [item.draft.reading.values[item.draft.right] for item in asked]
    per_count = 2 if task == "repetition count" else 1
    lengths = [i.draft.scene.seconds - (max(i.draft.reading.values) - count) * per_count / i.draft.min_fps
               for i, count in zip(asked, counts, strict=True)]  # fmt: skip
    features = np.array([(*numbers_of(i)[1:], length) for i, length in zip(asked, lengths, strict=True)])
    assert nearest_vote(features, list(map(str, counts))) > 0.5


def test_clips_of_a_task_and_a_min_fps_are_equally_long(items: list[Item]) -> None:
    lengths = defaultdict(set)
    for item in items:
        lengths[item.task, item.draft.min_fps].add((item.draft.scene.frames, item.draft.scene.fps))
    assert all(len(found) == 1 for found in lengths.values())


def test_files_of_a_task_a_min_fps_and_a_look_are_equally_large_and_play(tmp_path: Path) -> None:
    count = 3 * len(TASKS)
    assert len(list(write_suite(tmp_path, count))) == count
    sizes, frames = defaultdict(set), {}
    for line in map(json.loads, (tmp_path / "questions.jsonl").read_text().splitlines()):
        path = tmp_path / line["video"]
        sizes[line["task"], line["min_fps"], line["look"]].add(path.stat().st_size)
        with av.open(str(path)) as file:
            frames[line["id"]] = sum(1 for _ in file.decode(video=0)) == line["frames"]
    assert all(frames.values())
    assert len(sizes) < count  # some have to be alike
    assert all(len(found) == 1 for found in sizes.values())


def test_half_of_each_task_is_textured_the_rest_flat(items: list[Item]) -> None:
    for task in TASKS:
        assert sum(item.draft.scene.look is not None for item in of_task(items, task)) == EACH / 2
    flat, textured = ([i.draft.scene for i in items if (i.draft.scene.look is not None) is t] for t in (False, True))
    for scenes, least, most in ((flat, 0.9, 1.0), (textured, 0.0, 0.5)):
        for scene in scenes[:12]:
            colours = scene.background.astype(int) @ (1, 256, 65536)
            counts = np.unique(colours, return_counts=True)[1]
            assert least <= np.sort(counts)[-6:].sum() / counts.sum() <= most


def test_textures_are_the_seeds_and_have_no_marker_in_them() -> None:
    for seed in range(12):
        look = textures.Textures.draw(np.random.default_rng(seed))
        covered = look.covered(room())
        assert (covered == textures.Textures.draw(np.random.default_rng(seed)).covered(room())).all()
        assert np.ptp(covered.astype(int), axis=2).max() <= textures.CHROMA
        assert np.isnan(list(find_markers(covered[None], list(MARKERS)).values())).all()
        assert look.ink != INK or seed
        assert look.grain.max() <= textures.GRAIN


def test_figures_carry_their_texture_along(items: list[Item]) -> None:
    scene = next(i.draft.scene for i in of_task(items, "instance count") if i.draft.scene.look is not None)
    plain = [scene.picture(f) for f in range(scene.frames)]
    seen = []
    for picture in plain:
        for name, (x, y) in ((n, t[0]) for n, t in find_markers(picture[None], list(MARKERS)).items()):
            if not np.isnan(x):
                unit = len(picture) / 448
                column, row = round(x * unit), round(y * unit)
                seen.append((name, picture[row - 4 : row + 5, column - 4 : column + 5, 0].astype(float)))
    assert len(seen) > 20
    patches = np.array([patch.ravel() for _, patch in seen])
    assert patches.std(axis=1).min() > 0.5  # not flat
    assert np.median(np.corrcoef(patches)[0]) > 0.5  # and the same wherever the ball is


def older(suite: Path, folder: Path) -> Path:
    """A suite's files as the first version wrote them."""
    shutil.copytree(suite, folder)
    lines = [json.loads(line) for line in (folder / "questions.jsonl").read_text().splitlines()]
    for line in lines:
        del line["look"]
        line["format"] = 1
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


def test_an_older_suite_is_read_and_scored_and_not_compared_with_a_newer_one(tmp_path: Path) -> None:
    assert len(list(write_suite(tmp_path / "new", 5))) == 5
    older(tmp_path / "new", tmp_path / "old")
    benchmark = registry.find("synthetic")
    old, new = (benchmark.load(tmp_path / name).questions for name in ("old", "new"))
    assert "look" not in old[0].groups and new[0].groups["look"] in (("flat",), ("textured",))
    answered = {q.id: Answered(q.id, q.letter or "") for q in old}
    assert [s.value for s in benchmark.score(old, answered, "vmmetrics")] == [1.0] * 5
    runner = CliRunner()
    for name, seed in (("old", 1), ("old", 2), ("new", 1)):
        command = ["run", "synthetic", "--data", str(tmp_path / name), "--model", f"random:{seed}"]
        ran = runner.invoke(app, [*command, "--out", str(tmp_path / f"{name}-{seed}")])
        assert ran.exit_code == 0, ran.output
    alike = runner.invoke(app, ["compare", str(tmp_path / "old-1"), str(tmp_path / "old-2")])
    assert alike.exit_code == 0, alike.output
    for command in ("compare", "leaderboard"):
        mixed = runner.invoke(app, [command, str(tmp_path / "old-1"), str(tmp_path / "new-1")])
        assert mixed.exit_code != 0
        assert "version 2 of the suite" in f"{mixed.output} {mixed.exception}"


def test_suites_of_two_seeds_have_no_question_in_common() -> None:
    assert not {item.id for item in make(9, 0)} & {item.id for item in make(9, 1)}
