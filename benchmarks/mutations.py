"""What the tests notice: 60 mutations of covered lines drawn by a seed, each against the test files that reach it.

    python -m benchmarks.mutations cover --tree TREE --out OUT [FOLDER ...]   # coverage by test file; needs coverage
    python -m benchmarks.mutations draw --tree TREE --out OUT [--count 60] [--seed 34]
    python -m benchmarks.mutations run --tree TREE --out OUT --results NAME [--seconds 180]
    python -m benchmarks.mutations compare --out OUT BEFORE AFTER

``cover`` runs the folders of ``tests/`` one by one, and keeps which files reach which lines of vmmetrics/ and how long
each file takes. ``draw`` chooses lines evenly among those that a test reaches, and an operator evenly among those that
fit the line: a comparison turned round, a constant one more, ``and`` for ``or``, None returned, a statement dropped, a
condition negated. ``run`` copies the tree, and writes one JSON file per mutation, so that it goes on where it stopped;
fastest test files come first, and those beyond the bound on seconds are left out. A mutation is noticed by the first
test that fails, or by a run that does not end. Other results than ``before`` take only what was noticed there, and the
file that noticed it first.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MARKED = "not ray and not browser"
PATIENCE = 12
"""A run may take so many times the seconds that its files took when they were covered, and a minute."""
_TURNED = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


def mutations(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the operators that fit a node, each with what stands in its place."""
    changed: Any = copy.deepcopy(node)
    if isinstance(node, ast.Compare):
        changed.ops[0] = _TURNED[type(node.ops[0])]()
        yield "comparison", changed
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "constant", ast.Constant(node.value + 1)
    elif isinstance(node, ast.BoolOp):
        changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and/or", changed
    elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        yield "return None", ast.Return(ast.Constant(None))
    elif isinstance(node, ast.AugAssign | ast.Raise) or (
        isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
    ):
        yield "dropped", ast.Pass()
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        changed.test = ast.UnaryOp(ast.Not(), node.test)
        yield "negated", changed.test


def choices(path: Path, lines: set[int]) -> dict[int, list[dict[str, Any]]]:
    """Return what can be mutated in a module by line: of the lines given, in functions."""
    text = path.read_text("utf-8")
    found = defaultdict(list)
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inner = {id(node) for function in functions for part in function.body for node in ast.walk(part)}
    for string in (node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)):  # places in it: Python 3.12
        inner -= {id(node) for node in ast.walk(string)}
    for node in (node for node in ast.walk(tree) if id(node) in inner and getattr(node, "lineno", 0) in lines):
        for operator, instead in mutations(node):
            place: Any = node.test if operator == "negated" else node
            written = ast.unparse(instead)
            if isinstance(instead, ast.expr):
                written = f"({written})"
            span = (place.lineno, place.col_offset, place.end_lineno, place.end_col_offset)
            found[node.lineno].append({"operator": operator, "span": span, "instead": written})
    return found


def mutated(text: str, span: list[int], instead: str) -> str:
    """Return a module with other text at a span (line, byte, line, byte)."""
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    first, start, last, end = span
    middle = lines[first - 1][:start] + instead.encode() + lines[last - 1][end:]
    return b"".join([*lines[: first - 1], middle, *lines[last:]]).decode()


def cover(tree: Path, out: Path, folders: list[str]) -> None:
    """Run folders of tests, each as a process in which this module is a plugin of pytest."""
    for folder in folders or sorted(path.name for path in (tree / "tests").iterdir() if path.is_dir()):
        if not (out / f"{folder}.json").exists():
            found = os.pathsep.join([str(tree), os.environ.get("PYTHONPATH", ""), str(Path(__file__).parent)])
            environment = {**os.environ, "VMMETRICS_COVERAGE": str(out / folder), "PYTHONPATH": found}
            plugin = ["-p", "mutations", "-p", "no:cacheprovider"]
            line = [sys.executable, "-m", "pytest", f"tests/{folder}", *plugin, "-m", MARKED, "-q", "--tb=line"]
            subprocess.run(line, cwd=tree, env=environment, check=False)


