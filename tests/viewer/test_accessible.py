"""Every view by keyboard, in light and dark, on wide and narrow screens; axe finds nothing serious."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.conftest import OpenReport

pytestmark = pytest.mark.browser
CLIP = "first/beta/0-a-dog-runs.webm"
SCREENS = [(width, scheme) for width in (1280, 400) for scheme in ("light", "dark")]

NAMES = """() => {
  // Name of an element for messages.
  window.named = node => `${node.tagName.toLowerCase()}${node.className ? "." + [...node.classList].join(".") : ""} "${
    (node.getAttribute("aria-label") ?? node.textContent ?? "").trim().slice(0, 40)}"`;
}"""
CONTROLS = "a[href], button, input, select, textarea, summary"
ACCESSIBLE = f"{CONTROLS}, [tabindex], [contenteditable]"
# What the mouse can use: it has a tab stop, is inside of something that has, belongs to a group with a moving one, or
# is a second link to the same place.
MOUSE_ONLY = f"""() => {{
  const shown = node => node.checkVisibility({{ checkVisibilityCSS: true }}) && node.getClientRects().length;
  const stops = node => node.tabIndex >= 0 && !node.disabled;
  const groups = ["grid", "listbox", "toolbar", "radiogroup", "tablist", "list"].map(role => `[role=${{role}}]`).join();
  const group = node => node.closest(groups);
  const reachable = node => {{
    for (let at = node.closest(`{ACCESSIBLE}, label`); at; at = at.parentElement?.closest(`{ACCESSIBLE}, label`)) {{
      if (at.tagName === "LABEL" ? at.control && stops(at.control) : stops(at)) return true;
    }}
    const link = node.closest("a[href]");
    if (link && [...document.links].some(other => other.href === link.href && stops(other))) return true;
    return Boolean([...group(node)?.querySelectorAll("[tabindex='0'], button, a[href]") ?? []].some(stops));
  }};
  return [...document.querySelectorAll("body *")]
    .filter(node => shown(node) && !node.disabled)
    .filter(node => getComputedStyle(node).cursor === "pointer" || node.matches("{CONTROLS}"))
    .filter(node => !node.matches("main") && !reachable(node))
    .map(named);
}}"""


def each_view(page: Any) -> Iterator[str]:
    """Yield the view that a page shows, one after the other, each with a clip or a pair open and its details loaded."""
    page.evaluate(NAMES)
    for view in page.evaluate("vm.views.filter(view => view.available()).map(view => view.key)"):
        page.evaluate("([view, clip]) => vm.go({ view, clip })", [view, CLIP])
        page.wait_for_function("view => document.querySelector('main').dataset.view === view", arg=view)
        page.evaluate(
            "vm.data.detail(0).then(() => new Promise(done => setTimeout(() => requestAnimationFrame(done), 100)))"
        )
        yield view


def test_axe_finds_nothing_serious(open_report: OpenReport, npm: Path) -> None:
    page, serious = open_report(), []
    page.evaluate((npm / "axe-core" / "axe.min.js").read_text("utf-8"))
    for view in each_view(page):
        for width, scheme in SCREENS:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            results = page.evaluate("axe.run(document, { resultTypes: ['violations'], preload: false })")
            for violation in results["violations"]:
                if violation["impact"] in ("serious", "critical"):
                    nodes = [f"{node['target']}: {node['failureSummary']}" for node in violation["nodes"][:3]]
                    serious.append(f"{view} {width} {scheme}: {violation['id']}: {nodes}")
    assert not serious, "\n".join(serious)


@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_is_no_wider_than_the_screen(open_report: OpenReport, width: int) -> None:
    page = open_report(width=width)
    content = {view: page.evaluate("document.documentElement.scrollWidth") for view in each_view(page)}
    assert {view: wide for view, wide in content.items() if wide > width} == {}


def test_what_the_mouse_can_use_the_keyboard_can(open_report: OpenReport) -> None:
    page = open_report()
    mouse_only = {view: page.evaluate(MOUSE_ONLY) for view in each_view(page)}
    assert mouse_only == {view: [] for view in mouse_only}


def test_the_focus_is_seen_at_every_stop(open_report: OpenReport) -> None:
    page, unseen, never = open_report(), {}, {}
    page.evaluate(
        """() => {
          window.stops = new Set(); window.unseen = new Set();
          addEventListener("focusin", ({ target }) => {
            stops.add(target);
            const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(target);
            const outlined = outlineStyle !== "none" && parseFloat(outlineWidth) >= 1;
            if (!outlined && boxShadow === "none") unseen.add(named(target));
          });
        }"""
    )
    for view in each_view(page):
        page.evaluate("document.querySelector('.skip').focus(); stops.clear(); unseen.clear()")
        for size in range(0, 100, 10):
            if page.evaluate("stops.size") < size:
                break  # it has been round
            for _ in range(10):
                page.keyboard.press("Tab")
        unseen[view] = page.evaluate("[...unseen]")
        never[view] = page.evaluate(
            """() => stops.size >= 90 ? [] :
              [...document.querySelectorAll("header a, main button, main select, main input")]
              .filter(node => node.checkVisibility({ checkVisibilityCSS: true }) && !node.disabled)
              .filter(node => node.tabIndex >= 0 && !stops.has(node) && (node.type !== "radio" || node.checked))
              .map(named)"""
        )
    assert (unseen, never) == ({view: [] for view in unseen}, {view: [] for view in never})


def test_the_skip_link_moves_the_focus_to_the_content(open_report: OpenReport) -> None:
    page = open_report("view=compare")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("[document.activeElement.id, vm.state.view]") == ["main", "compare"]
