"""Size of the house: lines of code by package, modules, repeated places, and private functions used once.

    python -m benchmarks.house_size [--tree FOLDER] [--against FOLDER] [--list]

A line of code bears a token that is no comment, docstring or blank line; of ``vmmetrics/*.js`` and ``*.toml``, which
hold logic as well, lines that are neither blank nor a comment of their own. Density is tokens a line. A pair of places
is two runs of six equal lines of code, stripped, that do not overlap, each run as long as it goes. A function counts as
used once if its name stands in ``vmmetrics/`` once besides its definition. ``--against`` prints the differences to
another tree by package.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

EQUAL = 6
"""Lines of a repeated place."""
SHORT = 5
"""Lines of code of a function that is small."""
_SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
_FRAME = re.compile(r"[\])},:\s]*|from .*|import .*")
_IGNORED = ("_vendor",)


class Module(NamedTuple):
    """A module: its path below the tree, code by line number, tokens, and private functions with their lines."""

    path: Path
    code: dict[int, str]
    tokens: int
    functions: list[tuple[str, int]]


def read(path: Path, tree: Path) -> Module:
    """Return the code of a module."""
    text = path.read_text(encoding="utf-8")
    parsed = ast.parse(text)
    docstrings: set[int] = set()
    for node in ast.walk(parsed):
        for child in getattr(node, "body", []) if not isinstance(node, ast.Lambda | ast.IfExp) else []:
            if (
                isinstance(child, ast.Expr)
                and isinstance(child.value, ast.Constant)
                and isinstance(child.value.value, str)
            ):
                docstrings.update(range(child.lineno, (child.end_lineno or child.lineno) + 1))
    lines = text.splitlines()
    code: dict[int, str] = {}
    tokens = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _SKIPPED or token.type == tokenize.ENDMARKER or token.start[0] in docstrings:
            continue
        tokens += 1
        code.update({number: lines[number - 1].strip() for number in range(token.start[0], token.end[0] + 1)})
    functions = [
        (node.name, sum(node.lineno <= n <= (node.end_lineno or 0) for n in code))
        for node in ast.walk(parsed)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("_")
        and node.name[-2:] != "__"
    ]
    return Module(path.relative_to(tree), code, tokens, functions)


def modules(tree: Path) -> list[Module]:
    """Return the modules of the package of a tree."""
    return [
        read(path, tree) for path in sorted((tree / "vmmetrics").rglob("*.py")) if not set(path.parts) & set(_IGNORED)
    ]


def lines_of_data(tree: Path) -> Counter[str]:
    """Return the lines of scripts and settings that hold logic, by ending."""
    count: Counter[str] = Counter()
    for path in (tree / "vmmetrics").rglob("*"):
        if path.suffix in {".js", ".toml"} and not set(path.parts) & set(_IGNORED):
            mark = "//" if path.suffix == ".js" else "#"
            stripped = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
            count[path.suffix] += sum(bool(line) and not line.startswith((mark, "/*", "*")) for line in stripped)
    return count


def repeated(found: list[Module]) -> Iterator[tuple[str, str]]:
    """Yield pairs of places with :data:`EQUAL` equal lines or more; brackets and imports alone are no such lines."""
    runs: defaultdict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    kept = [[(n, line) for n, line in module.code.items() if not _FRAME.fullmatch(line)] for module in found]
    for number, lines in enumerate(kept):
        for start in range(len(lines) - EQUAL + 1):
            runs[tuple(line for _, line in lines[start : start + EQUAL])].append((number, start))
    pairs = {pair for places in runs.values() for pair in combinations(places, 2)}
    for (a, i), (b, k) in sorted(pairs):
        if ((a, i - 1), (b, k - 1)) in pairs or (a == b and k - i < EQUAL):
            continue  # within a longer one
        yield f"{found[a].path}:{kept[a][i][0]}", f"{found[b].path}:{kept[b][k][0]}"


def used_once(found: list[Module]) -> list[str]:
    """Return the private functions of at most :data:`SHORT` lines whose name stands in one other place."""
    names = Counter(name for module in found for line in module.code.values() for name in re.findall(r"\w+", line))
    functions = [(module.path, *function) for module in found for function in module.functions]
    defined = Counter(name for _, name, _ in functions)
    return [f"{path}: {name}" for path, name, lines in functions if lines <= SHORT and names[name] == defined[name] + 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--against", type=Path, help="another tree")
    parser.add_argument("--list", action="store_true", help="name the repeated places and the functions used once")
    options = parser.parse_args()
    now, before = (None if tree is None else modules(tree) for tree in (options.tree, options.against))
    assert now is not None
    packages: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for side, found in enumerate((now, before or [])):
        for module in found:
            packages[module.path.parts[1] if len(module.path.parts) > 2 else "."][side] += len(module.code)
    for name, (lines, earlier) in sorted(packages.items()):
        print(f"{name:16s}{lines:7,}" + (f"{lines - earlier:+8,}" if before else ""))
    for tree, counted in ((options.tree, now), (options.against, before)):
        if tree is None or counted is None:
            continue
        total, data = sum(len(module.code) for module in counted), lines_of_data(tree)
        places, single = list(repeated(counted)), used_once(counted)
        print(
            f"{tree}: {total:,} lines of Python, {data['.js']:,} of JavaScript, {data['.toml']:,} of TOML; "
            f"{len(counted)} modules; {sum(module.tokens for module in counted) / total:.2f} tokens a line; "
            f"{len(places)} repeated places; {len(single)} small private functions used once"
        )
        if options.list:
            print("\n".join([*(" ~ ".join(pair) for pair in places), *single]))


if __name__ == "__main__":
    main()
