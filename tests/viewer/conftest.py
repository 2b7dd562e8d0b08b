"""Browser tests: Chromium, a report of made-up runs, and pages of it that fail where anything goes wrong in them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.viewer.made_run import example_clips, write_run
from vmmetrics.viewer.report import write_report

OpenReport = Callable[..., Any]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--autoplay-policy=no-user-gesture-required"]
LOCAL = ("file:", "data:", "blob:")


def absent(reason: str) -> NoReturn:
    """Skip a test, or fail it where browsers are required (``VMMETRICS_REQUIRE_BROWSER=1``)."""
    if os.environ.get("VMMETRICS_REQUIRE_BROWSER") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def in_firefox(script: Path, npm: Path, *arguments: object, seconds: float = 90) -> dict[str, Any]:
    """Run a script of puppeteer in Firefox, and return the JSON object that it prints."""
    program = os.environ.get("VMMETRICS_FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        absent("no Firefox: install firefox-esr, or set VMMETRICS_FIREFOX")
    command = [shutil.which("node"), script, npm, program, *arguments]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        printed, problems = run.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)  # Firefox as well, which node leaves running
        raise
    assert run.returncode == 0, problems
    seen: dict[str, Any] = json.loads(printed)
    return seen


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """Fail a test whose page never answers: a script that is awaited has no bound of its own."""

    def stop(*_: object) -> None:
        raise TimeoutError("the page has not answered for four minutes")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(240)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def npm() -> Path:
    """Return the folder ``node_modules`` with the npm packages that ``.ci/run`` installs."""
    folder = os.environ.get("VMMETRICS_NPM")
    if folder is None or not Path(folder).is_dir():
        absent("no npm packages: set VMMETRICS_NPM to a folder node_modules with those that .ci/run installs")
    if shutil.which("node") is None:
        absent("node is not installed")
    return Path(folder)


def program() -> str:
    """Return the path of Chromium."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("VMMETRICS_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    return found or absent("no Chromium: install it, or set VMMETRICS_CHROMIUM")


@pytest.fixture(scope="module")  # playwright keeps an event loop running, in which other tests' could not run
def browser() -> Iterator[Any]:
    """Yield Chromium, driven by playwright."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        absent("playwright is not installed: pip install -e '.[ci]'")
    executable = program()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a report of two comparable runs, ``first`` and ``second``, whose scores are 0.1 higher."""
    folder = tmp_path_factory.mktemp("report")
    runs = [
        write_run(folder / name, example_clips(shift), root=folder / "clips")
        for name, shift in (("first", 0.0), ("second", 0.1))
    ]
    return write_report(runs, folder / "out").path.parent


@pytest.fixture
def faults() -> Iterator[list[str]]:
    """Yield the list of what went wrong in pages: errors logged or thrown, broken policy, requests to other machines.

    The test fails at its end if there is any.
    """
    texts: list[str] = []
    yield texts
    assert not texts, "\n".join(texts)


@pytest.fixture
def open_report(request: pytest.FixtureRequest, browser: Any, faults: list[str]) -> Iterator[OpenReport]:
    """Yield a function that opens the report at a hash: that of the fixture, or the folder given as ``folder``."""
    contexts: list[Any] = []

    def open_report(hash: str = "", width: int = 1280, dark: bool = False, folder: Path | None = None) -> Any:  # noqa: A002
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        page = context.new_page()
        contexts.append(context)
        page.set_default_timeout(15_000)
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(f"{error.message}\n{error.stack}"))
        page.on(
            "request", lambda asked: None if asked.url.startswith(LOCAL) else faults.append(f"asked for {asked.url}")
        )
        home = request.getfixturevalue("report") if folder is None else folder
        page.goto((home / "index.html").as_uri() + (f"#{hash.removeprefix('#')}" if hash else ""))
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_report
    for context in contexts:
        context.close()
