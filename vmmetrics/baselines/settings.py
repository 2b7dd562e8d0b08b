"""The configuration of a run of baselines, for the machinery that runs the metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from vmmetrics.baselines.catalogue import BASELINES
from vmmetrics.baselines.suite import PRESET, BaselineSuite
from vmmetrics.run import provenance
from vmmetrics.run.settings import Scoring, Settings

_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class BaselineSettings(Settings):
    """How clips are read and measured.

    Attributes:
        preset: Always ``"baselines"``.
        metrics: Names of baselines, as :func:`vmmetrics.baselines.catalogue.chosen` gives them.
        given: What families need from the user, by name of the family.
        known: The baselines there are.
    """

    preset: str = PRESET
    metrics: tuple[str, ...] = tuple(BASELINES)
    given: tuple[tuple[str, Any], ...] = ()
    known: ClassVar[tuple[str, ...]] = tuple(BASELINES)

    def build(self, metrics: tuple[str, ...] | None = None) -> Scoring:
        """Load what the baselines need.

        Raises:
            SetupError: A package or file is missing.
        """
        return BaselineSuite(
            self.metrics if metrics is None else metrics,
            dict(self.given),
            threads=self.threads,
        )

    def configuration(self, suite: Scoring) -> dict[str, Any]:
        """Everything every value depends on besides the clip."""
        shared = Settings.configuration(self, suite)
        if "+" in shared["versions"]["vmmetrics"]:  # a checkout, whose code is named by its hash
            shared["versions"]["baselines"] = provenance.source_hash(_PACKAGE, ("baselines",))
        return shared

    def parts(self, suite: Scoring) -> Mapping[str, Mapping[str, Any]]:
        """Unit, direction and models of each baseline."""
        assert isinstance(suite, BaselineSuite)  # noqa: S101  (built by this class)
        return suite.parts
