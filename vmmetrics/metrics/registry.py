"""Registry of metrics: one entry each, with all that the rest of the package asks of a metric.

Custom metrics are registered by :func:`register` in a file given by ``--plugin``, or in a package with an entry point
in the group ``vmmetrics.metrics``.
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
    from vmmetrics.functional.event_costs import Divide
    from vmmetrics.types import MetricResult, Protocol

Colour = tuple[int, int, int]

INK: Colour = (24, 28, 36)

ABILITIES = ("flow", "camera", "objects", "subject", "poses", "quality", "plausibility")
"""Abilities of a scene that a metric can need. ``subject``: the points on the subject and behind it."""
GROUP = "vmmetrics.metrics"
"""Entry points of installed packages: a :class:`Metric`, or a module that registers its own."""
_KEY = re.compile(r"[a-z][a-z0-9_]{0,39}")
_TAKEN = (
    "amplitude any average clip clips clips_failed common_prompts comparable difference difference_high difference_low "
    "error fps frames height index missing model motion_index motion_index_or_0 next no_anchor notes own_change p "
    "p_holm path pattern preset prompt prompts protocol rank rank_shares seconds sha256 source subject table width"
)
"""Names of other columns of scores and leaderboards and of what options take, separated by blanks."""
_TAKEN_ENDS = ("_below_real", "_clips_without", "_half_width", "_high", "_low", "_prompts")
"""Ends of the names of columns beside that of a score, which they follow."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric and its properties.

    Attributes:
        key: Name in records, tables and options: lower-case letters, digits and ``_``.
        title: Name of the measured quantity.
        measure: ``measure(scene, protocol)`` to a :class:`~vmmetrics.types.MetricResult`, or the path of that
            function, as ``module:name``. The results of the metrics in ``after`` are passed by key, None where one
            failed. Of an index of one's own: ``measure(results, own_change)``, after all other metrics.
        needs: Abilities of the scene that it uses, of :data:`ABILITIES`; a preset loads only the models needed.
        after: Metrics whose results it reads.
        higher_is_better: Direction.
        range: Least and largest score under protocol ``vmmetrics``.
        low_is_fault: True if a low score is a defect of the clip.
        colour: Colour in charts, red, green and blue in 0..255.
        column: Column of VMBench's published table, or None.
        numbers: Further numbers of its result.
        aspects: Word prefixes in the names of ratings of this aspect.
        is_amount: True if it measures an amount of motion, which ratings of quality do not.
        not_of: Kinds of clips that it does not judge (:attr:`vmmetrics.perception.content.Unjudgeable.kind`): missing
            under protocol ``vmmetrics``.
        question: The question for a video language model on this aspect, or None.
        beside: ``beside(clip, protocol)`` to the properties of the scene that can be computed while other metrics
            run, as ``module:name``; None for none.
        across: True if it judges changes, so that the edge between two windows of a long clip is judged as well.
        source: Its origin: file or package, and its hash or version; empty for built-in metrics.
        divide: Division of its loss, 1 less the score, among events, as ``module:name``
            (:data:`vmmetrics.functional.event_costs.Divide`); None for a metric whose loss is not divided.
        meaning: What it tells, for readers of a report; empty for metrics of users.
        version: Version of the meaning of its scores: raised by hand with a change, so that scores of different
            versions are not mixed.
        is_index: True of an index of one's own (:mod:`vmmetrics.scoring.own_index`), made of the scores of ``after``.
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
    across: bool = False
    source: Mapping[str, str] = field(default_factory=dict)
    divide: str | None = None
    meaning: str = ""
    version: int = 1
    is_index: bool = False

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key):
            raise ValueError(f"Expected key to be of a-z, 0-9 and _ (40 at most) but got {self.key!r}")
        stem = next((self.key.removesuffix(end) for end in _TAKEN_ENDS if self.key.endswith(end)), None)
        if self.key in _TAKEN.split() or (stem and (stem in _TAKEN.split() or stem in _registry)):
            raise ValueError(f"{self.key!r} is the name of another column; choose another key")
        unknown = sorted(set(self.needs).difference(ABILITIES))
        if unknown:
            raise ValueError(f"Expected needs among {', '.join(ABILITIES)} but got {unknown[0]!r}")

    def compute(self, *scene_and_protocol: object, **earlier: MetricResult | None) -> MetricResult:
        """Return the result of :attr:`measure`."""
        measure = self.measure if callable(self.measure) else _resolve(self.measure)
        result: MetricResult = measure(*scene_and_protocol, **earlier)
        return result

    def beside_others(self, clip: Clip, protocol: Protocol) -> Sequence[str]:
        """Return the properties of the scene that can be computed while other metrics run."""
        names: Sequence[str] = _resolve(self.beside)(clip, protocol) if self.beside else ()
        return names

    @property
    def division(self) -> Divide | None:
        """Division of its loss among events, or None."""
        division: Divide | None = _resolve(self.divide) if self.divide else None
        return division

    def describe(self) -> dict[str, object]:
        """Return the description of a custom metric that a run records, as JSON types."""
        return {
            "title": self.title,
            "lower_is_better": not self.higher_is_better,
            "range": list(self.range),
            "source": dict(self.source),
        }


