"""Differences between two records of the same cases, exact to the last character, less those that are allowed."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from benchmarks.net.families import chosen
from benchmarks.net.normalise import Normaliser

ABSENT = "<absent>"
AGAIN = Normaliser({})
"""Patterns that were added since a record was made count for it too."""


@dataclass(frozen=True)
class Difference:
    """One place where two records differ.

    Attributes:
        case: Family and name.
        path: Where in the record.
        before: What stood there, as JSON.
        after: What stands there now.
    """

    case: str
    path: str
    before: str
    after: str


@dataclass
class Rule:
    """An allowed difference: a glob of cases and regular expressions of place and text.

    Attributes:
        case: Glob of cases.
        path: Found in the place.
        text: Found in ``before => after``.
        reason: Why it is allowed.
        used: How many differences it allowed.
    """

    case: str
    path: str = ""
    text: str = ""
    reason: str = ""
    used: int = 0

    def allows(self, difference: Difference) -> bool:
        """Say whether a difference is one of these."""
        if not fnmatchcase(difference.case, self.case) or not re.search(self.path, difference.path):
            return False
        return re.search(self.text, f"{difference.before} => {difference.after}") is not None


def compare_folders(before: Path, after: Path, allow: Path | None, most: int) -> int:
    """Print every difference that is not allowed, by family; return 1 if there is one."""
    rules = read_rules(allow)
    names = sorted({path.relative_to(folder) for folder in (before, after) for path in folder.glob("*/*.json")})
    compared: Counter[str] = Counter()
    allowed: Counter[str] = Counter()
    open_: Counter[str] = Counter()
    for name in names:
        case, family = name.with_suffix("").as_posix(), name.parts[0]
        compared[family] += 1
        left: list[Difference] = []
        for difference in differences(case, _read(before / name), _read(after / name)):
            rule = next((rule for rule in rules if rule.allows(difference)), None)
            if rule is None:
                left.append(difference)
            else:
                rule.used += 1
                allowed[family] += 1
        open_[family] += len(left)
        _show(case, left, most)
    expected = {case.key for case in chosen([])}
    gone = sorted(expected - {name.with_suffix("").as_posix() for name in names})
    print("\nfamily        cases  differences  allowed")
    for family, count in compared.items():
        print(f"{family:12}  {count:5}  {open_[family]:11}  {allowed[family]:7}")
    for rule in rules:
        print(f"allowed {rule.used} times: {rule.case} {rule.path} {rule.text} ({rule.reason})")
    if gone:
        print(f"in neither: {len(gone)} cases, such as {', '.join(gone[:5])}")
    return int(any(open_.values()) or not names)


def read_rules(file: Path | None) -> list[Rule]:
    """Read the allow file: tables ``allow`` of case, path, text and reason."""
    if file is None:
        return []
    with file.open("rb") as opened:
        rules = [Rule(**table) for table in tomllib.load(opened).get("allow", [])]
    if unexplained := [rule for rule in rules if not rule.reason]:
        raise SystemExit(f"{file}: a rule without a reason: {unexplained[0]}")
    return rules


def _read(file: Path) -> Any:
    return AGAIN.value(json.loads(file.read_text())) if file.exists() else ABSENT


def _show(case: str, differences: list[Difference], most: int) -> None:
    if not differences:
        return
    print(f"\n{case}: {len(differences)} differences")
    for one in differences[:most]:
        print(f"  {one.path}\n    - {one.before[:400]}\n    + {one.after[:400]}")
    if len(differences) > most:
        print(f"  ... and {len(differences) - most} more")


def differences(case: str, before: Any, after: Any, path: str = "") -> Iterator[Difference]:
    """Yield every place where two values differ; lists of lines are aligned first."""
    if before == after and type(before) is type(after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        if list(before) != list(after) and set(before) == set(after):
            yield Difference(case, f"{path} (order of keys)", json.dumps(list(before)), json.dumps(list(after)))
        for key in [*before, *(key for key in after if key not in before)]:
            yield from differences(case, before.get(key, ABSENT), after.get(key, ABSENT), f"{path}/{key}")
    elif isinstance(before, list) and isinstance(after, list):
        yield from _lists(case, before, after, path)
    else:
        yield Difference(case, path, _shown(before), _shown(after))


def _lists(case: str, before: list[Any], after: list[Any], path: str) -> Iterator[Difference]:
    if not all(isinstance(item, str) for item in before + after):
        for number in range(max(len(before), len(after))):
            pair = [items[number] if number < len(items) else ABSENT for items in (before, after)]
            yield from differences(case, *pair, f"{path}[{number}]")
        return
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            for number in range(max(b - a, d - c)):
                first = before[a + number] if a + number < b else ABSENT
                second = after[c + number] if c + number < d else ABSENT
                yield Difference(case, f"{path} line {a + number + 1}", _shown(first), _shown(second))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
