"""The filter against the same clips filtered in Python: expressions, words, facets, ranges, sorting, links, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.viewer.conftest import OpenReport
from tests.viewer.made_rows import METRICS, MadeRow, made_index
from vmmetrics.utils.display.markup import csv_text, without_guard

pytestmark = pytest.mark.browser
one_page = settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
ROWS = """([index, state]) => { if (index) vmReport.index(index); return [...vm.rows({ ...blank, ...state })]; }"""
BLANK = """() => { window.blank = { ...vm.state, q: "", where: "", facets: {}, ranges: {}, sort: "", desc: false }; }"""


@pytest.fixture
def page(open_report: OpenReport) -> Any:
    """Return a page whose data a test replaces."""
    page = open_report()
    page.evaluate(BLANK)
    return page


HAND = [
    MadeRow("a/1.mp4", "one", "alpha", "a dog runs"),
    MadeRow("a/2.mp4", "one", "alpha", None, 49, missing={"tcs": "no object moved"}, events=[("cas", "limb")]),
    MadeRow("b/1.mp4", "two", "beta", "A Dog sleeps", events=[("tcs", "popped in"), ("cas", "limb")]),
    MadeRow("b/2.mp4", "two", 'be"ta', "say \\ it", None, failed="file is empty"),
]
HAND[0].scores, HAND[1].scores, HAND[2].scores = {"cas": 0.2, "tcs": 0.5}, {"cas": 0.4}, {"cas": 0.9, "tcs": 0.9}
HAND[0].tags = {"pattern": "spin", "seed": 1}
HAND[3].tags = {"pattern": "none", "seed": 2.5, "odd name": "x", "cas": "y"}
EXPRESSIONS = {
    "tcs < 0.6": [0],
    "tcs <= .5 or tcs >= 0.9": [0, 2],
    "tcs != 0.5": [2],
    "not tcs == 0.5": [1, 2, 3],
    "missing tcs": [1, 3],
    "has tcs AND NOT cas > 0.5": [0],
    "tcs > cas": [0],
    "0.3 < cas": [1, 2],
    "cas in (0.2, 9e-1)": [0, 2],
    "frames in (49) or frames == -1": [1],
    'model == "alpha" and frames == 16': [0],
    "model == 'be\"ta'": [3],
    r'model == "be\"ta"': [3],
    r'prompt contains "\\"': [3],
    'prompt contains "dog"': [0, 2],
    'prompt == "a dog runs"': [0],
    'prompt != "a dog runs"': [2, 3],
    "missing prompt": [1],
    'model in ("beta", "gamma")': [2],
    'run == "two"': [2, 3],
    'clip contains "/1."': [0, 2],
    'event == "limb"': [1, 2],
    'event != "limb"': [2],
    'event in ("popped in")': [2],
    "missing event": [0, 3],
    'error contains "EMPTY"': [3],
    "has error": [3],
    'missing.tcs == "no object moved"': [1],
    'missing.tcs contains "file"': [3],
    "has missing.cas": [3],
    'pattern == "spin"': [0],
    'tag.pattern != "spin"': [3],
    "seed >= 2": [3],
    'tag."odd name" == "x"': [3],
    'tag.cas == "y"': [3],
    "missing index": [0, 1, 2, 3],
    "cas < 0.3 or cas > 0.3 and tcs > 0.8": [0, 2],
    "(cas < 0.3 or cas > 0.3) and tcs > 0.8": [2],
    "not (has tcs or has error)": [1],
    "not not has tcs": [0, 2],
    "  ": [0, 1, 2, 3],
}
MISTAKES = {
    "tcs <": (5, "missing at the end"),
    "tcs = 0.5": (4, "write =="),
    "tcs < 0.5 && cas > 1": (10, "write and"),
    "foo < 1": (0, "no field foo"),
    "tcs < alpha": (6, "no field alpha"),
    'tcs < "a"': (6, "number is compared with a text"),
    'model < "a"': (6, "for numbers"),
    'tcs contains "a"': (13, "number is compared"),
    "(tcs < 1": (8, ") is missing"),
    "tcs < 1)": (7, "expected and, or"),
    'model == "alpha': (9, "not closed"),
    "tcs in 0.5": (7, "expected ("),
    "tcs in (cas)": (8, "not fields"),
    "tcs < 1 cas > 1": (8, "expected and, or"),
    "has 0.5": (4, "expected a field"),
    "and": (0, "expected a field"),
    "constructor < 1": (0, "no field"),
    "tcs toString 1": (4, "expected a comparison"),
    'tcs "<" 1': (4, "expected a comparison"),
    "(" * 500: (60, "too many"),
    "tcs < 0.5 ; alert(1)": (10, "cannot stand here"),
}


def test_expressions_by_hand(page: Any) -> None:
    page.evaluate(ROWS, [made_index(HAND), {}])
    results = {text: page.evaluate(ROWS, [None, {"where": text}]) for text in EXPRESSIONS}
    assert results == EXPRESSIONS
    assert page.evaluate("vm.whereError({ ...blank, where: 'tcs < 0.5' })") is None


def test_fields_of_ratings_and_of_metrics_with_odd_keys(page: Any) -> None:
    keys = ["motion_index", "rating:smooth", "rating:motion quality", "my metric: 2", "own_1"]
    rows = [MadeRow(str(n), scores={key: n * (k + 1) for k, key in enumerate(keys)}) for n in range(4)]
    index = made_index(rows, ["tcs"])
    index["metrics"] += [{**index["metrics"][0], "key": key} for key in keys]
    index["clips"]["scores"] |= {key: [row.scores[key] for row in rows] for key in keys}
    page.evaluate(ROWS, [index, {}])
    fields = [page.evaluate("key => vm.fieldOf(key)", key) for key in keys]
    assert fields == ["index", "rating.smooth", 'rating."motion quality"', 'metric."my metric: 2"', "own_1"]
    for k, field in enumerate(fields):
        assert page.evaluate(ROWS, [None, {"where": f"{field} > {1.5 * (k + 1)}"}]) == [2, 3], field


def test_a_mistake_has_a_position(page: Any) -> None:
    page.evaluate(ROWS, [made_index(HAND), {}])
    for text, (position, message) in MISTAKES.items():
        error = page.evaluate("where => vm.whereError({ ...blank, where })", text)
        assert message in error["message"]
        assert error["at"] == position, text


def test_the_last_expression_without_a_mistake_counts(page: Any) -> None:
    page.evaluate(ROWS, [made_index(HAND), {}])
    assert page.evaluate(ROWS, [None, {"where": "tcs <"}]) == [0, 1, 2, 3]
    assert page.evaluate(ROWS, [None, {"where": "tcs < 0.6"}]) == [0]
    assert page.evaluate(ROWS, [None, {"where": "tcs < 0.6 and"}]) == [0]
    assert page.evaluate(ROWS, [None, {"where": ""}]) == [0, 1, 2, 3]


words = st.text("abX é", max_size=4)
scores = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
tables = st.lists(
    st.builds(
        MadeRow,
        name=st.text("ab/1209.", min_size=1, max_size=5),
        run=st.sampled_from(["one", "two"]),
        model=st.sampled_from(["alpha", "beta", "Beta"]),
        prompt=st.none() | words,
        frames=st.none() | st.sampled_from([16, 49]),
        failed=st.none() | st.just("broken file"),
        scores=st.dictionaries(st.sampled_from(METRICS), scores),
        missing=st.just({}),
        events=st.lists(st.tuples(st.sampled_from(METRICS), st.sampled_from(["limb", "pop", "Blur"])), max_size=3),
        tags=st.fixed_dictionaries({}, optional={"pattern": words, "seed": scores}),
    ),
    max_size=8,
)
Test = Callable[[MadeRow], bool]
NUMBERS: dict[str, Callable[[MadeRow], float | None]] = {
    "index": lambda row: row.scores.get("motion_index"),
    "cas": lambda row: row.scores.get("cas"),
    "tcs": lambda row: row.scores.get("tcs"),
    "frames": lambda row: row.frames,
    "tag.seed": lambda row: row.tags.get("seed"),  # type: ignore[return-value]
}
TEXTS: dict[str, Callable[[MadeRow], list[str]]] = {
    "clip": lambda row: [row.name],
    "model": lambda row: [row.model],
    "run": lambda row: [row.run],
    "prompt": lambda row: [row.prompt] if row.prompt is not None else [],
    "error": lambda row: [row.failed] if row.failed is not None else [],
    "event": lambda row: [reason for _, reason in row.events],
    "missing.tcs": lambda row: [reason] if (reason := row.reason("tcs")) is not None else [],
    "tag.pattern": lambda row: [str(row.tags["pattern"])] if "pattern" in row.tags else [],
}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "contains": lambda a, b: b.lower() in a.lower(),
}


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def of_number(field: str, sign: str, value: float) -> tuple[str, Test]:
    get = NUMBERS[field]
    return f"{field} {sign} {value}", lambda row: (number := get(row)) is not None and COMPARE[sign](number, value)


def of_fields(a: str, sign: str, b: str) -> tuple[str, Test]:
    left, right = NUMBERS[a], NUMBERS[b]
    return f"{a} {sign} {b}", lambda row: None not in (left(row), right(row)) and COMPARE[sign](left(row), right(row))


def of_text(field: str, sign: str, value: str) -> tuple[str, Test]:
    get = TEXTS[field]
    return f"{field} {sign} {quoted(value)}", lambda row: any(COMPARE[sign](text, value) for text in get(row))


def of_list(field: str, values: list[str]) -> tuple[str, Test]:
    get = TEXTS[field]
    return f"{field} in ({', '.join(map(quoted, values))})", lambda row: any(text in values for text in get(row))


def of_presence(field: str, word: str) -> tuple[str, Test]:
    def present(row: MadeRow) -> bool:
        return NUMBERS[field](row) is not None if field in NUMBERS else bool(TEXTS[field](row))

    return f"{word} {field}", lambda row: present(row) == (word == "has")


def joined(word: str, parts: list[tuple[str, Test]]) -> tuple[str, Test]:
    together = all if word == "and" else any
    return f" {word} ".join(f"({text})" for text, _ in parts), lambda row: together(test(row) for _, test in parts)


numbers = st.sampled_from(sorted(NUMBERS))
fields = st.sampled_from(sorted(TEXTS))
order = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
values = st.sampled_from(["alpha", "beta", "one", "limb", "broken file", "not scored", "a", "é"]) | words
expressions = st.recursive(
    st.builds(of_number, numbers, order, scores | st.sampled_from([16.0, 49.0, -1.5]))
    | st.builds(of_fields, numbers, order, numbers)
    | st.builds(of_text, fields, st.sampled_from(["==", "!=", "contains"]), values)
    | st.builds(of_list, fields, st.lists(values, min_size=1, max_size=3))
    | st.builds(of_presence, numbers | fields, st.sampled_from(["has", "missing"])),
    lambda parts: (
        st.builds(joined, st.sampled_from(["and", "or"]), st.lists(parts, min_size=2, max_size=3))
        | parts.map(lambda part: (f"not ({part[0]})", lambda row: not part[1](row)))
    ),
    max_leaves=6,
)


@one_page
@given(table=tables, cases=st.lists(expressions, min_size=1, max_size=8))
def test_expressions_equal_their_evaluation_in_python(
    table: list[MadeRow], cases: list[tuple[str, Test]], page: Any
) -> None:
    table = [without_scores(row) for row in table] + HAND[:1]
    table[-1] = MadeRow("z", tags={"pattern": "p", "seed": 0.5})  # the tags exist in every table
    page.evaluate(ROWS, [made_index(table), {}])
    for text, test in cases:
        assert page.evaluate("where => vm.whereError({ ...blank, where })", text) is None, text
        rows = page.evaluate(ROWS, [None, {"where": text}])
        assert rows == [n for n, row in enumerate(table) if test(row)], text


def without_scores(row: MadeRow) -> MadeRow:
    """Return the clip without scores where it failed, as in runs."""
    row.scores = {} if row.failed is not None else row.scores
    return row


def haystack(row: MadeRow) -> str:
    reasons = [reason for metric in METRICS if (reason := row.reason(metric)) is not None]
    return "\n".join([row.name, row.model, row.prompt or "", *reasons, *(reason for _, reason in row.events)]).lower()


@one_page
@given(
    table=tables,
    query=st.lists(st.sampled_from(["a", "b1", "LIMB", "scored", "alpha", "é", "broken", "ab/"]), max_size=3),
    facets=st.fixed_dictionaries(
        {},
        optional={
            "model": st.lists(st.sampled_from(["alpha", "beta", "nobody"]), min_size=1, unique=True),
            "event": st.lists(st.sampled_from(["limb", "pop", ""]), min_size=1, unique=True),
            "missing.tcs": st.lists(st.sampled_from(["broken file", "not scored"]), min_size=1, unique=True),
            "tag.pattern": st.lists(st.sampled_from(["a", "b", ""]), min_size=1, unique=True),
        },
    ),
    ends=st.none() | st.tuples(scores, scores),
)
def test_words_facets_and_ranges_together(
    table: list[MadeRow], query: list[str], facets: dict[str, list[str]], ends: tuple[float, float] | None, page: Any
) -> None:
    table = [*(without_scores(row) for row in table), MadeRow("z", tags={"pattern": "a"}, events=[("cas", "limb")])]
    state = {"q": "  ".join(query), "facets": facets, "ranges": {} if ends is None else {"cas": ends}}

    def holds(row: MadeRow, but: str = "") -> bool:
        inside = ends is None or ("cas" in row.scores and ends[0] <= row.scores["cas"] <= ends[1])
        return (
            inside
            and all(word.lower() in haystack(row) for word in query)
            and all(bool(set(TEXTS[name](row) or [""]) & set(chosen)) for name, chosen in facets.items() if name != but)
        )

    assert page.evaluate(ROWS, [made_index(table), state]) == [n for n, row in enumerate(table) if holds(row)]
    for name in ("model", "event", "tag.pattern"):
        counted = page.evaluate(
            """([name, state]) => {
              const { counts, none } = vm.facetCounts(name, { ...blank, ...state }), { values } = vm.facetColumn(name);
              return [Object.fromEntries(values.map((value, code) => [value, counts[code]])), none];
            }""",
            [name, state],
        )
        others = [set(TEXTS[name](row)) for row in table if holds(row, but=name)]
        every = {text for row in table for text in TEXTS[name](row)}
        expected = {value: sum(value in texts for texts in others) for value in every}
        assert counted == [expected, sum(not texts for texts in others)]


@one_page
@given(table=tables, sort=st.sampled_from(["tcs", "frames", "model", "name", ""]), desc=st.booleans())
def test_sorting_is_stable_with_missing_values_last(table: list[MadeRow], sort: str, desc: bool, page: Any) -> None:
    rows = page.evaluate(ROWS, [made_index(table), {"sort": sort, "desc": desc}])
    if sort == "":
        assert rows == (list(range(len(table)))[::-1] if desc else list(range(len(table))))
        return

    def key(n: int) -> Any:
        number = {"tcs": table[n].scores.get("tcs"), "frames": table[n].frames}
        return number[sort] if sort in number else table[n].model.lower() if sort == "model" else natural(table[n].name)

    present = [n for n in range(len(table)) if key(n) is not None]
    missing = [n for n in range(len(table)) if key(n) is None]
    assert rows == sorted(present, key=key, reverse=desc) + missing


def natural(name: str) -> list[str]:
    """Return the key that sorts numbers in names by size: digits are filled up with zeros."""
    digits, key = "", []
    for character in f"{name.lower()}\0":
        if character.isdigit():
            digits += character
            continue
        key += list(digits.rjust(12, "0")) if digits else []
        digits = ""
        key.append(character)
    return key[:-1]


plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
states = st.fixed_dictionaries(
    {
        **dict.fromkeys(
            ("q", "where", "sort", "clip", "metric", "a", "b", "pair", "view", "table", "order", "wipe"), plain
        ),
        "desc": st.booleans(),
        "facets": st.dictionaries(plain, st.lists(plain, min_size=1, max_size=3), max_size=3),
        "ranges": st.dictionaries(
            plain, st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 2).map(list), max_size=3
        ),
        "layers": st.sets(st.sampled_from(["boxes", "masks", "tracks", "skeletons"])).map(
            lambda chosen: [layer for layer in ("boxes", "masks", "tracks", "skeletons") if layer in chosen]
        ),
    }
)


@one_page
@given(state=states, frame=st.integers(0, 10**6))
def test_a_link_reproduces_the_state(state: dict[str, Any], frame: int, page: Any) -> None:
    state |= (
        {"frame": frame, "exact": True} if state["clip"] else {"frame": 0, "exact": False}
    )  # a frame is one of a clip
    read = page.evaluate(
        """async state => {
          const moved = new Promise(done => addEventListener("hashchange", done, { once: true }));
          const href = vm.link(state);
          if (href !== location.hash) { location.hash = href; await moved; }
          return { ...vm.state, facets: { ...vm.state.facets }, ranges: { ...vm.state.ranges } };
        }""",
        state,
    )
    read["ranges"] = {name: [float(end) for end in ends] for name, ends in read["ranges"].items()}
    assert {name: read[name] for name in state} == state


def test_open_ends_and_hostile_names_in_links(page: Any) -> None:
    link = "view=gallery&r.tcs=~0.5&r.cas=0.25~&r.mss=x~1&r.ois=1&f.__proto__=x&f.constructor=y&frame=-3"
    page.evaluate("link => { location.hash = link; }", link)
    page.wait_for_function("() => vm.state.ranges.tcs")
    assert page.evaluate("Object.keys(vm.state.ranges)") == ["tcs", "cas"]
    assert page.evaluate("[vm.state.ranges.tcs[0] === -Infinity, vm.state.ranges.cas[1] === Infinity]") == [True, True]
    assert page.evaluate("vm.state.frame") == 0
    assert page.evaluate("vm.link({})").count("r.tcs=%7E0.5") == 1
    assert page.evaluate("[vm.matchCount(), ({}).push === undefined]") == [0, True]  # no field has these names


FORMULAS = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "'=1", "'x", 'a"b', "a,b", "a\nb"]


@one_page
@given(texts=st.lists(plain.filter(bool) | st.sampled_from(FORMULAS), min_size=3, max_size=3))
def test_csv_is_that_of_the_command_line(texts: list[str], page: Any) -> None:
    name, prompt, tag = texts
    rows = [MadeRow(name, prompt=prompt, scores={"cas": 0.25}, missing={"tcs": prompt}), MadeRow("plain", failed=tag)]
    rows[0].tags, rows[0].events = {"pattern": tag}, [("cas", prompt)]
    text = page.evaluate("index => { vmReport.index(index); return vm.csv(); }", made_index(rows))
    lines = list(csv.reader(io.StringIO(text, newline="")))
    assert lines[0] == [
        "clip", "model", "run", *METRICS, *(f"missing.{m}" for m in METRICS), "events", "prompt", "tag.pattern",
    ]  # fmt: skip
    first = [name, "alpha", "run", "", "0.25", "", "not scored", "", prompt, f"CAS: {prompt}", prompt, tag]
    second = ["plain", "alpha", "run", "", "", "", tag, tag, tag, "", "", ""]
    assert [[without_guard(cell) for cell in line] for line in lines[1:]] == [first, second]
    header = ",".join(lines[0])
    numbers = [[0.25 if cell == "0.25" else cell for cell in line] for line in (first, second)]
    assert text == f"{header}\n{csv_text(numbers)}"
