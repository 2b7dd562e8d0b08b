from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.understanding.benchmarks import tuna_files as files
from tests.understanding.benchmarks.tuna_files import F1, said
from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Answered, EntriesByQuestion, LoadedBenchmark
from vmmetrics.models.recorded import released_answers
from vmmetrics.understanding.benchmarks.tuna_cap import BENCHMARK
from vmmetrics.understanding.harness.benchmark import Figure, Scored

SUMMARY = {  # what the released scorer made of files.ANNOTATIONS and files.RECORDS; no other cell has a figure
    ("all", "all"): (0.533, 0.444, 0.476),
    ("element type", "camera"): (0, 0, 0),
    ("element type", "scene"): (0, 0, 0),
    ("element type", "action"): (0.667, 0.667, 0.667),
    ("element type", "attribute"): (0, 0, 0),
    ("characteristic", "Low-Dynamic"): (0, 0, 0),
    ("characteristic and element type", "Low-Dynamic / action"): (0, 0, 0),
    ("characteristic", "High-Dynamic"): (0.8, 0.666, 0.715),
    ("characteristic and element type", "High-Dynamic / camera"): (0, 0, 0),
    ("characteristic and element type", "High-Dynamic / scene"): (0, 0, 0),
    ("characteristic and element type", "High-Dynamic / action"): (1, 1, 1),
    ("characteristic and element type", "High-Dynamic / attribute"): (0, 0, 0),
    ("characteristic", "Multi-Scene"): (0.6, 0.333, 0.429),
    ("characteristic and element type", "Multi-Scene / camera"): (0, 0, 0),
    ("characteristic and element type", "Multi-Scene / scene"): (0, 0, 0),
    ("characteristic and element type", "Multi-Scene / action"): (1, 1, 1),
    ("characteristic and element type", "Multi-Scene / attribute"): (0, 0, 0),
    ("characteristic", "Multi-Subject"): (1, 1, 1),
    ("characteristic and element type", "Multi-Subject / action"): (1, 1, 1),
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    files.write_all(tmp_path)
    return tmp_path


def scored_by_id(loaded: LoadedBenchmark, scored: Sequence[Scored]) -> dict[str, Scored]:
    return {question.id: one for question, one in zip(loaded.questions, scored, strict=True)}


def cells(figures: Sequence[Figure]) -> dict[tuple[str, str, str], Figure]:
    return {(figure.group, figure.name, figure.measure): figure for figure in figures}


def test_table_and_annotations_are_brought_together(data: Path) -> None:
    loaded = BENCHMARK.load(data)
    first = loaded.questions[0]
    assert [question.id for question in loaded.questions] == list(files.CAPTIONS)
    assert (first.video, first.text) == ("clip0", "Tell what you see.")
    assert first.groups == {"characteristic": ("High-Dynamic", "Multi-Scene"), "domain": ("Cityscape",)}
    assert first.reference["events"] == files.ANNOTATIONS[0]["events"]
    assert loaded.problems == {"captions whose video is missing": 4}
    assert len(loaded.source) == 2


def test_the_video_decides_before_any_number(data: Path) -> None:
    """Annotations in another order than the table, with the videos' names: numbers would be wrong for all."""
    turned = [
        {**annotation, "index": f"TUNA_{number + 1:04d}", "video": f"clip{3 - number}.mp4"}
        for number, annotation in enumerate(reversed(files.ANNOTATIONS))
    ]
    (data / "metadata.json").write_text(json.dumps(turned))
    loaded = BENCHMARK.load(data)
    assert [question.id for question in loaded.questions] == ["TUNA_0004", "TUNA_0003", "TUNA_0002", "TUNA_0001"]
    for question, annotation in zip(loaded.questions, files.ANNOTATIONS, strict=True):
        assert question.reference["events"] == annotation["events"]


def test_numbers_that_the_characteristics_deny_are_not_believed(data: Path) -> None:
    turned = [{**annotation, "index": f"TUNA_{4 - n:04d}"} for n, annotation in enumerate(files.ANNOTATIONS)]
    (data / "metadata.json").write_text(json.dumps(turned))
    loaded = BENCHMARK.load(data)
    assert [question.id for question in loaded.questions] == ["0", "1", "2", "3"]
    assert loaded.problems["captions without annotated events: not scored"] == 4
    assert loaded.problems["annotations without a row of the table, left out"] == 4
    with pytest.raises(SetupError, match="like 'TUNA_0001', the captions' like '0'"):
        BENCHMARK.score(loaded.questions, said({"0": "It rains."}), "vmmetrics", data / "result.json")


def test_annotations_alone_and_table_alone(data: Path) -> None:
    alone = BENCHMARK.load(data / "metadata.json")
    assert [question.id for question in alone.questions] == list(files.CAPTIONS)
    assert "beginning to its end" in BENCHMARK.turns(alone.questions[0], "vmmetrics")[0].text
    (data / "metadata.json").unlink()
    table = BENCHMARK.load(data / "TUNA_CAP.tsv")
    assert [question.id for question in table.questions] == ["0", "1", "2", "3"]
    assert BENCHMARK.turns(table.questions[0], "vmmetrics")[0].text == "Tell what you see."
    (data / "TUNA_CAP.tsv").unlink()
    (data / "result.json").unlink()
    with pytest.raises(SetupError, match=r"TUNA_CAP\.tsv"):
        BENCHMARK.load(data)
    (data / "TUNA_CAP.tsv").write_text("index\tprediction\n0\tA caption.\n")
    with pytest.raises(SetupError, match="no video of TUNA-CAP in it: 1 rows without a video"):
        BENCHMARK.load(data)


def test_other_files_of_the_folder_do_no_harm(data: Path) -> None:
    (data / "a.json").write_text("{")
    (data / "b.json").write_text("[1, null, {}]")
    (data / "metadata.json").rename(data / "z.json")
    assert [question.id for question in BENCHMARK.load(data).questions] == list(files.CAPTIONS)
    with pytest.raises(SetupError, match="not readable"):
        BENCHMARK.load(data / "a.json")


def test_dirty_annotations_are_counted(data: Path) -> None:
    dirty = deepcopy(files.ANNOTATIONS)
    elements = dirty[0]["events"][0]["visual_elements"]
    elements[0]["type"] = "Sound"
    elements[1]["weight"] = None
    dirty[0]["events"][1]["visual_elements"][0] |= {"type": "CAMERA", "weight": 5}
    dirty[1]["events"].append("no object")
    dirty[3]["events"] = []
    (data / "metadata.json").write_text(json.dumps(dirty))
    loaded = BENCHMARK.load(data)
    assert loaded.problems == {
        "captions whose video is missing": 4,
        "visual elements of an unknown type, counted in the total only": 1,
        "visual elements without a weight, which count for nothing": 1,
        "visual elements with a weight other than 1, 2, 3": 1,
        "annotated events that are not objects": 1,
        "captions without annotated events: not scored": 1,
    }
    scored = scored_by_id(loaded, BENCHMARK.score(loaded.questions, said(), "vmmetrics", data / "result.json"))
    assert scored["TUNA_0001"].parts["recall"] == pytest.approx(3 / (3 + 5 + 1))  # the ball's colour weighs nothing
    assert scored["TUNA_0004"].value is None


def test_the_released_scorer_cell_by_cell(data: Path) -> None:
    loaded = BENCHMARK.load(data)
    answers = BENCHMARK.read_answers(data / "result.json")
    scored = BENCHMARK.score(loaded.questions, answers, "upstream", data / "result.json")
    found = cells(BENCHMARK.figures(loaded.questions, scored, "upstream"))
    assert len(found) == 5 * 5 * 3
    for (group, name, measure), figure in found.items():
        place = ("precision", "recall", "f1").index(measure)
        assert figure.value == SUMMARY.get((group, name), (None, None, None))[place], (group, name, measure)
    assert [one.value for one in scored] == [0.429, 0, 1, None]
    assert found["all", "all", "f1"].note == "1 left out: the judgement is not of the annotated events"


def test_the_released_scorer_never_looks_at_the_captions(data: Path) -> None:
    loaded = BENCHMARK.load(data)
    other = said({"TUNA_0001": "Something else.", "1": "By the table's number."})
    scored = BENCHMARK.score(loaded.questions, other, "upstream", str(data / "result.json"))
    assert [one.value for one in scored] == [0.429, 0, 1, None]
    records = [{**record, "index": number} for number, record in enumerate(files.RECORDS)]
    (data / "result.json").write_text(json.dumps(records))  # converted from the table: it matches nothing
    scored = BENCHMARK.score(loaded.questions, other, "upstream", data / "result.json")
    assert [one.value for one in scored] == [None] * 4


def test_ours_with_a_recorded_judge(data: Path) -> None:
    loaded = BENCHMARK.load(data)
    scored = BENCHMARK.score(loaded.questions, said(), "vmmetrics", data / "result.json")
    found = scored_by_id(loaded, scored)
    assert {key: one.value for key, one in found.items()} == pytest.approx(F1 | {"TUNA_0004": None})
    assert [one.answered for one in scored] == [True, True, True, False]
    assert [one.parts.get("hallucination") for one in scored] == [pytest.approx(1 / 3), 0, 0.5, None]
    assert found["TUNA_0003"].detail["mended"] == {"matches against the order of time, taken back": 1}
    assert found["TUNA_0004"].detail == {"why": "the judgement is not of the annotated events"}
    figures = cells(BENCHMARK.figures(loaded.questions, scored, "vmmetrics"))
    every = figures["all", "all", "f1"]
    assert every.value == pytest.approx(sum(F1.values()) / 3)
    assert every.n == 3
    assert "1 left out: the judgement is not of the annotated events" in every.note
    assert figures["all", "all", "hallucination"].value == pytest.approx((1 / 3 + 0 + 0.5) / 3)
    assert (figures["element type", "scene", "recall"].value, figures["element type", "scene", "recall"].n) == (0, 1)
    assert figures["characteristic", "High-Dynamic", "f1"].value == pytest.approx((F1["TUNA_0001"] + 2 / 3) / 2)
    assert figures["characteristic and element type", "High-Dynamic / camera", "f1"].n == 1
    assert figures["domain", "Cityscape", "f1"].n == 2
    json.dumps([one.detail for one in scored])


def test_captions_by_the_number_of_the_table_are_found(data: Path) -> None:
    """What the released converter makes of the released runner's table, whose empty cells are NaN."""
    numbered = dict(enumerate(files.CAPTIONS.values()))
    path = data / "submission.json"
    path.write_text(json.dumps(numbered | {1: float("nan")}))
    loaded = BENCHMARK.load(data)
    assert released_answers(BENCHMARK.read_answers, path, loaded.questions) == files.CAPTIONS | {"TUNA_0002": ""}
    scored = BENCHMARK.score(loaded.questions, BENCHMARK.read_answers(path), "vmmetrics", data / "result.json")
    assert [one.value for one in scored] == pytest.approx([F1["TUNA_0001"], 0, F1["TUNA_0003"], None])
    path.write_text(json.dumps({number + 1: text for number, text in numbered.items()}))
    assert released_answers(BENCHMARK.read_answers, path, loaded.questions) is None  # one off would be wrong for all
    path.write_text(json.dumps({"TUNA_0002": numbered[1], "0": numbered[0], "2": 7, "3": {}}))
    found = released_answers(BENCHMARK.read_answers, path, loaded.questions)
    assert found == {key: files.CAPTIONS[key] for key in ("TUNA_0001", "TUNA_0002")}


def test_a_part_of_the_table_keeps_its_numbers(data: Path) -> None:
    (data / "metadata.json").unlink()
    with (data / "TUNA_CAP.tsv").open("w") as file:
        file.write("index\tvideo\tquestion\n2\tclip2\tTell.\n3\tclip3\tTell.\n")
    answers = {str(number): text for number, text in enumerate(files.CAPTIONS.values()) if number != 3}
    found = EntriesByQuestion(answers, questions := BENCHMARK.load(data).questions)
    assert [found.of(question) for question in questions] == [answers["2"], None]


def test_a_table_without_numbers_is_counted(data: Path) -> None:
    lines = (data / "TUNA_CAP.tsv").read_text().splitlines()
    (data / "TUNA_CAP.tsv").write_text("\r\n".join(line.partition("\t")[2] for line in lines), "utf-8-sig")
    found = [(question.id, question.video) for question in BENCHMARK.load(data).questions]
    assert found == [(key, f"clip{number}") for number, key in enumerate(files.CAPTIONS)]


def test_no_caption_is_0_and_no_judgement_is_no_score(data: Path) -> None:
    loaded = BENCHMARK.load(data)
    answers = said() | {"TUNA_0002": Answered("TUNA_0002", "A cat", error="cut off")}
    answers["TUNA_0003"] = Answered("TUNA_0003", "Two men run and run.")
    (data / "result.json").write_text(json.dumps(files.RECORDS[1:]))
    scored = BENCHMARK.score(loaded.questions, answers, "vmmetrics", data / "result.json")
    assert [one.value for one in scored] == [None, 0, None, None]
    assert [one.answered for one in scored] == [False] * 4
    assert [one.detail["why"] for one in scored] == [
        "the recorded judge has no judgement of it",
        "there is no caption",
        "the recorded judge judged another caption",
        "the judgement is not of the annotated events",
    ]
    figures = cells(BENCHMARK.figures(loaded.questions, scored, "vmmetrics"))
    assert (figures["all", "all", "f1"].value, figures["all", "all", "f1"].n) == (0, 1)
    assert figures["all", "all", "answered_f1"].value is None
    assert figures["all", "all", "answered_f1"].note == "nothing was answered"
    nothing = BENCHMARK.figures(loaded.questions[:1], scored[:1], "vmmetrics")[0]
    assert nothing.note == "1 left out: the recorded judge has no judgement of it; nothing was scored"
    wordless = BENCHMARK.score(loaded.questions, said({"TUNA_0001": " ...\n!"}), "vmmetrics", data / "result.json")
    assert (wordless[0].value, wordless[0].detail["why"]) == (0, "there is no caption")


def test_reasons_are_told_as_far_as_they_are_frequent(data: Path) -> None:
    loaded = BENCHMARK.load(data)
    scored = [
        Scored(f"{n}", None, answered=False, detail={"why": f"match: got {n}" if n > 2 else "split: refused"})
        for n in range(40)
    ]
    note = BENCHMARK.figures(loaded.questions * 10, scored, "vmmetrics")[0].note
    assert note.startswith("3 left out: split: refused; 1 left out: match: got 3; ")
    assert "33 for other reasons, in scores.jsonl" in note
    assert "got 39" not in note


def test_labels_that_cannot_be_read_are_no_score(data: Path) -> None:
    records = [{**record, "relationship": files.judged(["yes", "no"], ["?", None])} for record in files.RECORDS]
    (data / "result.json").write_text(json.dumps(records))
    loaded = BENCHMARK.load(data)
    scored = BENCHMARK.score(loaded.questions, said(), "vmmetrics", data / "result.json")[0]
    assert (scored.value, scored.detail["why"]) == (None, "no label of the judgement can be read")


def test_the_released_scorer_adds_up_in_the_order_of_its_file(tmp_path: Path) -> None:
    """Recalls of 0, 1/9, 2/9 and 1/8 have a mean of .1145 exactly: how it is rounded depends on their order."""
    annotations, records = [], []
    for number, (entailed, lacking) in enumerate([(0, 1), (1, 8), (1, 7), (2, 7)]):
        elements = [files.element("x", "scene", entailed), files.element("y", "scene", lacking)]
        event = {"event": "e", "visual_elements": elements}
        annotations.append({"index": f"{number}", "visual_characteristic": "Low-Dynamic", "events": [event]})
        records.append({"index": f"{number}", "relationship": files.judged(["entailment", "lack"])})
    (tmp_path / "metadata.json").write_text(json.dumps(annotations))
    loaded = BENCHMARK.load(tmp_path / "metadata.json")
    found = []
    for order in ((0, 1, 2, 3), (0, 1, 3, 2)):
        (tmp_path / "result.json").write_text(json.dumps([records[place] for place in order]))
        scored = BENCHMARK.score(loaded.questions, {}, "upstream", tmp_path / "result.json")
        found.append(cells(BENCHMARK.figures(loaded.questions, scored, "upstream"))["all", "all", "recall"].value)
    assert found == [0.114, 0.115]


@pytest.mark.parametrize(
    ("pairs", "reordered"),
    [
        ([[1, 0], [2, 7], [3, None]], 1.0),
        ([[1, 1]], 2 / 3),
        ("none", None),
        ([[1, 1], [2, 1, 1], "x", None], 2 / 3),
        ([["1", "1"], [2.0, 1.0], ["3", "None"]], 1 / 3),
        ([["one", 1], [None, 2], [True, 1]], None),
    ],
)
def test_numbers_of_no_event_match_nothing_and_no_number_is_no_match(
    data: Path, pairs: Any, reordered: float | None
) -> None:
    records = deepcopy(files.RECORDS)
    records[0]["match_ids"] = pairs
    (data / "result.json").write_text(json.dumps(records))
    loaded = BENCHMARK.load(data)
    scored = BENCHMARK.score(loaded.questions, said(), "vmmetrics", data / "result.json")
    assert scored[0].parts.get("hallucination") == (None if reordered is None else pytest.approx(reordered))
    assert scored[0].value == pytest.approx(0 if reordered == 1 else F1["TUNA_0001"])


def test_judge_files_that_are_none(data: Path) -> None:
    loaded = BENCHMARK.load(data)
    with pytest.raises(SetupError, match="need a judge"):
        BENCHMARK.score(loaded.questions, said(), "vmmetrics")
    with pytest.raises(SetupError, match="no judgements"):
        BENCHMARK.score(loaded.questions, said(), "vmmetrics", data / "metadata.json")
    (data / "other.json").write_text(json.dumps([{"index": "x7", "relationship": []}]))
    with pytest.raises(SetupError, match="index looks like 'x7', the captions' like 'TUNA_0001'"):
        BENCHMARK.score(loaded.questions, said(), "vmmetrics", data / "other.json")
    with pytest.raises(SetupError, match="Cannot read"):
        BENCHMARK.score(loaded.questions, said(), "vmmetrics", data / "nowhere.json")


def test_published_rows() -> None:
    assert all(len(reference.figures) == 3 * (1 + 4 + 4) for reference in BENCHMARK.references)
    for reference in BENCHMARK.references:  # 340 low-dynamic videos and 660 high-dynamic ones are all there are
        for measure in ("precision", "recall", "f1"):
            low, high = (reference.figures[measure, "characteristic", f"{name}-Dynamic"] for name in ("Low", "High"))
            assert 0.34 * low + 0.66 * high == pytest.approx(reference.figures[measure, "all", "all"], abs=0.0011)
