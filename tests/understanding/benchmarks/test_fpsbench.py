from __future__ import annotations

import csv
import json
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.errors import SetupError
from vmmetrics.models.frames import FramePolicy
from vmmetrics.models.questions import NOT_RECORDED, Answered, Question
from vmmetrics.understanding import registry
from vmmetrics.understanding.benchmarks.files.fpsbench import DATA, NONE, Times, bucket, footage
from vmmetrics.understanding.benchmarks.fpsbench import BENCHMARK, FpsBench, interval, min_fps_group, released_letter
from vmmetrics.understanding.harness.benchmark import Scoring

MIRROR = Path(__file__).parents[4] / ".mirror" / "KartikSharma907+FPSBench" / "repo"

# What the released parser gave for these texts of ours (KartikSharma907/FPSBench c0e8ade).
RELEASED = {
    "A": "A", "(b) x": "B", "**C** it": "C", "A man falls": "A", "d": "D", "The answer is B": "B",
    "the Answer: (C)": "C", "option d": "D", "It must be E, not A": "E", "answer: unclear, A or B": "A", "F": None,
    "": None, "I choose **b**": "B", "the best choice would be D": "D", "[C]": "C", "Apple": None, "UNKNOWN": None,
}  # fmt: skip


def record(key: str, **more: Any) -> dict[str, Any]:
    """A record in the released form, of ours; fields by ``part__name``."""
    made: dict[str, Any] = {
        "id": f"fpsbench_{key}",
        "version": "1.0.0",
        "split": "test",
        "source": {"dataset": "made", "platform": "youtube", "video_id": f"video{key}", "url": "https://x"},
        "time": {
            "clip_start_sec": 100.0, "clip_end_sec": 106.0, "clip_duration_sec": 6.0,
            "temporal_certificate_start_sec": 102.0, "temporal_certificate_end_sec": 104.5,
            "temporal_certificate_duration_sec": 2.5, "raw_clip_range": "", "raw_temporal_certificate": "",
        },
        "question": {
            "text": "How often does it blink?", "type": "instance_count",
            "choices": {"A": "once", "B": "twice", "C": "three times", "D": "four times", "E": NONE},
            "answer": "B", "answer_text": "twice",
        },
        "temporal_requirements": {"min_fps": 7, "min_required_frames_for_certificate": 18, "native_fps": None},
        "categories": {
            "task_category": "instance_count", "visual_domain": "Vehicles", "visual_domain_fine": "Vehicles",
            "visual_subdomain": "Ground Vehicles", "source_video_category": None,
        },
        "metadata": {"original_row_id": 0, "source_dataset": "made"},
    }  # fmt: skip
    for name, value in more.items():
        part, _, field = name.partition("__")
        made[part] = {**made[part], field: value} if field else value
    return made


MADE: list[tuple[str, dict[str, Any]]] = [
    ("000000", {}),
    ("000001", {"question__answer": "A", "question__answer_text": "once", "temporal_requirements__min_fps": 4}),
    ("000002", {"categories__visual_domain": "Miscellaneous", "temporal_requirements__min_fps": 7.5}),
    ("000003", {"question__type": "action_order", "categories__task_category": "action_order"}),
    ("000004", {"question__type": "action_order", "categories__task_category": "action_order"}),
    ("000005", {"temporal_requirements__min_fps": 30, "time__clip_duration_sec": 6.0}),
]
PREDICTIONS: list[dict[str, Any]] = [
    {"id": "fpsbench_000000", "prediction": "b", "raw_response": "A"},
    {"id": "fpsbench_000001", "raw_response": "A man blinks once"},
    {"id": "fpsbench_000002", "raw_response": "no idea"},
    {"id": "fpsbench_000003", "raw_response": "I think it is C"},
    {"id": "fpsbench_000004", "prediction": "B"},
    {"id": "fpsbench_000999", "prediction": "B"},
]


def write(folder: Path, records: list[Any], name: str = "fpsbench_v1.jsonl") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join(map(json.dumps, records)))
    return folder


def flat(made: dict[str, Any]) -> dict[str, Any]:
    row = {"id": made["id"], "source_video_id": made["source"]["video_id"]}
    row |= {name: value for name, value in made["time"].items() if name.endswith("_sec")}
    row |= {"question_text": made["question"]["text"], "question_type": made["question"]["type"]}
    row |= {f"choice_{letter.lower()}": made["question"]["choices"].get(letter, "") for letter in "ABCDE"}
    row |= {name: made["question"][name] for name in ("answer", "answer_text") if name in made["question"]}
    row["min_fps"] = made["temporal_requirements"]["min_fps"]
    return row | {name: made["categories"][name] for name in ("task_category", "visual_domain", "visual_subdomain")}


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FPSBENCH_CACHE", str(tmp_path / "cache"))