if "VMMETRICS_COVERAGE" in os.environ:  # in pytest, started by cover
    import coverage
    import pytest

    _out, _root, _seconds = Path(os.environ["VMMETRICS_COVERAGE"]), Path.cwd(), defaultdict[str, float](float)
    _coverage = coverage.Coverage(data_file=f"{_out}.cov", include=[f"{_root}/vmmetrics/*"], config_file=False)
    _coverage.start()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(item: Any) -> Iterator[None]:
        """Count what a test reaches as reached by its file."""
        _coverage.switch_context(str(item.path.relative_to(_root)))
        return (yield)

    def pytest_runtest_logreport(report: Any) -> None:
        """Add up seconds."""
        _seconds[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish() -> None:
        """Write what was reached, and how long each file took."""
        _coverage.stop()
        _coverage.save()
        _out.with_suffix(".json").write_text(json.dumps(_seconds))


def draw(tree: Path, out: Path, count: int, seed: int) -> None:
    """Write the mutations: module, line, operator, span, text in place of it, and test files with their seconds."""
    from coverage import CoverageData

    reached: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    seconds: dict[str, float] = {}
    for path in sorted(out.glob("*.cov")):
        seconds |= json.loads(path.with_suffix(".json").read_text())
        data = CoverageData(str(path))
        data.read()
        for module in data.measured_files():
            for line, contexts in data.contexts_by_lineno(module).items():
                name = module[module.rindex("/vmmetrics/") + 1 :]
                reached[name][line] |= {context for context in contexts if context in seconds}
    candidates = {
        (module, line): found
        for module, lines in sorted(reached.items())
        for line, found in sorted(choices(tree / module, {line for line, files in lines.items() if files}).items())
    }
    rng = random.Random(seed)
    drawn = []
    for module, line in rng.sample(sorted(candidates), count):
        files = {file: round(seconds[file], 1) for file in sorted(reached[module][line], key=seconds.__getitem__)}
        drawn.append({"module": module, "line": line, **rng.choice(candidates[module, line]), "files": files})
    (out / "drawn.json").write_text(json.dumps(drawn, indent=1))
    print(f"{count} of {len(candidates)} lines drawn")


def run(tree: Path, out: Path, results: str, seconds: float) -> None:
    """Run the test files of every mutation that has no result, in a copy of the tree."""
    (out / results).mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "tree"
        shutil.copytree(tree, work, ignore=shutil.ignore_patterns(".git", "__pycache__", ".hypothesis"))
        environment = {**os.environ, "PYTHONPATH": str(work), "PYTHONDONTWRITEBYTECODE": "1"}
        for number, each in enumerate(json.loads((out / "drawn.json").read_text())):
            result = out / results / f"{number:02}.json"
            if result.exists():
                continue
            earlier = out / "before" / f"{number:02}.json"
            noticed_by = str(json.loads(earlier.read_text())["by"]) if earlier.exists() else ""
            if results != "before" and noticed_by in ("", "None"):
                continue
            files, total = [], 0.0
            for file, took in sorted(each["files"].items(), key=lambda item: not noticed_by.startswith(item[0])):
                total += took
                if (work / file).exists() and (not files or total <= seconds):
                    files.append(file)
            module = work / each["module"]
            text = module.read_text("utf-8")
            module.write_text(mutated(text, each["span"], each["instead"]), "utf-8")
            line = [sys.executable, "-m", "pytest", *files, "-x", "-q", "--tb=line", "-m", MARKED]
            bound = 60 + PATIENCE * min(total, seconds)
            try:
                done = subprocess.run(
                    [*line, "-p", "no:cacheprovider"], cwd=work, env=environment, timeout=bound, check=False,
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                )  # fmt: skip
                first = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
                noticed = done.returncode != 0
                by = first[1] if first else f"exit {done.returncode}"
            except subprocess.TimeoutExpired:
                noticed, by = True, f"not done after {bound:.0f} s"
            module.write_text(text, "utf-8")
            found = {"noticed": noticed, "by": by if noticed else None, "files": files}
            result.write_text(json.dumps(found, indent=1))
            print(
                number, "noticed" if noticed else "missed", each["module"], each["line"], each["operator"], flush=True
            )


def compare(out: Path, before: str, after: str) -> None:
    """Print how many were noticed before, and which of those that ran again were not noticed after."""
    first, second = (
        {path.stem: json.loads(path.read_text())["noticed"] for path in sorted((out / name).glob("*.json"))}
        for name in (before, after)
    )
    print(f"{before}: {sum(first.values())} of {len(first)} noticed; of these {len(second)} ran again in {after}")
    print("noticed before and missed after:", [name for name, noticed in second.items() if not noticed] or "none")


def main() -> None:
    """Run the command that is given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=["cover", "draw", "run", "compare"])
    parser.add_argument("names", nargs="*", help="Folders of tests, or names of results.")
    parser.add_argument("--tree", type=Path, default=Path.cwd())
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--results", default="before")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=34)
    parser.add_argument("--seconds", type=float, default=180)
    given = parser.parse_intermixed_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.command == "cover":
        cover(given.tree.resolve(), given.out.resolve(), given.names)
    elif given.command == "draw":
        draw(given.tree, given.out, given.count, given.seed)
    elif given.command == "run":
        run(given.tree, given.out, given.results, given.seconds)
    else:
        compare(given.out, *given.names)


if __name__ == "__main__":
    main()
