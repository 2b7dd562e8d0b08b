"""Commands, code and output that the docs show: all commands parse, and blocks marked ``<!-- run -->`` run.

Blocks run on tiny clips in place of the samples, in this process. What a page shows of their output is compared with
what they print: with all its numbers where they read none of these clips, else word by word.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import cv2
import numpy as np
import pytest
import typer
from PIL import Image

from vmmetrics.cli.app import app
from vmmetrics.cli.main import main
from vmmetrics.clip import Clip
from vmmetrics.functional import motion_index
from vmmetrics.perception.scene import Scene
from vmmetrics.scoring.suite import Suite

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^(<!-- run -->\n)? *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
SHELL = ("bash", "console")
MODELS = re.compile("|".join(sorted(path.name for path in (DATA / "samples").iterdir() if path.is_dir())))
OF_TINY_CLIPS = ("README", "score", "compare", "train-cas", "own-index")
"""Pages whose commands read clips."""
TOPS = ("benchmarks", "prompts", "tests", "vmmetrics", "weights")
SEPARATORS = {"&&", "|", ";", ">", "<"}


def shell_lines(text: str) -> list[str]:
    """Return the command lines of a text, continuation lines joined, prompts and list marks removed."""
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [re.sub(r"^(\$|- run:) ", "", line.strip()) for line in lines]


def commands(text: str) -> list[list[str]]:
    """Return the arguments of every vmmetrics command in a text."""
    commands = []
    for line in shell_lines(text):
        if not re.match(r"(pip install .* && )?vmmetrics ", line):
            continue
        words = shlex.shlex(line, posix=True, punctuation_chars="&|;<>")
        words.whitespace_split = True
        words.commenters = "#" if " #" in line else ""
        command: list[str] = []
        for word in [*words, "&&"]:
            if word not in SEPARATORS:
                command.append(word)
                continue
            if command[:1] == ["vmmetrics"]:
                commands.append(command[1:])
            command = []
    return commands


def code_of(page: Path) -> str:
    """Return what a page shows as code: fenced and indented blocks."""
    text = page.read_text("utf-8")
    fenced = [block for _, language, block in BLOCK.findall(text) if language in (*SHELL, "yaml")]
    indented = re.findall(r"^    \S.*$", BLOCK.sub("", text), re.MULTILINE)
    return "\n".join([*fenced, *indented])


SHOWN = [
    pytest.param(words, id=f"{page.stem}: {' '.join(words)}"[:100])
    for page in PAGES
    for words in commands(code_of(page))
]
MARKED = [page for page in PAGES if any(mark for mark, _, _ in BLOCK.findall(page.read_text("utf-8")))]


@pytest.mark.parametrize("words", SHOWN)
def test_a_shown_command_has_only_options_that_there_are_and_all_that_it_needs(words: list[str]) -> None:
    command: click.Command = typer.main.get_command(app)
    names, rest = [], list(words)
    while hasattr(command, "get_command"):
        default = getattr(command, "default", None)
        name = default if default and rest[0] not in command.list_commands(click.Context(command)) else rest.pop(0)
        nested = command.get_command(click.Context(command), name)
        assert nested is not None, f"no command {name!r}"
        command, names = nested, [*names, name]
    context = click.Context(command, info_name=" ".join(names))
    values, surplus, _ = command.make_parser(context).parse_args(rest)
    assert not surplus
    missing = [p.name for p in command.params if p.required and not values.get(str(p.name))]
    assert not missing


def test_every_tutorial_has_commands_that_run() -> None:
    assert len(SHOWN) > 100
    tutorials = {path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md")}
    assert {"README", *tutorials} <= {page.stem for page in MARKED}


@pytest.fixture
def folder(tmp_path: Path, page: Path) -> Path:
    """A folder with the tables that a page names, and tiny clips in place of the samples."""
    samples = tmp_path / "tests" / "data" / "samples"
    shutil.copytree(DATA / "fetv-dev", tmp_path / "tests" / "data" / "fetv-dev")
    shutil.copy(DATA / "comparisons.csv", samples.parent)
    rng = np.random.default_rng(0)
    still = cv2.resize(rng.integers(0, 255, (12, 16, 3), np.uint8), (96, 72), interpolation=cv2.INTER_CUBIC)
    frames = [Image.fromarray(np.roll(still, 2 * step, axis=1)) for step in range(10)]
    text = page.read_text("utf-8")
    for clip in (DATA / "samples").glob("*/*.*"):
        if not ("cas eval" in text or clip.parent.name in text or clip.match("text2video-zero/woman*")):
            continue
        copy = samples / clip.relative_to(DATA / "samples")
        copy.parent.mkdir(parents=True, exist_ok=True)
        # Read by its content, whatever its name.
        frames[0].save(copy, "GIF", save_all=True, append_images=frames[1:], duration=125, loop=0)
    shutil.copy(DATA / "samples" / "prompts.csv", samples)
    return tmp_path


@pytest.fixture(scope="module")
def earlier() -> Iterator[dict[str, str]]:
    """What commands printed on pages before; they score in this process, and clips alike are seen once."""
    answers: dict[object, dict[str, object]] = {}

    def scene(suite: Any, clip: Clip) -> Scene:
        scene = Scene(clip, suite._preset.models)
        scene._answers = answers.setdefault((suite.label, clip.frames.tobytes(), clip.fps, clip.prompt), {})
        return scene

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Suite, "scene", scene)
        patch.setattr("vmmetrics.cli.running.DEFAULT_JOBS", 0)
        yield {}


def printed_by(block: str | list[list[str]], earlier: dict[str, str]) -> str:
    """Return what a block prints, commands or Python; the study that two pages show, of tables alone, is done once."""
    if isinstance(block, str):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(block, {"__name__": "__main__"})  # noqa: S102  our own pages
        return out.getvalue()
    for words in block:
        if words[0] != "align" or shlex.join(words) not in earlier:
            with contextlib.redirect_stdout(io.StringIO()) as out, pytest.raises(SystemExit) as stop:
                main(words)
            assert (stop.value.code or 0) == (4 if words[0] == "calibrate" else 0), words  # refused: two prompts
            earlier[shlex.join(words)] = out.getvalue()
    return "".join(earlier[shlex.join(words)] for words in block)


@pytest.mark.slow
@pytest.mark.parametrize("page", MARKED, ids=lambda page: page.stem)
def test_the_marked_blocks_of_a_page_run_in_its_order_and_print_what_it_shows(
    page: Path, folder: Path, earlier: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    blocks = BLOCK.findall(page.read_text("utf-8"))
    run = [text if language == "python" else commands(text) for mark, language, text in blocks if mark]
    assert all(run)
    outputs = iter([printed_by(block, earlier) for block in run])
    printed: str | None = None
    stale: list[str] = []
    for mark, language, block in blocks:
        if language == "" and printed is not None:
            stale += not_printed(block, printed, words=page.stem in OF_TINY_CLIPS)
        elif language in ("python", *SHELL):
            printed = next(outputs) if mark else None
    assert not stale


def not_printed(shown: str, printed: str, words: bool) -> list[str]:
    """Return the lines of ``shown`` that are not in ``printed``; ``...`` stands for lines left out.

    By words, without names of models: which is above which says nothing of tiny clips.
    """

    def parts(line: str) -> tuple[str, ...]:
        return tuple(re.findall(r"[^\W\d_]{2,}", MODELS.sub("", line)) if words else line.split())

    there = {parts(line) for line in printed.splitlines()}
    return [line for line in shown.splitlines() if set(line.strip()) - {"─", "."} and parts(line) not in there]


def test_the_table_of_the_readme_has_the_scores_of_the_samples() -> None:
    goldens = json.loads((DATA / "goldens.json").read_text())["vmmetrics"]
    text = (ROOT / "README.md").read_text("utf-8")
    rows = re.findall(r"^  (\S+\.(?:mp4|gif)) +(.*)$", text, re.MULTILINE)
    assert rows
    for clip, cells in rows:
        scores = goldens[clip]["scores"]
        expected = [scores.get(name) for name in ("cas", "mss", "ois", "pas", "tcs")]
        expected.append(motion_index(scores).score)
        numbers = re.sub(r" \(\d+/\d+\)", "", cells)  # without the places among real footage
        for cell, score in zip(numbers.split(), expected, strict=True):
            if score is None:
                assert cell == "-", clip
            else:  # rounded to what harmless changes leave
                digits = len(cell.partition(".")[2])
                assert float(cell) == pytest.approx(score, abs=max(0.01, 0.51 * 10**-digits)), (clip, cell)


def test_links_of_the_readme_and_of_contributing_lead_to_files() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8"))
        local = [target for target in targets if not target.startswith("http")]
        assert local
        assert [target for target in local if not (ROOT / target).exists()] == []


def test_programs_and_files_that_the_docs_name_are_there() -> None:
    files = {path.relative_to(ROOT) for top in TOPS for path in (ROOT / top).rglob("*.*")}
    suffixes = {"/".join(path.parts[start:]) for path in files for start in range(len(path.parts))}
    named: set[str] = set()
    for page in PAGES:
        text = page.read_text("utf-8")
        named |= {f"{name.replace('.', '/')}.py" for name in re.findall(r"python -m (benchmarks\.[\w.]*\w)", text)}
        named |= {
            name
            for name in re.findall(r"`([\w/]+/\w+\.(?:py|toml))`", text)
            if not re.search(r"/(test_)?(x|NAME)\.", name)
        }
    packages = {name for name in named if name.removesuffix(".py") + "/__main__.py" in suffixes}
    assert len(named) > 40
    assert sorted(named - suffixes - packages) == []


def test_the_docs_are_as_short_as_they_should_be() -> None:
    words = {page: len(re.findall(r"\S*\w\S*", page.read_text("utf-8"))) for page in PAGES}
    assert words[ROOT / "README.md"] <= 900
    words.pop(ROOT / "docs" / "cards.md")  # a generated table of signs
    assert sum(count for page, count in words.items() if page.is_relative_to(ROOT / "docs")) <= 24_800
    terms = re.findall(r"^\| (?!term|---)", (ROOT / "docs" / "glossary.md").read_text("utf-8"), re.MULTILINE)
    assert len(terms) <= 60