def questions(folder: Path, bench: FpsBench = BENCHMARK) -> tuple[Question, ...]:
    return bench.load(write(folder, [record(key, **more) for key, more in MADE])).questions


def answered(found: tuple[Question, ...], text: str) -> dict[str, Answered]:
    return {question.id: Answered(question.id, text) for question in found}


def test_released_letters() -> None:
    assert {text: released_letter(text, "ABCDE") for text in RELEASED} == RELEASED
    assert released_letter("E, or B", "ABCD") == "B"


def test_released_report(tmp_path: Path) -> None:
    found = questions(tmp_path)
    write(tmp_path, PREDICTIONS, "mine.jsonl")
    answers = BENCHMARK.read_answers(tmp_path / "mine.jsonl", "upstream")
    assert found[5].id not in answers
    answers[found[5].id] = Answered(found[5].id, error=NOT_RECORDED)  # as a run of the file keeps it
    scored = BENCHMARK.score(found, answers, "upstream")
    figures = {(f.measure, f.group, f.name): f for f in BENCHMARK.figures(found, scored, "upstream")}
    whole = figures["accuracy", "all", "all"]
    assert (whole.value, whole.low, whole.high, whole.n, whole.chance) == (0.75, 0.25, 1.0, 4, 0.2)
    silent = figures["no_answer_rate", "all", "all"]
    assert (silent.value, silent.n) == (0.2, 5)
    groups = {(f.group, f.name): (f.n, f.value) for f in figures.values() if f.group != "all"}
    assert groups == {
        ("category", "action_order"): (2, 0.5), ("category", "instance_count"): (2, 1.0),
        ("domain", "Vehicles"): (4, 0.75),
        ("subdomain", "Ground Vehicles"): (4, 0.75), ("minFPS", "4"): (1, 1.0), ("minFPS", "7"): (3, 2 / 3),
        ("clip duration", "5-10"): (4, 0.75),
    }  # fmt: skip


def test_released_interval() -> None:
    # what the released bootstrap gave for these 240 values
    assert interval([float(k % 3 == 0) for k in range(240)]) == (0.275, 0.3917)
    assert interval([1.0]) is None


def test_released_report_of_nothing(tmp_path: Path) -> None:
    found = questions(tmp_path)
    figures = BENCHMARK.figures(found, BENCHMARK.score(found, {}, "upstream"), "upstream")
    assert [(f.value, f.n, f.low) for f in figures] == [(0.0, 0, None), (0.0, 0, None)]


def test_ours_counts_all(tmp_path: Path) -> None:
    found = questions(tmp_path)
    write(tmp_path, PREDICTIONS, "mine.jsonl")
    scored = BENCHMARK.score(found, BENCHMARK.read_answers(tmp_path / "mine.jsonl", "vmmetrics"), "vmmetrics")
    # "A man blinks once" is read as the option "once", not as its article; a question without an answer is wrong
    assert [entry.value for entry in scored] == [1, 1, 0, 0, 1, 0]
    figures = {(f.measure, f.group, f.name): f for f in BENCHMARK.figures(found, scored, "vmmetrics")}
    whole = figures["accuracy", "all", "all"]
    assert (whole.value, whole.n, whole.clusters) == (0.5, 6, 6)
    assert whole.chance == pytest.approx(0.2)
    assert whole.answered == pytest.approx(4 / 6) and NONE in whole.note
    assert figures["answered_accuracy", "all", "all"].value == 0.75
    assert figures["accuracy", "category", "action_order"].value == 0.5
    assert figures["accuracy", "minFPS", "8-10"].n == 1  # 7.5, which the released report puts with those above 10
    assert min_fps_group(7.5) == "10+"


def test_abstaining_does_not_pay(tmp_path: Path) -> None:
    found = questions(tmp_path)
    all_b = answered(found, "B")
    some = {key: (said if key == "fpsbench_000000" else Answered(key, "not sure")) for key, said in all_b.items()}

    def accuracy(answers: dict[str, Answered], protocol: Any) -> float | None:
        return BENCHMARK.figures(found, BENCHMARK.score(found, answers, protocol), protocol)[0].value

    assert accuracy(some, "upstream") == 1 > (accuracy(all_b, "upstream") or 0)
    assert (accuracy(some, "vmmetrics") or 0) < (accuracy(all_b, "vmmetrics") or 0)


