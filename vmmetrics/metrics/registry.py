"""The metrics there are: one entry each. Nothing else names them.

A metric of one's own is registered like ours, by :func:`register` in a file that ``--plugin`` names, or in a package
with an entry point in the group ``vmmetrics.metrics``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vmmetrics.errors import SetupError
from vmmetrics.utils import plugins

if TYPE_CHECKING:
    from vmmetrics.clip import Clip
    from vmmetrics.types import MetricResult, Protocol

Colour = tuple[int, int, int]

INK: Colour = (24, 28, 36)

ABILITIES = ("flow", "camera", "objects", "subject", "poses", "quality", "plausibility")
"""What a metric can need of the scene. ``subject``: the points on the subject and behind it."""
GROUP = "vmmetrics.metrics"
"""Entry points of installed packages: a :class:`Metric`, or a module that registers its own."""
_KEY = re.compile(r"[a-z][a-z0-9_]{0,39}")
_TAKEN = (
    "amplitude average clip error fps frames height missing model motion_index notes path pattern preset prompt "
    "protocol seconds sha256 subject width"
)
"""Other columns of the tables, a blank between two."""


@dataclass(frozen=True, slots=True)
class Metric:
    """What a metric is.

    Attributes:
        key: Name in records, tables and options: lower-case letters, digits and ``_``.
        title: What it measures, in words.
        measure: ``measure(scene, protocol)`` to a :class:`~vmmetrics.types.MetricResult`, or where that function
            stands, as ``module:name``. The results of the metrics in ``after`` are handed in by key, None where one
            failed.
        needs: Abilities of the scene that it asks, of :data:`ABILITIES`; a preset loads no model that nobody needs.
        after: Metrics whose results it reads.
        higher_is_better: Direction.
        range: Least and largest score under protocol ``vmmetrics``.
        low_is_fault: Whether a low score speaks against a clip.
        colour: In charts, red, green and blue in 0..255.
        column: Column of VMBench's published table, or None.
        numbers: Numbers beside the score that its result has.
        aspects: Beginnings of words in the names of ratings that are about it.
        is_amount: Whether it measures an amount of motion, which ratings of quality are not about.
        not_of: Kinds of clips that it does not judge (:attr:`vmmetrics.perception.content.Unjudgeable.kind`): missing
            under protocol ``vmmetrics``.
        question: What a video language model is asked in its place, or None.
        beside: ``beside(clip, protocol)`` to the properties of the scene that can be computed beside the other
            metrics, as ``module:name``; None for nothing.
        source: What registered it: file or package, and its hash or version; empty for ours.
        version: What its scores mean: raised by hand when they come to mean something else, so that those of before and
            after are not mixed.
    """

    key: str
    title: str
    measure: Callable[..., MetricResult] | str
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    higher_is_better: bool = True
    range: tuple[float, float] = (0.0, 1.0)
    low_is_fault: bool = True
    colour: Colour = INK
    column: str | None = None
    numbers: tuple[str, ...] = ()
    aspects: tuple[str, ...] = ()
    is_amount: bool = False
    not_of: tuple[str, ...] = ()
    question: str | None = None
    beside: str | None = None
    source: Mapping[str, str] = field(default_factory=dict)
    version: int = 1

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key):
            raise ValueError(f"Expected key to be of a-z, 0-9 and _ (40 at most) but got {self.key!r}")
        if self.key in _TAKEN.split():
            raise ValueError(f"{self.key!r} is the name of another column; choose another key")
        unknown = sorted(set(self.needs).difference(ABILITIES))
        if unknown:
            raise ValueError(f"Expected needs among {', '.join(ABILITIES)} but got {unknown[0]!r}")

    def compute(self, *scene_and_protocol: object, **earlier: MetricResult | None) -> MetricResult:
        """Return what :attr:`measure` gives."""
        measure = self.measure if callable(self.measure) else _resolve(self.measure)
        result: MetricResult = measure(*scene_and_protocol, **earlier)
        return result

    def beside_others(self, clip: Clip, protocol: Protocol) -> Sequence[str]:
        """Return the properties of the scene that can be computed beside the other metrics."""
        names: Sequence[str] = _resolve(self.beside)(clip, protocol) if self.beside else ()
        return names

    def describe(self) -> dict[str, object]:
        """Return what a run keeps of a metric that is not ours, ready for JSON."""
        return {
            "title": self.title,
            "lower_is_better": not self.higher_is_better,
            "range": list(self.range),
            "source": dict(self.source),
        }


def _our(key: str, title: str, aspects: str, **more: Any) -> Metric:
    measure = f"vmmetrics.metrics.{key}:measure"
    more.setdefault("not_of", ("noise", "still", "slides"))
    return Metric(key, title, measure, column=key, aspects=(key, *aspects.split()), **more)


# In the order in which they are computed. Colours: Okabe and Ito's palette, without its vermilion.
_OURS = (
    _our(
        "pas",
        "perceptible amplitude",
        needs=("camera", "subject"),
        low_is_fault=False,
        colour=(230, 159, 0),
        numbers=("amplitude",),
        aspects="dynamic amplitude degree magnitude amount intensity",
        is_amount=True,
        not_of=("noise", "slides"),  # of a still the amount is known: none
        version=2,
        question="amount of visible motion of the main subject, the camera's own motion left out: "
        "1 none to be seen, 3 moderate, 5 large and lively. This is an amount, not a merit.",
    ),
    _our(
        "mss",
        "motion smoothness",
        needs=("quality",),
        after=("pas",),
        colour=(0, 114, 178),
        aspects="smooth flicker jitter jerk temporal_consistency blur",
        question="smoothness of motion: does the picture stay equally clear while things move, without stutter, "
        "flicker, sudden blur or smearing from frame to frame? 5 clean throughout, 3 disturbed now and then, 1 "
        "disturbed all along.",
        beside="vmmetrics.metrics.mss:beside",
    ),
    _our(
        "ois",
        "object integrity",
        needs=("poses", "camera"),
        version=2,
        colour=(0, 158, 115),
        aspects="integrity structur deform distort shape anatom limb subject_consistency",
        question="integrity of bodies and objects: do they keep shape, proportions and number of parts, with joints "
        "that bend as they should? 5 never at fault, 3 at fault for a while, 1 deformed most of the time. "
        "null if the clip shows neither a body nor an object.",
        beside="vmmetrics.metrics.ois:beside",
    ),
    _our(
        "tcs",
        "temporal coherence",
        needs=("objects",),
        colour=(86, 180, 233),
        version=2,
        aspects="temporal_consistency temporal_coherence coheren continuity appearance_consistency identity vanish "
        "subject_consistency",
        question="continuity of existence: does whatever is shown stay there, unless something hides it, it leaves the "
        "picture or there is another reason? 5 nothing appears or vanishes without cause, 3 one thing does, 1 many "
        "things do.",
    ),
    _our(
        "cas",
        "commonsense adherence",
        needs=("plausibility",),
        colour=(204, 121, 167),
        aspects="common_sense commonsense plausib physic phy factual realis reality natural",
        question="plausibility of motion: do things move as gravity, inertia, contact and their own build allow? "
        "5 nothing contradicts experience, 3 one thing plainly does, 1 hardly anything moves as it could.",
    ),
)
METRICS = tuple(sorted(metric.key for metric in _OURS))
"""Keys of our metrics, as records and tables list them."""

_registry: dict[str, Metric] = {metric.key: metric for metric in _OURS}


def register(metric: Metric) -> Metric:
    """Add a metric of one's own.

    Args:
        metric: The metric; those in its ``after`` are registered before it.

    Raises:
        ValueError: There is another metric of that key, or none of a key in ``after``.
    """
    existing = _registry.get(metric.key)
    metric = replace(metric, source=plugins.source())
    if existing is not None and (not existing.source or existing.source != metric.source):
        raise ValueError(f"There is already a metric called {metric.key!r}")
    unknown = [key for key in metric.after if key not in _registry]
    if unknown:
        raise ValueError(f"{metric.key} reads the result of {unknown[0]!r}, which is no metric")
    _registry[metric.key] = metric
    return metric


def registered() -> dict[str, Metric]:
    """Return every metric by key: ours, those of installed packages, and those registered here."""
    _load_entry_points()
    return dict(_registry)


def find(key: str) -> Metric | None:
    """Return the metric of that key, or None where there is none: scores of baselines have no entry."""
    if key not in _registry:
        _load_entry_points()
    return _registry.get(key)


def version_of(key: str) -> int:
    """Return what the scores of a metric mean; 1 where it has no entry, as baselines, whose runs describe them."""
    metric = find(key)
    return 1 if metric is None else metric.version


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of scores as they are listed: our metrics first, then anything else by name.

    >>> in_order({"ssim", "tcs", "niqe", "cas"})
    ('cas', 'tcs', 'niqe', 'ssim')
    """
    present = set(names)
    return (*(m for m in METRICS if m in present), *sorted(present.difference(METRICS)))


