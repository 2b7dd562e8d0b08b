"""A folder of one process and one configuration, whatever it holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.utils.storage.job_folder import ExclusiveFolder, check_folder
from vmmetrics.utils.storage.journal import Journal


class Things(ExclusiveFolder):
    HOLDS, RECORD, LOCK = "things", "things.json", "things.lock"

    def _read(self) -> None:
        self.lines = self._lines(Journal(self.path / "lines.jsonl"))


def test_a_folder_is_gone_on_with_as_it_was_begun(tmp_path: Path) -> None:
    with Things(tmp_path / "new", {"a": (1, 2)}) as begun:
        assert begun.record == {"format": 1, "configuration": {"a": [1, 2]}}
    (tmp_path / "new" / "lines.jsonl").write_text('{"n": 1}\nnot json\n{"n": 2}\n{"torn')
    with Things(tmp_path / "new", {"a": [1, 2]}) as folder:
        assert folder.lines == [{"n": 1}, {"n": 2}]
        assert folder.warnings == [
            "lines.jsonl: cut 6 bytes of an unfinished line",
            "lines.jsonl line 2 is damaged and was skipped (not JSON: Expecting value: line 1 column 1 (char 0))",
        ]
    with pytest.raises(SetupError, match=r"other settings:\n  a: 3 \(now\), \[1, 2\]"):
        Things(tmp_path / "new", {"a": 3})
    with Things(tmp_path / "new", {"a": [1, 2]}):  # whoever is refused leaves no lock behind
        pass


def test_a_folder_is_tried_and_nothing_is_left_of_it(tmp_path: Path) -> None:
    Things.check(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "there").mkdir()
    Things.check(tmp_path / "there")
    assert list((tmp_path / "there").iterdir()) == []
    (tmp_path / "file").write_text("")
    for wrong in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(SetupError, match=r"^Cannot write things to .*: Not a directory$"):
            Things.check(wrong)
    (tmp_path / "there" / "theirs.txt").write_text("")
    with pytest.raises(SetupError, match="holds other files and no things"):
        Things.check(tmp_path / "there")
    check_folder(tmp_path / "there")  # where other files may lie


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_disk_is_said_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: Path("/dev/full").open("wb"))  # noqa: SIM115
    with pytest.raises(SetupError, match=r"^Cannot write things to .*: No space left on device$"):
        Things.check(tmp_path)


@pytest.mark.parametrize("text", ["", "[1]", "{}", '{"format": 1}', '{"format": 1, "configuration": 3}'])
def test_a_damaged_record_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "things.json").write_text(text)
    with pytest.raises(SetupError, match=r"things\.json(,| cannot be read as JSON:) "):
        Things(tmp_path, {})


def test_a_record_of_another_version_is_said(tmp_path: Path) -> None:
    (tmp_path / "things.json").write_text(json.dumps({"format": 2, "configuration": {}}))
    with pytest.raises(SetupError, match=r"another version .*format 1"):
        Things(tmp_path, {})


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    for name in ("things.lock", "replies", ".hidden"):  # what a start that was killed at once leaves
        (tmp_path / name).touch()
    Things(tmp_path, {}).close()
    (tmp_path / "things.json").unlink()
    (tmp_path / "lines.jsonl").touch()
    with pytest.raises(SetupError, match="other files and no things"):
        Things(tmp_path, {})
    with pytest.raises(SetupError, match="Cannot write things"):
        Things(tmp_path / "lines.jsonl" / "below", {})
