"""Texts of runs are shown as text, whatever they hold, and scripts have no way to make them anything else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from tests.viewer.conftest import OpenReport
from tests.viewer.made_run import MadeClip, write_run
from vmmetrics.metrics import METRICS
from vmmetrics.types import Event
from vmmetrics.viewer.report import write_report

PAGE = Path(__file__).parents[2] / "vmmetrics" / "viewer" / "page"
HARMFUL = (
    "</script><script>window.ran=1</script><x-made>",
    "<img src=x onerror=window.ran=1><x-made></x-made>",
    '"onfocus="window.ran=1" autofocus tabindex="0',
    "javascript:window.ran=1",
    "--><svg onload=window.ran=1><x-made>",
    "</title></style></textarea><x-made>",
    "&lt;x-made&gt;&#60;x-made&#62;",
    "\u202eright to left\u2066\u2028\u2029",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "x" * 5000,
    "na\udcffme \ud800",  # of a file name that is not UTF-8
    "__proto__",
    "constructor",
    "url(https://example.com/x.png)",
    "a\0b\tc\rd\ne",
)
BLANKS = r"[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"  # those of str.split
TEXTS = st.lists(st.sampled_from(HARMFUL) | st.text(st.characters(), min_size=1, max_size=40), min_size=6, max_size=6)


def hostile_report(folder: Path, texts: list[str]) -> Path:
    """Return a report of a run of two models in which every text of a clip is one of ``texts``."""
    name, model, prompt, reason, tag, target = texts
    clips = []
    for number, maker in enumerate((model, f"other {model}")):
        clips.append(
            MadeClip(f"{maker}/{name}{number}", maker, prompt, dict.fromkeys(METRICS[1:], 0.25 + 0.5 * number))
        )
        clips[-1].missing, clips[-1].tags, clips[-1].notes = {METRICS[0]: reason}, {"pattern": tag, tag: tag}, (reason,)
        clips[-1].events = (Event("tcs", (1, 2), reason, target, (1.0, 1.0, 9.0, 9.0), 0.7, 0.5, None),)
    clips.append(MadeClip(f"{model}/failed{name}", model, prompt, error=reason))
    return write_report([write_run(folder / "run", clips)], folder / "out").path.parent


def shown(text: str) -> str:
    """Return a text as a page can hold it, its blanks joined."""
    return " ".join(text.encode("utf-8", "backslashreplace").decode().split())


@pytest.mark.browser
@settings(
    max_examples=4, phases=[Phase.explicit, Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(texts=TEXTS)
@example(texts=["a", "b", "c\x1fd\x85e\ufefff", "g", "h", "i"])
def test_texts_are_shown_as_text(
    texts: list[str], open_report: OpenReport, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = hostile_report(tmp_path_factory.mktemp("hostile"), texts)
    page = open_report(folder=folder)
    clip = f"run/{texts[1]}/{texts[0]}0".encode("utf-8", "backslashreplace").decode()
    assert page.evaluate("id => vm.data.find(id)", clip) >= 0
    for view in page.evaluate("vm.views.filter(view => view.available()).map(view => view.key)"):
        page.evaluate(
            "([view, clip]) => { location.hash = `view=${view}&clip=${encodeURIComponent(clip)}`; }", [view, clip]
        )
        page.wait_for_function("view => document.querySelector('main').dataset.view === view", arg=view)
        page.evaluate(
            "vm.data.detail(0).then(() => new Promise(done => requestAnimationFrame(() => setTimeout(done))))"
        )
        assert page.title().endswith("Motion report")
        assert page.text_content("h1") == "Motion report"
        assert page.evaluate("window.ran") is None
        assert (
            page.evaluate("document.querySelectorAll('x-made,[onerror],[onload],[onfocus],iframe,object,embed').length")
            == 0
        )
        assert page.evaluate("[...document.links].filter(a => !['file:', 'blob:'].includes(a.protocol)).length") == 0
        if view == "clip":
            page.wait_for_function(
                f"text => document.body.textContent.split(/{BLANKS}/u).join(' ').includes(text)", arg=shown(texts[2])
            )


@pytest.mark.browser
def test_every_harmful_text_is_shown_in_the_link_of_its_clip(open_report: OpenReport, tmp_path: Path) -> None:
    clips = [MadeClip(f"{text}/{text}", text, text, {"tcs": 0.5}) for text in HARMFUL]
    folder = write_report([write_run(tmp_path / "run", clips)], tmp_path / "out").path.parent
    page = open_report(folder=folder)
    names = set(page.evaluate("Array.from({ length: vm.data.n }, (_, row) => vm.data.name(row))"))
    assert names == {f"{text}/{text}".encode("utf-8", "backslashreplace").decode() for text in HARMFUL}
    for row in range(len(HARMFUL)):
        linked = page.evaluate(
            "row => new URLSearchParams(vm.link({ clip: vm.data.id(row) }).slice(1)).get('clip')", row
        )
        assert page.evaluate("id => vm.data.find(id)", linked) == row


@pytest.mark.parametrize("file", sorted(PAGE.glob("*.js")), ids=lambda file: file.name)
def test_scripts_make_no_markup_and_no_code_from_texts(file: Path) -> None:
    ways = (
        r"(?:inner|outer|insertAdjacent)HTML|\beval\(|new Function|document\.write|srcdoc|ContextualFragment|DOMParser"
    )
    code = re.sub(r"//[^\n]*", "", file.read_text("utf-8"))
    assert re.findall(ways, code) == []
