"""The five ratings of a judge as baselines; a clip is shown to it once."""

from __future__ import annotations

from collections.abc import Callable

from vmmetrics.alignment.baselines.catalogue import Loaded
from vmmetrics.alignment.baselines.judge.asking import Judge, JudgeSettings, Panel
from vmmetrics.alignment.baselines.judge.clients import Endpoint
from vmmetrics.alignment.baselines.judge.questions import DIMENSIONS
from vmmetrics.alignment.baselines.measures import ONE_FRAME
from vmmetrics.errors import SetupError
from vmmetrics.perception.scene import Scene
from vmmetrics.types import MetricResult

NOTHING = "the judge found nothing to rate"


def load(given: JudgeSettings | None, threads: int | None) -> Loaded:
    """Make the judge ready.

    Raises:
        SetupError: None was named, or the local one cannot be loaded.
    """
    if given is None:
        raise SetupError(
            "vlm_judge needs a model: --judge MODEL --judge-url http://.../v1 for an endpoint, "
            "or --judge FOLDER for one of transformers"
        )
    if given.url is not None:
        judge: Judge = Endpoint(given)
    else:
        from vmmetrics.alignment.baselines.judge.clients import LocalModel

        judge = LocalModel(given, threads)
    panel = Panel(judge, given)
    return Loaded({f"judge_{key}": _measure(panel, key) for key in DIMENSIONS}, given.part() | dict(judge.identity))


def _measure(panel: Panel, key: str) -> Callable[[Scene], MetricResult]:
    def measure(scene: Scene) -> MetricResult:
        if len(scene.clip) < 2:
            return MetricResult(None, ONE_FRAME)
        answer = scene.once("baselines:judge", lambda: panel.rate(scene.clip))
        if answer.missing is not None:
            return MetricResult(None, answer.missing)
        level = answer.levels[key]
        return MetricResult(None, NOTHING) if level is None else MetricResult(float(level))

    return measure
