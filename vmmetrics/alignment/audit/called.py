"""A target as a function of a clip, for what measures functions."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vmmetrics.alignment.audit.calls import Caller, Limits
from vmmetrics.alignment.audit.clips import PROMPTS, SOUND
from vmmetrics.alignment.audit.material import Material
from vmmetrics.alignment.audit.own import OwnMetrics
from vmmetrics.alignment.audit.target import Target
from vmmetrics.alignment.probe.cases import Function
from vmmetrics.clip import Clip

ENDED = "its process ended"
"""Beginning of the error of a case in which the target hung or died: no answer, of which nothing follows."""


class CalledTarget:
    """A target as a function from a clip to its scores by name; its process is started once in each process.

    Args:
        target: The target.
        limits: Of its process.
        references: File with which a clip of a name is compared; itself where there is none.
        scratch: Folder for files, which the caller removes; None for one of the system's.
    """

    def __init__(
        self, target: Target, limits: Limits, references: Mapping[str, str] | None = None, scratch: Path | None = None
    ) -> None:
        self._target, self._limits, self._references = target, limits, dict(references or {})
        self._scratch = scratch
        self.__name__ = target.label
        self.__qualname__ = f"{target.kind} {target.text}"
        self._caller: Caller | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_caller": None}

    def __call__(self, clip: Clip) -> Mapping[str, float | None]:
        """Return scores by name.

        Raises:
            RuntimeError: The target refuses the clip, or its process ended; the text says why.
        """
        if self._caller is None:
            self._caller = Caller(self._target, self._limits, scratch=self._scratch)
        route = self._target.single or self._target.batch
        assert route is not None  # noqa: S101
        folder = Path(tempfile.mkdtemp(prefix="vmmetrics-audit-", dir=self._scratch))
        try:
            shown = clip.prompt or SOUND.get(Path(clip.name).stem, PROMPTS[0])
            item = Material(folder).item(replace(clip, prompt=shown))
            if route == "folder":
                item = item._replace(path=Material(folder).copied([item])[0].path)
            answer = self._caller([item._replace(reference=self._references.get(clip.name, item.path))], route)[0]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if answer.refused is not None:
            raise RuntimeError(f"{ENDED}: {answer.refused}" if answer.failed else answer.refused)
        return answer.scores

    def close(self) -> None:
        """End the process."""
        if self._caller is not None:
            self._caller.close()


def function_of(
    target: Target, limits: Limits, references: Mapping[str, str] | None = None, scratch: Path | None = None
) -> Function:
    """Return a target as a function of a clip: metrics of ours by one scoring of the clip in memory."""
    if target.kind == "metric":
        return OwnMetrics(target.text, target.plugins)
    return CalledTarget(target, limits, references, scratch)
