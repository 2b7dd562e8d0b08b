"""Small files in TUNA-CAP's released formats, and a judge that goes by words."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vmmetrics.models.questions import Answered


def element(content: str, kind: str, weight: int) -> dict[str, Any]:
    return {"content": content, "type": kind, "weight": weight}


def judged(*events: list[Any]) -> list[dict[str, Any]]:
    return [
        {"candidate_event": "x", "visual_elements": [{"content": "y", "relationship": label} for label in event]}
        for event in events
    ]


ANNOTATIONS: list[dict[str, Any]] = [
    {
        "index": "TUNA_0001",
        "visual_characteristic": "High-Dynamic,Multi-Scene",
        "events": [
            {
                "event": "A red ball rolls.",
                "visual_elements": [element("a ball rolls", "action", 3), element("the ball is red", "attribute", 2)],
            },
            {
                "event": "The camera pans to a yard.",
                "visual_elements": [element("the camera pans", "camera", 3), element("a yard", "scene", 1)],
            },
        ],
    },
    {
        "index": "TUNA_0002",
        "visual_characteristic": "Low-Dynamic",
        "events": [{"event": "A cat sleeps.", "visual_elements": [element("a cat sleeps", "action", 2)]}],
    },
    {
        "index": "TUNA_0003",
        "visual_characteristic": "High-Dynamic,Multi-Subject",
        "events": [
            {"event": "Two men run.", "visual_elements": [element("two men run", "action", 3)]},
            {"event": "They stop.", "visual_elements": [element("they stop", "action", 3)]},
        ],
    },
    {
        "index": "TUNA_0004",
        "visual_characteristic": "Low-Dynamic,Multi-Scene",
        "events": [{"event": "It rains.", "visual_elements": [element("it rains", "scene", 1)]}],
    },
]
CAPTIONS = {
    "TUNA_0001": "A ball rolls. The ball is not red. Birds sing.",
    "TUNA_0002": "A cat sleeps.",
    "TUNA_0003": "They stop. Two men run.",
    "TUNA_0004": "It snows.",
}
RECORDS: list[dict[str, Any]] = [
    {
        "index": "TUNA_0001",
        "candidate_caption": CAPTIONS["TUNA_0001"],
        "candidate_events": ["A ball rolls.", "The ball is not red.", "Birds sing."],
        "match_ids": [[1, 1], [2, 1], [3, None]],
        "relationship": judged(["entailment", "contradiction"], ["lack", "lack"]),
    },
    {
        "index": "TUNA_0002",
        "candidate_caption": CAPTIONS["TUNA_0002"],
        "candidate_events": ["A cat sleeps."],
        "match_ids": [[1, 1]],
        "relationship": judged(["Entailment"]),
    },
    {
        "index": "TUNA_0003",
        "candidate_caption": CAPTIONS["TUNA_0003"],
        "candidate_events": ["They stop.", "Two men run."],
        "match_ids": [[1, 2], [2, 1]],
        "relationship": judged(["entailment"], ["entailment"]),
    },
    {
        "index": "TUNA_0004",
        "candidate_caption": CAPTIONS["TUNA_0004"],
        "candidate_events": ["It snows."],
        "match_ids": [[1, 1]],
        "relationship": [],
    },
]
ROWS = [
    {
        "index": number,
        "video": f"clip{number}",
        "video_path": f"./video/clip{number}.mp4",
        "visual_characteristic": annotation["visual_characteristic"],
        "domain": ("Cityscape", "Foods")[number % 2],
        "question": "Tell what you see.",
    }
    for number, annotation in enumerate(ANNOTATIONS)
]


F1 = {
    "TUNA_0001": 2 * 3 / (5 + 9),
    "TUNA_0002": 1.0,
    "TUNA_0003": 2 / 3,
    "TUNA_0004": 0.0,
}  # of the captions, as ours has it, by hand


def write_all(folder: Path) -> None:
    """The table, the annotations and the intermediate file."""
    (folder / "metadata.json").write_text(json.dumps(ANNOTATIONS))
    (folder / "result.json").write_text(json.dumps(RECORDS))
    with (folder / "TUNA_CAP.tsv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(ROWS[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows(ROWS)


def said(captions: Mapping[str, str] = CAPTIONS) -> dict[str, Answered]:
    """Captions as answers."""
    return {key: Answered(key, text) for key, text in captions.items()}


def stage_of(body: dict[str, Any]) -> str:
    """What a request asks for: split, match or classify."""
    shown = payload_of(body)
    return {"description": "split", "candidate events": "match", "events": "classify"}[next(iter(shown))]


def payload_of(body: dict[str, Any]) -> dict[str, Any]:
    """The JSON object in a request's first question."""
    text = next(message["content"] for message in body["messages"] if message["role"] == "user")
    found: dict[str, Any] = json.loads(text[text.index("\n\n{") :])
    return found


def by_words(body: dict[str, Any]) -> dict[str, Any]:
    """A literal judge: sentences are events, they match by a shared long word, and "not" contradicts."""
    shown = payload_of(body)
    answers: dict[str, Callable[[], dict[str, Any]]] = {
        "split": lambda: {"events": re.findall(r"\S[^.]*\.", shown["description"])},
        "match": lambda: {"pairs": _matched(shown["candidate events"], shown["reference events"])},
        "classify": lambda: {"events": [_classified(event) for event in shown["events"]]},
    }
    return answers[stage_of(body)]()


def _matched(candidates: list[dict[str, Any]], references: list[dict[str, Any]]) -> list[dict[str, Any]]:
    def long(text: str) -> set[str]:
        return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 2 and word != "the"}

    return [
        {
            "candidate": one["event"],
            "reference": next((r["event"] for r in references if long(r["text"]) & long(one["text"])), None),
        }
        for one in candidates
    ]


def _classified(event: dict[str, Any]) -> dict[str, Any]:
    said = event["candidate"].lower()
    labels = [
        "entailment" if one["text"] in said else "contradiction" if "not " in said else "lack"
        for one in event["elements"]
    ]
    return {
        "event": event["event"],
        "elements": [{"element": number, "relationship": label} for number, label in enumerate(labels, 1)],
    }
