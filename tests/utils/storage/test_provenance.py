from __future__ import annotations

from pathlib import Path

from vmmetrics.utils.storage.provenance import decisive_versions, differences, machine, source_hash


def test_code_that_decides_scores_names_a_checkout(tmp_path: Path) -> None:
    for name in ("functional/pas.py", "cli/main.py", "scoring/suite.py", "utils/text/words.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    before = source_hash(tmp_path)
    (tmp_path / "cli" / "main.py").write_text("x = 2\n")
    assert source_hash(tmp_path) == before
    for name in ("functional/pas.py", "utils/text/words.py"):  # the latter finds a clip's subject
        (tmp_path / name).write_text("x = 2\n")
        assert source_hash(tmp_path) != before
        before = source_hash(tmp_path)


def test_versions_that_decide_and_the_machine() -> None:
    assert {"vmmetrics", "av", "pillow", "ai-edge-litert"} <= decisive_versions().keys()
    assert machine()["cpus"] >= 1
    assert machine()["processor"]


def test_differences_are_named_by_their_place() -> None:
    ours, theirs = {"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 1, "c": 5}, "e": "x" * 99}
    assert differences(ours, theirs) == [
        "a.c: 2 (now), 5 (the run)",
        "d: 3 (now), absent (the run)",
        f"e: absent (now), {'x' * 57}... (the run)",
    ]
    assert differences(ours, ours) == []
