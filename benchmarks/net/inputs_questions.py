"""Small files in the forms of the benchmarks of video language models; all questions are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.net.case import Input
from benchmarks.net.inputs import data, drawn, film, lines, table, text

TEXTS = (
    "(A) it does", "The answer is B", "C. it does C", "D", "**A**", "no idea", "", "b)", "A man falls", "it shakes",
    "Based on the frames, D",
)  # fmt: skip


def said(*words: object) -> str:
    """Return something that a model might say."""
    return TEXTS[drawn(*words, most=len(TEXTS))]


def films(names: list[str], folder: str = "") -> Input:
    """Place a small film for each name."""

    def place(into: Path) -> None:
        for number, name in enumerate(names):
            film(f"{folder}{name}.mp4", seed=number % 5)(into)

    return place


def motionbench(name: str = "mb/video_info.meta.jsonl") -> Input:
    kinds = ("Motion Recognition", "Camera Motion", "Action Order", "Repetition Count", "Location-related Motion",
             "Motion-related Objects")  # fmt: skip
    rows = []
    for n in range(14):
        options = "\n".join(f"{letter}. it does {letter}" for letter in "ABCDEF"[: 4 + n % 3])
        key = "NA" if n % 5 == 4 else "ABCD"[drawn("mb", n, most=4)]
        question = {"uid": f"u{n}_0", "question": f"What does it do?\n{options}", "answer": key}
        rows.append({"question_type": kinds[n % 6], "key": f"v{n}", "video_path": f"v{n}.mp4", "qa": [question],
                     "video_info": {"duration": 5, "fps": 10}})  # fmt: skip
    return lines(name, rows)


MB_KEYS = [f"u{n}_0" for n in range(14)]


def recorded_maps(keys: list[str]) -> tuple[Input, ...]:
    """Place recorded answers in the forms that are read: a mapping, lines, rows, tables."""
    rows = [{"id": key, "prediction": said(key), "raw_response": said(key, "raw")} for key in keys]
    return (
        data("said/map.json", {key: said(key) for key in keys[:-1]}),
        lines("said/lines.jsonl", [{key: said(key)} for key in keys] + [{keys[0]: "C"}]),
        data("said/rows.json", rows),
        table("said/rows.csv", rows),
        table("said/rows.tsv", [{"key": row["id"], "output": row["raw_response"]} for row in rows], "\t"),
        text("said/torn.jsonl", "".join(json.dumps(row) + "\n" for row in rows) + '{"id": "u0'),
        text("said/none.json", "[]"),
    )


def fpsbench_row(n: int) -> dict[str, Any]:
    kinds = ("instance_count", "action_order", "repetition_count")
    choices = {"A": "once", "B": "twice", "C": "three times", "D": "four times", "E": "None of the above"}
    answer, begin = "ABCDE"[drawn("fps", n, most=5)], 10.0 * n
    times = {
        "clip_start_sec": begin, "clip_end_sec": begin + 2.0, "clip_duration_sec": 2.0,
        "temporal_certificate_start_sec": begin + 0.5, "temporal_certificate_end_sec": begin + 1.5,
        "temporal_certificate_duration_sec": 1.0, "raw_clip_range": "", "raw_temporal_certificate": "",
    }  # fmt: skip
    return {
        "id": f"fpsbench_{n:06d}", "version": "1.0.0", "split": "test", "time": times,
        "source": {"dataset": "made", "platform": "youtube", "video_id": f"video{n // 2}", "url": "https://x"},
        "question": {"text": f"How often does part {n} blink?", "type": kinds[n % 3], "choices": choices,
                     "answer": answer, "answer_text": choices[answer]},
        "temporal_requirements": {"min_fps": (2, 4, 7, 7.5, 12, 30)[n % 6], "min_required_frames_for_certificate": 18,
                                  "native_fps": None},
        "categories": {"task_category": kinds[n % 3], "visual_domain": ("Vehicles", "Miscellaneous")[n % 2],
                       "visual_domain_fine": "x", "visual_subdomain": "Ground", "source_video_category": None},
        "metadata": {"original_row_id": n, "source_dataset": "made"},
    }  # fmt: skip


def fpsbench(folder: str = "fps", key: bool = True) -> Input:
    rows = [fpsbench_row(n) for n in range(12)]
    for row in rows if not key else []:
        row["question"] = {name: v for name, v in row["question"].items() if not name.startswith("answer")}
    return lines(f"{folder}/fpsbench_v1.jsonl", rows)


FPS_KEYS = [f"fpsbench_{n:06d}" for n in range(12)]

FAVOR_OPTIONS = ["walks", "walks left", "Walks left, then sits", "runs", " sits down."]
FAVOR_VIDEOS = ("7R8ZU.mp4", "P01|ego_3.mp4", "AB123", "QQ7.mp4")
FAVOR_TASKS = ("AS", "HAC", "SAD", "MAD", "CM", "NSM")


def favor_rows() -> list[dict[str, Any]]:
    return [
        {"video_name": name, "questions": [
            {"question": f"What happens {v}{q}?", "options": FAVOR_OPTIONS, "task_type": FAVOR_TASKS[(v + q) % 6],
             "correct_answer": FAVOR_OPTIONS[drawn(name, q, most=5)].strip()} for q in range(4)]}
        for v, name in enumerate(FAVOR_VIDEOS)
    ]  # fmt: skip


FAVOR_KEYS = [f"{name.removesuffix('.mp4')}_{q}" for name in FAVOR_VIDEOS for q in range(4)]


def favor_flat() -> list[dict[str, Any]]:
    rows = [(row["video_name"], item) for row in favor_rows() for item in row["questions"]]
    return [
        {"question_key": key, "video_name": name, **item} for key, (name, item) in zip(FAVOR_KEYS, rows, strict=True)
    ]


FAVOR_GT = {
    "AB123": {
        "caption": "The camera pans left. A man opens the door, walks in and sits down.",
        "camera_motion": "Pans left",
        "motion_list": "Subject 1: Man [Opens the door, Walks in, Sits down]",
        "chronological_motion_list": "Opens the door (Subject 1), Walks in (Subject 1), Sits down (Subject 1)",
    },
    "P01|ego_1": {
        "caption": "First-person view. The subject washes a plate and a woman laughs.",
        "camera_motion": "First-person",
        "motion_list": "Subject1: First-person subject [Washes a plate] Subject2: Woman [Laughs]",
        "chronological_motion_list": "Washes a plate (Subject1), Laughs (Subject2)",
    },
    "C9": {
        "caption": "Two dogs chase a ball; a boy kicks it. The camera zooms in, then shakes.",
        "camera_motion": "Zooms in, Shakes",
        "motion_list": "Subject 1: Two dogs [Chase a ball] Subject 2: Boy [Kicks the ball]",
        "chronological_motion_list": "Kicks the ball (Subject 2), Chase a ball (Subject 1)",
    },
}
FAVOR_CAPTIONS = {
    "AB123": "**Scene:** A guy walks through a door.\n- He opens the door\n- He sits. The camera moves to the left.",
    "P01|ego_1": "A woman is laughing while somebody is washing dishes, seen from their own eyes.",
    "C9": "I'm sorry, but I can't help with that.",
}

OPTIONS = ["it pans left", "it's still, then tilts", 'it "zooms" in', "it shakes"]
TUNA_TASKS = (
    ("Camera Motion", "Camera State", "High-Dynamic,Multi-Scene"), ("Action Sequence", "Subject Action", "Low-Dynamic"),
    ("Scene Transition", "Background Scene", "High-Dynamic"),
    ("Camera Motion", "Camera State", "High-Dynamic,Multi-Subject"),
)  # fmt: skip


def tuna_mcq_rows() -> list[dict[str, Any]]:
    return [
        {"index": n, "video_index": f"TUNA_{n // 2 + 1:04d}", "video": f"clip{n // 2}",
         "video_path": f"./video/clip{n // 2}.mp4", "visual_characteristic": TUNA_TASKS[n % 4][2],
         "skill": TUNA_TASKS[n % 4][1], "task": TUNA_TASKS[n % 4][0], "question": f"What happens in {n}?",
         "answer": "ABCD"[drawn("tuna", n, most=4)], "candidates": OPTIONS}
        for n in range(16)
    ]  # fmt: skip


def _event(what: str, *elements: tuple[str, str, int]) -> dict[str, Any]:
    found = [{"content": content, "type": kind, "weight": weight} for content, kind, weight in elements]
    return {"event": what, "visual_elements": found}


def _judged(*events: list[str]) -> list[dict[str, Any]]:
    return [
        {"candidate_event": "x", "visual_elements": [{"content": "y", "relationship": label} for label in event]}
        for event in events
    ]


TUNA_GT: list[dict[str, Any]] = [
    {"index": "TUNA_0001", "visual_characteristic": "High-Dynamic,Multi-Scene", "events": [
        _event("A red ball rolls.", ("a ball rolls", "action", 3), ("the ball is red", "attribute", 2)),
        _event("The camera pans to a yard.", ("the camera pans", "camera", 3), ("a yard", "scene", 1))]},
    {"index": "TUNA_0002", "visual_characteristic": "Low-Dynamic", "events": [
        _event("A cat sleeps.", ("a cat sleeps", "action", 2))]},
    {"index": "TUNA_0003", "visual_characteristic": "High-Dynamic,Multi-Subject", "events": [
        _event("Two men run.", ("two men run", "action", 3)), _event("They stop.", ("they stop", "action", 3))]},
]  # fmt: skip
TUNA_CAPTIONS = {
    "TUNA_0001": "A ball rolls. The ball is not red. Birds sing.",
    "TUNA_0002": "A cat sleeps.",
    "TUNA_0003": "They stop. Two men run.",
}
TUNA_JUDGED = [
    {"index": key, "candidate_caption": TUNA_CAPTIONS[key], "candidate_events": events, "match_ids": matched,
     "relationship": labels}
    for key, events, matched, labels in (
        ("TUNA_0001", ["A ball rolls.", "The ball is not red.", "Birds sing."], [[1, 1], [2, 1], [3, None]],
         _judged(["entailment", "contradiction"], ["lack", "lack"])),
        ("TUNA_0002", ["A cat sleeps."], [[1, 1]], _judged(["Entailment"])),
        ("TUNA_0003", ["They stop.", "Two men run."], [[1, 2], [2, 1]], _judged(["entailment"], ["entailment"])),
    )
]  # fmt: skip
TUNA_CAP_ROWS = [
    {"index": n, "video": f"clip{n}", "video_path": f"./video/clip{n}.mp4", "domain": ("City", "Food")[n % 2],
     "visual_characteristic": row["visual_characteristic"], "question": "Tell what you see."}
    for n, row in enumerate(TUNA_GT)
]  # fmt: skip

CUSTOM = [
    {"id": f"c{n}", "video": f"v{n // 2}", "text": f"Which way goes part {n}?", "answer": "ABC"[drawn("c", n, most=3)],
     "options": ["to the left", "to the right", "nowhere"], "path": f"v{n // 2}.mp4",
     "groups": {"task": ["CM", "AS"][n % 2 :], "kind": "x"}, **({"start": 0.2, "end": 1.5} if n % 4 == 0 else {})}
    for n in range(10)
]  # fmt: skip
CUSTOM_KEYS = [row["id"] for row in CUSTOM]