def _our(key: str, title: str, aspects: str, **more: Any) -> Metric:
    measure = f"vmmetrics.metrics.{key}:measure"
    more.setdefault("not_of", ("noise", "still", "slides"))
    return Metric(key, title, measure, aspects=(key, *aspects.split()), **more)


# In the order in which they are computed. Colours: Okabe and Ito's palette, without its vermilion.
_OURS = (
    _our(
        "pas",
        "perceptible amplitude",
        column="pas",
        meaning="amount of motion of the subject itself, camera motion removed; an amount, not a merit",
        needs=("camera", "subject"),
        low_is_fault=False,
        colour=(230, 159, 0),
        numbers=("amplitude",),
        aspects="dynamic amplitude degree magnitude amount intensity",
        is_amount=True,
        not_of=("noise", "slides"),  # of a still the amount is known: none
        version=3,
        question="amount of visible motion of the main subject, the camera's own motion left out: "
        "1 none to be seen, 3 moderate, 5 large and lively. This is an amount, not a merit.",
    ),
    _our(
        "mss",
        "motion smoothness",
        column="mss",
        divide="vmmetrics.functional.mss:divide_loss",
        across=True,
        meaning="is the picture equally clear while things move, without stutter, flicker or smearing",
        version=2,
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
        column="ois",
        divide="vmmetrics.functional.ois:divide_loss",
        meaning="do bodies and objects keep shape, proportions and number of parts",
        needs=("poses", "camera"),
        version=3,
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
        column="tcs",
        divide="vmmetrics.functional.tcs:divide_loss",
        across=True,
        meaning="does whatever is shown stay there unless something explains its absence",
        needs=("objects",),
        colour=(86, 180, 233),
        version=3,
        aspects="temporal_consistency temporal_coherence coheren continuity appearance_consistency identity vanish "
        "subject_consistency",
        question="continuity of existence: does whatever is shown stay there, unless something hides it, it leaves the "
        "picture or there is another reason? 5 nothing appears or vanishes without cause, 3 one thing does, 1 many "
        "things do.",
    ),
    _our(
        "cas",
        "commonsense adherence",
        column="cas",
        divide="vmmetrics.functional.cas:divide_loss",
        across=True,
        meaning="do things move as gravity, inertia, contact and their own build allow",
        needs=("plausibility",),
        version=2,
        colour=(204, 121, 167),
        aspects="common_sense commonsense plausib physic phy factual realis reality natural",
        question="plausibility of motion: do things move as gravity, inertia, contact and their own build allow? "
        "5 nothing contradicts experience, 3 one thing plainly does, 1 hardly anything moves as it could.",
    ),
)
METRICS = tuple(sorted(metric.key for metric in _OURS))
"""Keys of the built-in metrics, in the order of records and tables."""

_registry: dict[str, Metric] = {metric.key: metric for metric in _OURS}


def register(metric: Metric) -> Metric:
    """Register a custom metric.

    Args:
        metric: The metric; those in its ``after`` must be registered before.

    Returns:
        The metric with its source.

    Raises:
        ValueError: The key is taken by another metric, or a key in ``after`` is not registered.
    """
    existing = _registry.get(metric.key)
    metric = replace(metric, source=plugins.source())
    anew = existing is not None and existing.is_index and metric.is_index  # calibrated again in one session
    if existing is not None and not anew and (not existing.source or existing.source != metric.source):
        raise ValueError(f"There is already a metric called {metric.key!r}; choose another key")
    unknown = [key for key in metric.after if key not in _registry]
    if unknown:
        raise ValueError(f"{metric.key} reads the result of {unknown[0]!r}, which is not registered")
    _registry[metric.key] = metric
    return metric


def registered() -> dict[str, Metric]:
    """Return every metric by key: built-in, of installed packages, and registered in this process."""
    _load_entry_points()
    return dict(_registry)


def find(key: str) -> Metric | None:
    """Return the metric of that key, or None: baselines are not registered."""
    if key not in _registry:
        _load_entry_points()
    return _registry.get(key)


def version_of(key: str) -> int:
    """Return the version of a metric's scores; 1 for baselines, which are described in their runs."""
    metric = find(key)
    return 1 if metric is None else metric.version


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of scores in the order of tables: built-in metrics first, then the others by name.

    >>> in_order({"ssim", "tcs", "niqe", "cas"})
    ('cas', 'tcs', 'niqe', 'ssim')
    """
    present = set(names)
    return (*(m for m in METRICS if m in present), *sorted(present.difference(METRICS)))


def label(name: str) -> str:
    """Return a score's name in charts and tables: built-in metrics in capitals, and INDEX."""
    return "INDEX" if name == "motion_index" else name.upper() if name in METRICS else name


def colour_of(name: str) -> Colour:
    """Return a metric's colour in charts; the text colour where it is not registered."""
    metric = find(name)
    return INK if metric is None else metric.colour


def load_plugins(paths: Sequence[str]) -> tuple[str, ...]:
    """Run files that register metrics, each once (:func:`vmmetrics.utils.plugins.run_plugins`).

    Returns:
        Keys of the metrics registered.

    Raises:
        SetupError: A file cannot be read, fails, or registers nothing.
    """
    loaded: list[str] = []
    for path, source in zip(paths, plugins.run_plugins(paths), strict=True):
        keys = [key for key, metric in _registry.items() if metric.source == source]
        if not keys:
            raise SetupError(f"The plugin {path} registers no metric; call vmmetrics.metrics.register in it")
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
