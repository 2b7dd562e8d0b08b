"""Scripts that hand data to the page, and the policy that lets no other run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import string

from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.viewer.page import call, modules, page, script, single_page, style, to_script, values_of

TEXTS = st.text(st.characters(exclude_categories=()), max_size=40) | st.sampled_from(
    ["</script>", "<!--", "]]>", "\u2028", "\u202e", "__proto__", '"__proto__":', "\ud800", "a\udcff", "\0", "\\"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


def has_surrogates(value: object) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in json.dumps(value, ensure_ascii=False))


@given(VALUES)
def test_any_value_comes_back_and_ends_no_script(value: object) -> None:
    text = call("index", 7, value)
    text.encode()
    assert not set("<>&\u2028\u2029") & set(text)
    if not has_surrogates(value):
        assert values_of(text) == [7, value]
        assert json.loads(to_script(value)) == value


def test_bytes_that_are_no_text_become_escapes() -> None:
    assert values_of(call("index", {"a\udcff": ["\ud800"]})) == [{"a\\udcff": ["\\ud800"]}]


def test_a_key_that_sets_prototypes_is_in_brackets_in_scripts() -> None:
    assert '{["__proto__"]:1}' in call("index", {"__proto__": 1})


def policy_of(text: str) -> dict[str, list[str]]:
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    return {name: sources for name, *sources in (part.split() for part in policy.split(";"))}


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_policy_allows_the_page_alone() -> None:
    text = page()
    policy = policy_of(text)
    inline = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == ["'self'", *map(digest, inline)]
    assert policy["style-src"] == ["'self'"]
    assert policy["base-uri"] == policy["form-action"] == ["'none'"]
    assert not re.findall(r"https?:|//", text)


def test_one_page_runs_its_own_programs_by_their_hashes() -> None:
    hostile = {"posters": {"0": "</script><script>alert(1)</script>"}, "overlays": {}, "details": []}
    text = single_page({"title": "</script><!--"}, hostile)
    policy = policy_of(text)
    programs = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert programs[0] == script()
    assert policy["script-src"] == list(map(digest, programs))
    assert policy["style-src"] == list(map(digest, re.findall(r"<style>(.*?)</style>", text, re.DOTALL)))
    blocks = re.findall(r'<script type="application/json" id="[a-z-]+">(.*?)</script>', text, re.DOTALL)
    assert list(map(json.loads, blocks)) == [hostile, {"title": "</script><!--"}]


def test_programs_and_styles_can_stand_in_a_page_as_they_are() -> None:
    assert "</script" not in script().lower()
    assert "<!--" not in script()
    assert "</style" not in style().lower()
    assert "\r" not in script() + style()
    assert set(script()[:200]) & set(string.ascii_letters)


def test_a_module_stands_after_those_that_it_imports() -> None:
    before: set[str] = set()
    for name, text in modules().items():
        assert before >= set(re.findall(r'from "\./(.*)"', text)), name
        before.add(name)
    assert "import " not in re.sub('//.*|`[^`]*`|"[^"]*"', "", "".join(script().split("const vm = {};")[1:]))


def test_no_two_modules_export_the_same_name() -> None:
    names = [name for text in modules().values() for name in re.findall(r"^export (?:async )?\w+ (\w+)", text, re.M)]
    assert len(names) == len(set(names)) > 0
    assert not re.search(
        r"^export (?:default|let|var|\{)", "".join(modules().values()), re.M
    )  # which script() cannot join