def test_no_key_is_not_scored(tmp_path: Path) -> None:
    made = record("000000")
    del made["question"]["answer"], made["question"]["answer_text"]
    loaded = BENCHMARK.load(write(tmp_path, [made]))
    assert loaded.problems == {"hidden answers": 1, "questions whose video is missing": 1}
    assert BENCHMARK.turns(loaded.questions[0], "vmmetrics")
    for protocol in ("vmmetrics", "upstream"):
        with pytest.raises(SetupError, match=r"no answer key.*fpsbench_v1"):
            BENCHMARK.score(loaded.questions, {}, protocol)


def test_table_and_lines_give_the_same(tmp_path: Path) -> None:
    records = [record(key, **more) for key, more in MADE]
    nested = BENCHMARK.load(write(tmp_path / "a", records)).questions
    for name, separator in (("b.csv", ","), ("b.tsv", "\t")):
        with (tmp_path / name).open("w", newline="") as file:
            table = csv.DictWriter(file, list(flat(records[0])), delimiter=separator)
            table.writeheader()
            table.writerows(map(flat, records))
        assert BENCHMARK.load(tmp_path / name).questions == nested


def test_fields(tmp_path: Path) -> None:
    first = questions(tmp_path)[0]
    assert (first.id, first.video, first.letter, first.options[4]) == ("fpsbench_000000", "video000000", "B", NONE)
    assert first.groups == {
        "category": ("instance_count",), "domain": ("Vehicles",), "subdomain": ("Ground Vehicles",), "minFPS": ("7",),
        "clip duration": ("5-10",),
    }  # fmt: skip
    for protocol in ("vmmetrics", "upstream"):
        said = BENCHMARK.turns(first, protocol)[0].text
        assert "blink?\nA. once\nB. twice" in said
        assert not any(hidden in said for hidden in ("7", "102", "104.5", "fps", "FPS"))


def test_no_question_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no question of FPS-Bench in it: 1 questions without text or options"):
        BENCHMARK.load(write(tmp_path, [record("000000", question__choices=["a", "b"])]))


def test_loader_checks(tmp_path: Path) -> None:
    long = {"A": "x", "B": "x", "D": "y", "E": "z"}
    rows: list[Any] = [
        record("000000", question__answer_text="once"),
        record("000001", question__answer="F"),
        record("000002", question__choices=long, question__answer="D", question__answer_text="y"),
        record("000003", temporal_requirements__min_fps=3),
        record("000004", time__clip_end_sec=90.0),
        record("000005", time={}),
        record("000006", time__temporal_certificate_end_sec=107.0),
        record("000007", categories__task_category="juggling"),
        record("000008", question__text=""), record("000000"), {"id": ""}, "no object",
    ]  # fmt: skip
    write(tmp_path, rows)
    with (tmp_path / "fpsbench_v1.jsonl").open("a") as file:
        file.write("\n{")
    loaded = BENCHMARK.load(tmp_path)
    assert [q.id[-1] for q in loaded.questions] == list("01234567")
    assert [q.answer for q in loaded.questions] == [1, None, 2, 1, 1, 1, 1, 1]
    assert loaded.problems == {
        "right answers whose text is not that of their option": 1,
        "right answers that match no option": 1,
        "questions whose options are not A to D, or A to E": 1,
        f"questions whose E is not {NONE!r}": 1,
        "questions with two equal options": 1,
        "minFPS missing, or below 4": 1,
        "clips or certificates that end before they begin": 1,
        "questions without times": 1,
        "certificates not within their clip": 1,
        "questions of an unknown category": 1,
        "questions without text or options, left out": 1,
        "questions with a repeated key, left out": 1,
        "rows without an id": 2,
        "lines that are not JSON": 1,
        "questions whose video is missing": 8,
    }


@pytest.mark.parametrize(
    ("clip", "certificate", "shown", "contained"),
    [
        ((45, 53), (52, 54), (52, 53), False),
        ((1, 10), (0, 10), (1, 10), False),
        ((20, 34), (2, 5), None, False),
        ((20, 34), (34, 36), None, False),
        ((100, 106), (102, 104.5), (102, 104.5), True),
    ],
)
def test_clamping(clip: Any, certificate: Any, shown: Any, contained: bool) -> None:
    times = Times(clip, certificate)
    assert (times.shown, times.shown == times.certificate) == (shown, contained)


