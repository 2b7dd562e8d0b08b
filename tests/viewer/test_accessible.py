"""Every view by keyboard, in light and dark, on wide and narrow screens; axe finds nothing serious."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.viewer.conftest import OpenReport

pytestmark = pytest.mark.browser
CLIP = "clip=first%2Fbeta%2F0-a-dog-runs.webm"
SCREENS = [(width, scheme) for width in (1280, 400) for scheme in ("light", "dark")]

NAMES = """() => {
  // Name of an element for messages.
  window.named = node => `${node.tagName.toLowerCase()}${node.className ? "." + [...node.classList].join(".") : ""} "${
    (node.getAttribute("aria-label") ?? node.textContent ?? "").trim().slice(0, 40)}"`;
}"""
ACCESSIBLE = "a[href], button, input, select, textarea, summary, [tabindex], [contenteditable]"
# What the mouse can use: it has a tab stop, is inside of something that has, or belongs to a group with a moving one.
MOUSE_ONLY = f"""() => {{
  const shown = node => node.checkVisibility({{ checkVisibilityCSS: true }}) && node.getClientRects().length;
  const stops = node => node.tabIndex >= 0 && !node.disabled;
  const groups = ["grid", "listbox", "toolbar", "radiogroup", "tablist", "list"].map(role => `[role=${{role}}]`).join();
  const group = node => node.closest(groups);
  const reachable = node => {{
    for (let at = node.closest(`{ACCESSIBLE}, label`); at; at = at.parentElement?.closest(`{ACCESSIBLE}, label`)) {{
      if (at.tagName === "LABEL" ? at.control && stops(at.control) : stops(at)) return true;
    }}
    return Boolean([...group(node)?.querySelectorAll("[tabindex='0'], button, a[href]") ?? []].some(stops));
  }};
  return [...document.querySelectorAll("body *")]
    .filter(node => shown(node) && !node.disabled)
    .filter(node => getComputedStyle(node).cursor === "pointer" || node.matches("{ACCESSIBLE}"))
    .filter(node => !node.matches("main") && !reachable(node))
    .map(named);
}}"""


def opened(open_report: OpenReport, view: str, width: int = 1280) -> Any:
    """Return a page of a view with a clip, a pair or a change open in it, its details loaded."""
    page = open_report(f"view={view}&{CLIP}", width=width)
    page.evaluate(NAMES)
    page.evaluate(
        "vm.data.detail(0).then(() => new Promise(done => setTimeout(() => requestAnimationFrame(done), 100)))"
    )
    return page


def views(open_report: OpenReport) -> list[str]:
    return open_report().evaluate("vm.views.filter(view => view.available()).map(view => view.key)")


def test_axe_finds_nothing_serious(open_report: OpenReport, npm: Path) -> None:
    axe = (npm / "axe-core" / "axe.min.js").read_text("utf-8")
    found = []
    for view in views(open_report):
        page = opened(open_report, view)
        page.evaluate(axe)
        for width, scheme in SCREENS:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            results = page.evaluate("axe.run(document, { resultTypes: ['violations'], preload: false })")
            for violation in results["violations"]:
                if violation["impact"] in ("serious", "critical"):
                    nodes = [f"{node['target']}: {node['failureSummary']}" for node in violation["nodes"][:3]]
                    found.append(f"{view} {width} {scheme}: {violation['id']}: {nodes}")
        page.context.close()
    assert not found, "\n".join(found)


def test_the_page_is_no_wider_than_the_screen(open_report: OpenReport) -> None:
    wide = []
    for view in views(open_report):
        for width in (1280, 400):
            page = opened(open_report, view, width)
            if (content := page.evaluate("document.documentElement.scrollWidth")) > width:
                wide.append((view, width, content))
            page.context.close()
    assert wide == []


def test_what_the_mouse_can_use_the_keyboard_can(open_report: OpenReport) -> None:
    found = {}
    for view in views(open_report):
        page = opened(open_report, view)
        found[view] = page.evaluate(MOUSE_ONLY)
        page.context.close()
    assert found == {view: [] for view in found}


def test_the_focus_is_seen_at_every_stop(open_report: OpenReport) -> None:
    unseen, never = {}, {}
    for view in views(open_report):
        page = opened(open_report, view)
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
        for _ in range(120):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement === document.body"):
                break
        unseen[view] = page.evaluate("[...unseen]")
        never[view] = page.evaluate(
            """() => stops.size >= 100 ? [] :
              [...document.querySelectorAll("header a, main button, main select, main input")]
              .filter(node => node.checkVisibility({ checkVisibilityCSS: true }) && !node.disabled)
              .filter(node => node.tabIndex >= 0 && !stops.has(node) && (node.type !== "radio" || node.checked))
              .map(named)"""
        )
        page.context.close()
    assert (unseen, never) == ({view: [] for view in unseen}, {view: [] for view in never})


def test_the_skip_link_moves_the_focus_to_the_content(open_report: OpenReport) -> None:
    page = open_report("view=compare")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("[document.activeElement.id, vm.state.view]") == ["main", "compare"]
