from __future__ import annotations

import json
from pathlib import Path

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.metrics import METRICS, Metric, register, registered, registry
from vmmetrics.scoring.leaderboard import Board
from vmmetrics.scoring.leaderboard_text import to_csv
from vmmetrics.scoring.prompt_scores import AVERAGE
from vmmetrics.scoring.summary import INDEX, INDEX_OR_ZERO
from vmmetrics.scoring.table import COLUMNS
from vmmetrics.types import MetricResult
from vmmetrics.utils import plugins


@pytest.fixture(autouse=True)
def unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    plugins._run.cache_clear()


def half(scene: object, protocol: str) -> MetricResult:
    return MetricResult(0.5)


def test_ours_can_be_computed_and_are_described() -> None:
    known = registered()
    assert tuple(sorted(known)) == METRICS == ("cas", "mss", "ois", "pas", "tcs")
    for metric in known.values():
        assert callable(registry._resolve(str(metric.measure)))
        assert metric.title
        assert metric.question
        assert metric.column in (None, metric.key)
        assert metric.key in metric.aspects
    assert len({metric.colour for metric in known.values()}) == 5


@pytest.mark.parametrize("key", ["", "Mine", "my metric", "1st", "motion_index", "clip", "x" * 41])
def test_a_key_that_no_table_could_hold_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match=r"key|column"):
        Metric(key, "of mine", half)


def test_a_key_that_names_another_column_is_refused() -> None:
    board = Board("", "", "", False, (*METRICS, INDEX, INDEX_OR_ZERO, AVERAGE), INDEX, (), (), 0, ())
    columns = to_csv([board], []).strip().split(",")
    taken = {*COLUMNS, *columns, "index", "any", "clips_failed"} - {*METRICS}
    assert {"own_change", "motion_index_or_0", "no_anchor", "cas_half_width", "cas_below_real", "rank"} <= taken
    for key in sorted(taken):
        with pytest.raises(ValueError, match="name of another column"):
            Metric(key, "of mine", half)
    Metric("shake_low", "of mine", half)
    register(Metric("shake", "of mine", half))
    with pytest.raises(ValueError, match="name of another column"):
        Metric("shake_low", "of mine", half)


def test_what_needs_an_unknown_ability_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Expected needs among flow, camera, .* but got 'depth'"):
        Metric("mine", "of mine", half, needs=("depth",))


def test_nobody_replaces_another_metric() -> None:
    with pytest.raises(ValueError, match="already a metric called 'tcs'"):
        register(Metric("tcs", "of mine", half))
    register(Metric("mine", "of mine", half))
    with pytest.raises(ValueError, match="already a metric called 'mine'"):
        register(Metric("mine", "another", half))


def test_it_reads_only_results_that_there_will_be() -> None:
    with pytest.raises(ValueError, match="reads the result of 'yours', which is not registered"):
        register(Metric("mine", "of mine", half, after=("yours",)))
    register(Metric("mine", "of mine", half, after=("pas",)))


PLUGIN = """
from vmmetrics.metrics import Metric, register
from vmmetrics.types import MetricResult
from vmmetrics.utils import plugins

register(Metric({key!r}, "of mine", lambda scene, protocol: MetricResult(0.5)))
"""


def test_a_plugin_is_run_once_and_known_by_its_hash(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN.format(key="mine"))
    assert registry.load_plugins([str(file)]) == registry.load_plugins([str(file)]) == ("mine",)
    source = registered()["mine"].source
    assert source["plugin"] == "mine.py"
    assert len(source["sha256"]) == 64
    assert json.loads(json.dumps(registered()["mine"].describe()))["source"] == dict(source)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = (", "SyntaxError"),
        ("raise OSError('no such thing')", "OSError: no such thing"),
        ("x = 1", "registers no metric; call vmmetrics.metrics.register in it"),
        (PLUGIN.format(key="cas"), "already a metric called 'cas'"),
    ],
)
def test_a_plugin_that_is_none_is_a_clear_error(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(SetupError, match=reason):
        registry.load_plugins([str(file)])
    with pytest.raises(SetupError, match=r"Cannot read the plugin .*absent.py: No such file"):
        registry.load_plugins([str(tmp_path / "absent.py")])


def test_metrics_of_installed_packages_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name = "mine"
        value = "package:mine"
        dist = None

        def __init__(self, loaded: object) -> None:
            self._loaded = loaded

        def load(self) -> object:
            if isinstance(self._loaded, Exception):
                raise self._loaded
            return self._loaded

    points = [Point(Metric("mine", "of mine", half)), Point(ImportError("no torch"))]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
    registry._load_entry_points.cache_clear()
    try:
        with pytest.warns(UserWarning, match="metric mine of package package:mine cannot be loaded: no torch"):
            assert registered()["mine"].source["package"] == "package:mine"
    finally:
        registry._load_entry_points.cache_clear()