@given(st.floats(0, 1e4), st.floats(0.1, 100), st.floats(0, 1e4), st.floats(0.1, 100), st.sampled_from("qs"))
def test_a_part_of_a_file_is_the_seconds_of_the_source(
    start: float, length: float, first: float, size: float, file: str
) -> None:
    times = Times((start, start + length), (first, first + size))
    part = footage({file: Path(file)}, "q", "s", times, certificate=True)
    begins = start if file == "q" else 0.0
    low, high = times.shown or times.clip
    if (low, high) == times.clip and file == "q":
        assert (part.start, part.end) == (None, None)
    else:
        assert part.start is not None and part.start + begins == pytest.approx(low)
        assert part.end is not None and part.end + begins == pytest.approx(high)
        assert file == "s" or -1e-9 <= part.start < part.end <= length + 1e-6


def test_times_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="begin before they end"):
        Times((2, 2), (0, 1))


def test_settings_and_files(tmp_path: Path) -> None:
    made = [record(f"00000{k}") for k in range(5)]
    made[3]["time"] |= {"temporal_certificate_start_sec": 2.0, "temporal_certificate_end_sec": 5.0}
    made[4]["id"] = "x" * 300  # longer than a file's name can be
    for place in ("clips/clip/fpsbench_000000_100-106.mp4", "clips/temporal_certificate/fpsbench_000000_102-104.5.mp4",
                  "video000001.webm", "fpsbench_000002.MP4", "videos/sports/video000003.mp4"):  # fmt: skip
        (tmp_path / "cache" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "cache" / place).touch()
    write(tmp_path / "data", made)

    def parts(bench: FpsBench, videos: Path | None = None) -> list[tuple[Any, ...]]:
        found = bench.load(tmp_path / "data", videos).questions
        return [(q.reference["file"], q.start, q.end) for q in found]

    missing = (None, None, None)
    native = [("clip", None, None), ("source", 100, 106), ("clip", None, None), ("source", 100, 106), missing]
    assert parts(BENCHMARK) == native
    shown = [("certificate", None, None), ("source", 102, 104.5), ("clip", 2, 4.5), ("source", 100, 106), missing]
    assert parts(FpsBench("certificate")) == parts(FpsBench("slowed")) == shown
    assert parts(BENCHMARK, tmp_path / "data") == [missing] * 5  # where videos were named, the cache is not looked at
    problems = FpsBench("certificate").load(tmp_path / "data").problems
    assert problems["certificates outside their clip: the whole clip is shown"] == 1


@pytest.mark.parametrize("certificate", [(52, 54), (40, 46), (48, 50), (40, 60), (2, 5)])
def test_what_is_shown_does_not_depend_on_the_file(tmp_path: Path, certificate: tuple[int, int]) -> None:
    first, last = certificate
    times = {"clip_start_sec": 45, "clip_end_sec": 53}
    times |= {"temporal_certificate_start_sec": first, "temporal_certificate_end_sec": last}
    data = write(tmp_path / "data", [record("0", time=times)])
    prepared = {"source": (0, 60), "clip": (45, 53), "certificate": certificate}  # seconds of the source in each file
    names = ("video0", "fpsbench_0_45-53", f"fpsbench_0_{first}-{last}")
    seen = set()
    for (clock, (zero, end)), name in zip(prepared.items(), names, strict=True):
        (tmp_path / clock).mkdir()
        (tmp_path / clock / f"{name}.mp4").touch()
        (question,) = FpsBench("certificate").load(data, tmp_path / clock).questions
        if question.path is not None:
            part = question.start or 0, end - zero if question.end is None else question.end
            assert 0 <= part[0] < part[1] <= end - zero
            seen.add((zero + part[0], zero + part[1]))
    assert seen == {(max(45, first), min(53, last)) if first < 53 and last > 45 else (45, 53)}


def test_slowed_shows_the_lowest_rate_that_suffices(tmp_path: Path) -> None:
    bench: Any = registry.find("fpsbench-slowed")
    assert bench.setting == "slowed" and BENCHMARK.policy_for(questions(tmp_path)[0]) is None
    first, *_, last = questions(tmp_path)
    assert FramePolicy.parse(bench.policy_for(first)) == FramePolicy.parse("1 fps slowed 7")
    moments = FramePolicy.parse(bench.policy_for(last)).moments(2.5)
    assert moments is not None and len(moments) == 75 and moments[1] == pytest.approx(1 / 30)
    for rate in (None, 0.0, 1e-7, 1e7):  # nothing that a clip can be slowed by
        assert bench.policy_for(replace(first, reference={**first.reference, "min_fps": rate})) is None
    assert FramePolicy.parse(bench.policy) == FramePolicy.parse("native")