def label(name: str) -> str:
    """Return a score's name as charts and tables of several kinds show it: ours in capitals."""
    return name.upper() if name in METRICS else name


def colour_of(name: str) -> Colour:
    """Return a metric's colour in charts; that of text where it has none."""
    metric = find(name)
    return INK if metric is None else metric.colour


def load_plugins(paths: Sequence[str]) -> tuple[str, ...]:
    """Run files that register metrics, each once (:func:`vmmetrics.utils.plugins.run_plugins`).

    Returns:
        Keys of the metrics that they registered.

    Raises:
        SetupError: A file cannot be read, fails, or registers nothing.
    """
    loaded: list[str] = []
    for path, source in zip(paths, plugins.run_plugins(paths), strict=True):
        keys = [key for key, metric in _registry.items() if metric.source == source]
        if not keys:
            raise SetupError(f"The plugin {path} registers no metric; let it call vmmetrics.metrics.register")
        loaded += keys
    return tuple(loaded)


@cache
def _load_entry_points() -> None:
    from importlib import metadata  # not for --help

    for point in metadata.entry_points(group=GROUP):
        package = point.dist.name if point.dist else point.value
        try:
            with plugins.registering({"package": package, "version": point.dist.version if point.dist else "unknown"}):
                loaded = point.load()
                if isinstance(loaded, Metric):
                    register(loaded)
        except Exception as error:
            warnings.warn(f"metric {point.name} of package {package} cannot be loaded: {error}", stacklevel=2)


def _resolve(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function
