"""Clips from a command template: layout, resuming, sharing, failures, and that no prompt becomes a command."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.prompts.clips.folder import jobs_of, plan_of, seed_of, select
from vmmetrics.prompts.clips.makers import CommandMaker
from vmmetrics.prompts.entry import PromptEntry, Tags
from vmmetrics.prompts.files import read_entries, write_entries
from vmmetrics.scoring.tasks import tasks_of_paths
from vmmetrics.video.discover import discover
from vmmetrics.video.prompts import Prompts

_spec = importlib.util.spec_from_file_location("clips_conftest", Path(__file__).with_name("conftest.py"))
assert _spec and _spec.loader
shared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(shared)
Generate = shared.Generate


def lines(folder: Path, kind: str = "clip") -> list[dict[str, Any]]:
    told = [json.loads(line) for line in (folder / "generation.jsonl").read_text().splitlines()]
    return [line for line in told if line["kind"] == kind]


def runs(tmp_path: Path) -> list[Any]:
    log = tmp_path / "LOG"
    return [eval(line) for line in log.read_text().splitlines()] if log.exists() else []  # noqa: S307 - our own repr


def test_scoring_finds_each_clip_s_prompt_subject_and_tags(
    tmp_path: Path, prompts: Path, program: str, generate_clips: Generate
) -> None:
    done = generate_clips("--prompts", prompts, "--out", "clips", "--command", program)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "clips"
    listed = {e.index: e for e in read_entries(prompts)}
    sources = discover([folder])
    assert [s.name for s in sources] == [f"{i}.mp4" for i in listed]
    found = Prompts()
    for source in sources:
        entry, known = listed[Path(source.name).stem], found.lookup(source)
        assert known.prompt is not None and known.prompt.split() == entry.prompt.split() and known.source == "list"
        assert known.subject is not None and known.subject.noun == entry.subject_noun
        assert known.tags.get("pattern") == entry.pattern
        assert known.tags.get("skeleton") == (entry.tags.skeleton if entry.tags else None)
    tasks, unmatched = tasks_of_paths([folder], ("tcs",), None, None)
    assert len(tasks) == 4 and not unmatched


def test_a_prompt_is_one_argument_and_never_a_command(
    tmp_path: Path, prompts: Path, program: str, generate_clips: Generate
) -> None:
    assert generate_clips("--prompts", prompts, "--out", "clips", "--command", program).returncode == 0
    told = [(e.prompt, seed_of(0, e.index, 1)) for e in read_entries(prompts)]
    assert runs(tmp_path) == told
    assert not list(tmp_path.rglob("pwned"))


def test_the_journal_says_what_made_each_clip(
    tmp_path: Path, prompts: Path, program: str, generate_clips: Generate
) -> None:
    generate_clips("--prompts", prompts, "--out", "clips", "--command", program, "--seed", 7)
    folder = tmp_path / "clips"
    (session,) = lines(folder, "session")
    assert "--prompt={prompt}" in session["configuration"]["command"] and session["configuration"]["seed"] == 7
    for line in lines(folder):
        data = (folder / line["clip"]).read_bytes()
        assert line["sha256"] == hashlib.sha256(data).hexdigest() and line["bytes"] == len(data)
        assert (line["frames"], line["fps"], line["width"], line["height"]) == (6, 8.0, 64, 48)
        assert line["session"] == session["session"] and line["seed"] == seed_of(7, line["index"], 1)
        assert line["seconds"] > 0


def test_several_samples_have_seeds_and_entries_of_their_own(
    tmp_path: Path, prompts: Path, program: str, generate_clips: Generate
) -> None:
    more = ("--prompts", prompts, "--out", "clips", "--command", program, "--samples", 2)
    assert generate_clips(*more, "--limit", 2).returncode == 0
    folder = tmp_path / "clips"
    names = ["0001-1.mp4", "0001-2.mp4", "0002-1.mp4", "0002-2.mp4"]
    assert sorted(p.name for p in folder.glob("*.mp4")) == names
    assert len({seed for _, seed in runs(tmp_path)}) == 4
    assert [line["clip"] for line in lines(folder)] == ["0001-1.mp4", "0002-1.mp4", "0001-2.mp4", "0002-2.mp4"]
    found = Prompts()
    assert [found.lookup(s).subject.noun for s in discover([folder])] == ["kite", "kite", "man", "man"]  # type: ignore[union-attr]


def test_a_failure_is_recorded_and_the_others_go_on(tmp_path: Path, program: str, generate_clips: Generate) -> None:
    texts = ("It FAILS here.", "It is EMPTY.", "It is GARBAGE.", "It DIES.", "It is STILL.", "NUL \0 here.", "A kite.")
    write_entries(tmp_path / "l.jsonl", [shared.entry(n, text) for n, text in enumerate(texts, start=1)])
    done = generate_clips("--prompts", "l.jsonl", "--out", "clips", "--command", program)
    assert done.returncode == 3
    errors = {line["index"]: line.get("error", "") for line in lines(tmp_path / "clips")}
    says = ("ended with code 1: before", "no clip was written", "", "SIGKILL", "single frame", "cannot be run", "")
    for number, part in enumerate(says, start=1):
        assert part in errors[f"{number:04d}"]
    assert errors["0003"] and not errors["0007"]
    assert [p.name for p in (tmp_path / "clips").glob("*.mp4")] == ["0007.mp4"]
    assert "\x1b" not in done.stderr and done.stderr.count("failed: ") == 6
    assert not list((tmp_path / "clips" / ".making").iterdir())


def test_running_again_makes_what_is_missing_and_tries_failures_once_more(
    tmp_path: Path, program: str, generate_clips: Generate
) -> None:
    write_entries(
        tmp_path / "l.json", [shared.entry(1, "A kite."), shared.entry(2, "FAILS."), shared.entry(3, "A car.")]
    )
    more = ("--prompts", "l.json", "--out", "clips", "--command", program)
    assert generate_clips(*more).returncode == 3
    (tmp_path / "clips/0003.mp4").unlink()
    assert generate_clips(*more).returncode == 3
    assert [prompt for prompt, _ in runs(tmp_path)] == ["A kite.", "FAILS.", "A car.", "FAILS.", "A car."]
    write_entries(tmp_path / "l.json", [shared.entry(1, "A new kite."), shared.entry(3, "A car.")])
    assert generate_clips(*more).returncode == 0
    assert runs(tmp_path)[5:] == [("A new kite.", seed_of(0, "0001", 1))]
    known = {s.name: Prompts().lookup(s).prompt for s in discover([tmp_path / "clips"])}
    assert known == {"0001.mp4": "A new kite.", "0003.mp4": "A car."}


def test_a_clip_keeps_the_prompt_that_it_was_made_from(tmp_path: Path, program: str, generate_clips: Generate) -> None:
    """The list has new prompts for all; one is remade, one fails, one is not wanted now: two old clips stay."""
    names = ("A kite.", "A bus.", "A car.")
    write_entries(tmp_path / "l.json", [shared.entry(number, name) for number, name in enumerate(names, start=1)])
    more = ("--prompts", "l.json", "--out", "clips", "--command", program)
    assert generate_clips(*more).returncode == 0

    def told() -> dict[str, str | None]:
        return {s.name: Prompts().lookup(s).prompt for s in discover([tmp_path / "clips"])}

    names = ("A new kite.", "FAILS.", "A new car.")
    write_entries(tmp_path / "l.json", [shared.entry(number, name) for number, name in enumerate(names, start=1)])
    assert generate_clips(*more, "--limit", 2).returncode == 3
    assert told() == {"0001.mp4": "A new kite.", "0002.mp4": "A bus.", "0003.mp4": "A car."}
    assert generate_clips(*more).returncode == 3
    assert told() == {"0001.mp4": "A new kite.", "0002.mp4": "A bus.", "0003.mp4": "A new car."}


def test_nothing_to_do_changes_nothing(tmp_path: Path, prompts: Path, program: str, generate_clips: Generate) -> None:
    more = ("--prompts", prompts, "--out", "clips", "--command", program)
    generate_clips(*more)
    before = {p.name: p.read_bytes() for p in (tmp_path / "clips").iterdir() if p.is_file()}
    done = generate_clips(*more)
    assert done.returncode == 0 and "4 of them already exist" in done.stderr
    assert {p.name: p.read_bytes() for p in (tmp_path / "clips").iterdir() if p.is_file()} == before


@pytest.mark.parametrize("change", [("--seed", 1), ("--samples", 2), ("--command", "other")])
def test_clips_made_otherwise_are_not_mixed(
    tmp_path: Path, prompts: Path, program: str, generate_clips: Generate, change: tuple[str, object]
) -> None:
    first = {"--prompts": prompts, "--out": "clips", "--command": program, "--limit": 1}
    given = lambda options: [word for pair in options.items() for word in pair]  # noqa: E731
    generate_clips(*given(first))
    name, value = change
    other = first | {name: program + " --wait 0" if name == "--command" else value}
    done = generate_clips(*given(other))
    assert done.returncode == 2 and "made with other settings" in done.stderr and len(runs(tmp_path)) == 1


def test_a_folder_with_other_files_is_left_alone(
    tmp_path: Path, prompts: Path, program: str, generate_clips: Generate
) -> None:
    (tmp_path / "clips").mkdir()
    (tmp_path / "clips/0001.mp4").write_bytes(b"mine")
    done = generate_clips("--prompts", prompts, "--out", "clips", "--command", program)
    assert done.returncode == 2 and (tmp_path / "clips/0001.mp4").read_bytes() == b"mine"


@pytest.mark.slow
def test_kill_in_the_middle_leaves_whole_clips_only_and_the_next_run_goes_on(
    tmp_path: Path, program: str, generate_clips: Generate
) -> None:
    write_entries(tmp_path / "l.json", [shared.entry(n, f"Kite {n}.") for n in range(1, 6)])
    more = ("--prompts", "l.json", "--out", "clips", "--command", program)
    environment = {**shared.environment(), "STALLS": "Kite 3."}
    process = subprocess.Popen(shared.arguments(*more), cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    while len(runs(tmp_path)) < 3:  # the third is being made
        time.sleep(0.01)
        assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert sorted(p.name for p in (tmp_path / "clips").glob("*.mp4")) == ["0001.mp4", "0002.mp4"]
    with (tmp_path / "clips/generation.jsonl").open("ab") as journal:
        journal.write(b'{"kind":"clip","cl')  # as if it had been killed while it wrote
    made_before = len(lines_torn(tmp_path / "clips"))
    assert generate_clips(*more).returncode == 0
    assert len(list((tmp_path / "clips").glob("*.mp4"))) == 5
    assert not list((tmp_path / "clips/.making").iterdir())
    assert len(lines(tmp_path / "clips")) == 5 or made_before < 2  # a clip put in place and not yet recorded is remade


def lines_torn(folder: Path) -> list[str]:
    return [line for line in (folder / "generation.jsonl").read_text().splitlines() if '"sha256"' in line]


@pytest.mark.slow
def test_processes_share_one_folder(tmp_path: Path, program: str) -> None:
    write_entries(tmp_path / "l.json", [shared.entry(n, f"Kite {n}." + " FAILS" * (n == 2)) for n in range(1, 9)])
    more = shared.arguments("--prompts", "l.json", "--out", "clips", "--command", program + " --meeting meeting")
    both = [subprocess.Popen(more, cwd=tmp_path, env=shared.environment(), stderr=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(60) for process in both] == [3, 3]
    assert sorted(prompt for prompt, _ in runs(tmp_path)) == sorted(
        line["prompt"] for line in lines(tmp_path / "clips")
    )
    made = [line["clip"] for line in lines(tmp_path / "clips") if "error" not in line]
    assert sorted(made) == [f"{n:04d}.mp4" for n in (1, 3, 4, 5, 6, 7, 8)]  # each once
    assert len({line["session"] for line in lines(tmp_path / "clips")}) == 2
    assert len(list((tmp_path / "clips").glob("*.mp4"))) == 7


@pytest.mark.slow
def test_ctrl_c_and_too_long_a_wait_end_the_program_too(
    tmp_path: Path, prompts: Path, program: str, generate_clips: Generate
) -> None:
    long = program + " --wait 600"
    done = generate_clips("--prompts", prompts, "--out", "a", "--command", long, "--limit", 1, "--timeout", 0.5)
    assert done.returncode == 3 and "longer than 0.5 s" in done.stderr
    before = len(runs(tmp_path))
    command = shared.arguments("--prompts", prompts, "--out", "b", "--command", long)
    process = subprocess.Popen(command, cwd=tmp_path, env=shared.environment(), stderr=subprocess.PIPE, text=True)
    while len(runs(tmp_path)) == before:
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130 and "run the same command again to resume" in told
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(tmp_path / "gen.py").encode() in words(p)]
    assert not list((tmp_path / "b/.making").iterdir())


def words(cmdline: Path) -> bytes:
    try:
        return cmdline.read_bytes()
    except OSError:  # it ended meanwhile
        return b""


def test_the_generator_gets_the_wording_asked_for_and_scoring_the_prompt(
    tmp_path: Path, program: str, generate_clips: Generate
) -> None:
    given = {"subject": "a kite", "subject_noun": "kite", "place": "", "action": ""}
    entries = [PromptEntry("0001", "A kite climbs.", **given, forms={"long": "A red kite climbs over a long hill."})]
    write_entries(tmp_path / "list.json", entries)
    more = ("--prompts", "list.json", "--out", "clips", "--command", program)
    assert generate_clips(*more, "--wording", "long").returncode == 0
    assert [text for text, _ in runs(tmp_path)] == ["A red kite climbs over a long hill."]
    assert [Prompts().lookup(source).prompt for source in discover([tmp_path / "clips"])] == ["A kite climbs."]
    assert [Prompts().lookup(source).tags["form"] for source in discover([tmp_path / "clips"])] == ["long"]
    assert "made with other settings" in generate_clips(*more).stderr
    assert "1 prompts have no form 'chinese'" in generate_clips(*more, "--wording", "chinese").stderr
    assert "Expected a form of long, chinese" in generate_clips(*more, "--wording", "first_frame").stderr
    assert lines(tmp_path / "clips")[0]["wording"] == "A red kite climbs over a long hill."
    write_entries(tmp_path / "list.json", [replace(entries[0], forms={"long": "A kite climbs and climbs."})])
    assert generate_clips(*more, "--wording", "long").returncode == 0
    assert [text for text, _ in runs(tmp_path)][1:] == ["A kite climbs and climbs."]
    (tmp_path / "null.json").write_text('[{"index": "0001", "prompt": "A kite climbs.", "forms": {"long": null}}]')
    with pytest.raises(SetupError, match=r"null\.json, entry 1: expected text in forms\.long"):
        read_entries(tmp_path / "null.json")


def test_filters(prompts: Path) -> None:
    listed = read_entries(prompts)

    def chosen(*only: str) -> list[str]:
        return [e.index for e in select(listed, only)]

    timed = [replace(listed[0], tags=Tags(seconds=s)) for s in (4, 5, 5.5)] + [replace(listed[0], tags=None)]
    timed = [replace(entry, index=f"000{number}") for number, entry in enumerate(timed)]
    assert [job.entry.index for job in plan_of(timed, max_seconds=5).jobs] == ["0000", "0001", "0003"]
    assert chosen("weather phenomena") == ["0001", "0004"]
    assert chosen("weather phenomena", "camera=static") == ["0001"]
    assert chosen("pattern=Biological Motion", "mechanical motion") == ["0002", "0003"]
    assert chosen("skeleton=person") == ["0002"] and chosen("index=0003", "index=0001") == ["0001", "0003"]
    for wrong in ("colour=red", "weather", "seconds=4"):
        with pytest.raises(ValueError, match="expected"):
            chosen(wrong)


@pytest.mark.parametrize("index", ["../x", "a/b", ".hidden", "", "-1", "a\0b", "x" * 200])
def test_an_index_cannot_leave_the_folder(index: str) -> None:
    with pytest.raises(SetupError, match="cannot name a file"):
        jobs_of([PromptEntry(index, "A kite.", "a", "b", "c", "d")])


def test_two_clips_never_get_one_name() -> None:
    with pytest.raises(SetupError, match="Two prompts"):
        jobs_of([shared.entry(1, "A."), shared.entry(1, "B.")])
    with pytest.raises(SetupError, match="Two prompts"):
        jobs_of([PromptEntry(i, "A.", "a", "b", "c", "d") for i in ("1", "1-1", "1-1-1")] * 2, samples=2)


def test_seeds_depend_on_nothing_but_seed_index_and_sample(prompts: Path) -> None:
    listed = read_entries(prompts)
    forward = {job.clip: job.seed for job in jobs_of(listed, 2, 5)}
    assert forward == {job.clip: job.seed for job in jobs_of(listed[::-1], 2, 5)}
    assert len(set(forward.values())) == 8 and all(0 <= seed < 2**31 for seed in forward.values())
    assert forward["0001-1.mp4"] == int.from_bytes(hashlib.sha256(b"5:0001:1").digest()[:8], "big") % 2**31


@pytest.mark.parametrize(
    "template, says",
    [("python gen.py {prompt}", "needs"), ("python 'gen.py", "cannot be split"), ("x {prompt} {out} {sede}", "sede")],
)
def test_templates_that_cannot_be(template: str, says: str) -> None:
    with pytest.raises(SetupError, match=says):
        CommandMaker(template)


def test_braces_that_are_no_fields_stay(tmp_path: Path) -> None:
    program = f"""'{sys.executable}' -I -S -c 'import sys; open(sys.argv[-1], "w").write(repr(sys.argv[1:]))'"""
    (job,) = jobs_of([shared.entry(1, "{out} {seed}")])
    out = tmp_path / "o.mp4"
    CommandMaker(f"""{program} '{{"a": {{"b": 1}}}}' {{prompt}} {{out}}""").make(job, out)
    assert out.read_text() == repr(['{"a": {"b": 1}}', "{out} {seed}", str(out)])


def test_wrong_usage_is_told(tmp_path: Path, prompts: Path, program: str, generate_clips: Generate) -> None:
    base = ("--prompts", prompts, "--out", "clips")
    for wrong in (
        (), ("--command", program, "--pipeline", "x"), ("--command", program, "--fps", 8), ("--pipeline", "x"),
        ("--command", "no-such-program {prompt} {out}"), ("--command", program, "--where", "colour=red"),
        ("--command", program, "--where", "index=9999"),
    ):  # fmt: skip
        assert generate_clips(*base, *wrong).returncode == 2
    assert not list(tmp_path.rglob("*.mp4"))