def test_an_option_that_reads_as_the_right_one_is_right(tmp_path: Path) -> None:
    choices = {"A": "twice", "B": "twice", "C": "x", "D": "y", "E": NONE}
    (found,) = BENCHMARK.load(write(tmp_path, [record("000000", question__choices=choices)])).questions
    scores = {letter: [BENCHMARK.score([found], {found.id: Answered(found.id, letter)}, protocol)[0].value
                       for protocol in ("vmmetrics", "upstream")] for letter in "ABC"}  # fmt: skip
    assert scores == {"A": [1, 0], "B": [1, 1], "C": [0, 0]}


def test_submission(tmp_path: Path) -> None:
    found = questions(tmp_path)[:4]
    said = ("four times: \ud800", "no idea", "")
    answers = {q.id: Answered(q.id, text) for q, text in zip(found, said, strict=False)}
    readings: list[tuple[Scoring, str | None]] = [("vmmetrics", "D"), ("upstream", None)]
    for protocol, letter in readings:
        lines = [json.loads(line) for line in BENCHMARK.submission(found, answers, protocol).encode().splitlines()]
        # a line with neither a prediction nor a text would have the leaderboard refuse the file
        assert [line["prediction"] for line in lines] == [letter, None, "UNKNOWN", "UNKNOWN"]
    (tmp_path / "out.jsonl").write_text(BENCHMARK.submission(found, answers))
    read = BENCHMARK.read_answers(tmp_path / "out.jsonl", "upstream")
    assert [read[q.id].text for q in found] == ["D", "no idea", "", ""]


def test_predictions_that_are_no_letters(tmp_path: Path) -> None:
    found = questions(tmp_path)
    given = ["UNKNOWN", "Z", "", " d", None, "N/A"]
    rows = [{"id": q.id, "prediction": one, "raw_response": "B"} for q, one in zip(found, given, strict=True)]
    write(tmp_path, rows, "mine.jsonl")
    answers = BENCHMARK.read_answers(tmp_path / "mine.jsonl", "upstream")
    scored = BENCHMARK.score(found, answers, "upstream")
    assert [s.value for s in scored] == [None, None, None, 0, 1, None]
    accuracy, silent = BENCHMARK.figures(found, scored, "upstream")[:2]
    # the released report scores two, and counts two of six as without an answer: neither "Z" nor "N/A"
    assert (accuracy.value, accuracy.n, silent.n) == (0.5, 2, 6) and silent.value == pytest.approx(2 / 6)
    assert [s.chosen for s in BENCHMARK.score(found, answers, "vmmetrics")] == [None, None, None, 3, 1, None]
    write(tmp_path, [{"prediction": "A"}], "bad.jsonl")
    with pytest.raises(SetupError, match="expected lines with id"):
        BENCHMARK.read_answers(tmp_path / "bad.jsonl", "upstream")


def test_bounds_of_groups() -> None:
    assert [bucket(DATA["buckets"], rate) for rate in (4, 5, 6, 7, 8, 10, 11)] == [
        "4", "5", "6", "7", "8-10", "8-10", "10+",
    ]  # fmt: skip
    assert [bucket(DATA["durations"], value) for value in (2, 2.1, 5, 10, 20, 20.1)] == [
        "0-2", "2-5", "2-5", "5-10", "10-20", "20+",
    ]  # fmt: skip
    assert sum(DATA["categories"].values()) == sum(DATA["domains"].values()) == DATA["counts"]["questions"]
    assert sum(group["count"] for group in DATA["buckets"]) == DATA["counts"]["questions"]


@pytest.mark.skipif(not MIRROR.is_dir(), reason="the released annotations are not here")
def test_released_annotations(tmp_path: Path) -> None:
    for name in ("fpsbench_v1.jsonl", "fpsbench_v1.csv"):
        shown = subprocess.run(
            ["git", "-C", MIRROR, "show", f"HEAD:annotations/{name}"],  # noqa: S607 - whichever is there
            capture_output=True,
            check=True,
        )
        (tmp_path / name).write_bytes(shown.stdout)
    loaded = BENCHMARK.load(tmp_path / "fpsbench_v1.jsonl")
    assert loaded.questions == BENCHMARK.load(tmp_path / "fpsbench_v1.csv").questions
    counted = {group: Counter(q.groups[group][0] for q in loaded.questions) for group in loaded.questions[0].groups}
    assert counted["category"] == DATA["categories"] and counted["domain"] == DATA["domains"]
    assert counted["minFPS"] == {group["name"]: group["count"] for group in DATA["buckets"]}
    assert len({q.video for q in loaded.questions}) == DATA["counts"]["videos"]
    assert loaded.problems == {
        "certificates not within their clip": 5, "questions with two equal options": 2,
        "questions whose video is missing": 1000,
    }  # fmt: skip
    assert all(q.letter in "ABCD" for q in loaded.questions if q.letter)  # "None of the above" is never right
