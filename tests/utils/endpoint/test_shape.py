from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.utils.endpoint.asking import objects_in, problem, read_object

LISTED = {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 3}, "minItems": 1, "maxItems": 2}


@pytest.mark.parametrize(
    ("value", "shape", "said"),
    [
        (True, {"type": "integer"}, "expected integer"),
        (1, {"type": "boolean"}, "expected boolean"),
        (2.0, {"type": "integer"}, None),
        (2.5, {"type": "integer"}, "expected integer"),
        (None, {"type": ["integer", "null"]}, None),
        ("x", {"type": ["integer", "null"]}, "expected integer or null but got 'x'"),
        ("", {"type": "string", "minLength": 1}, "at least 1 characters but got 0"),
        ("abc", {"type": "string", "maxLength": 2}, "at most 2 characters but got 3"),
        ([], LISTED, "at least 1 items"),
        ([1, 2, 3], LISTED, "at most 2 items"),
        ([1, 9], LISTED, r"the answer[1]: expected at most 3 but got 9"),
        ({"a": [0]}, {"type": "object", "properties": {"a": LISTED}}, "a[0]: expected at least 1 but got 0"),
        ({"a": {"b": 1}}, {"properties": {"a": {"required": ["c"]}}}, "a.c is missing"),
        ("x" * 500, {"type": "null"}, "..."),
        ({"x": 1}, {"type": "object", "additionalProperties": False}, "x was not asked for"),
    ],
)
def test_what_is_wrong_is_named(value, shape, said):
    found = problem(value, shape)
    assert found is None if said is None else said in found


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), json_values, max_size=4), st.text(alphabet="abc \n`'\"}]"), st.text())
def test_an_object_is_found_whatever_stands_around(value, before, after):
    assert next(objects_in(before + json.dumps(value) + after)) == value


@given(json_values, st.data())
def test_a_cut_object_is_never_taken_for_the_whole(value, data):
    text = json.dumps({"the whole of it": value})
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    found, why = read_object(cut, {"type": "object", "required": ["the whole of it"]})
    assert found is None and why is not None


@pytest.mark.parametrize("text", ["{" * 100_000, '{"a":' * 20_000, "[" * 100_000, '{"a":{"b":' * 5000 + "1"])
def test_text_that_only_nests_ends_soon(text):
    assert list(objects_in(text)) == []


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "1" + "0" * 400])
def test_numbers_that_nothing_can_be_computed_with_are_none(number):
    assert read_object(f'{{"score": {number}}}', {"type": "object"}) == (None, "no JSON object")
    assert list(objects_in('{"score": 1e3, "count": 12}')) == [{"score": 1000.0, "count": 12}]
