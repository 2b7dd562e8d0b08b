"""Clips at addresses brought to this machine, one ahead of its turn."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from vmmetrics.clip import Clip
from vmmetrics.scoring.task import Task
from vmmetrics.utils.storage.scratch import Fetched, Scratch
from vmmetrics.utils.storage.state import FileState

Brought = tuple[Fetched, Clip | None]


class Fetcher:
    """Downloads clips into a scratch folder and reads them; each file is gone once its frames are in memory.

    Args:
        scratch: The folder.
        read: Reads a clip of a task from a file.
    """

    def __init__(self, scratch: Scratch, read: Callable[[Task, Path], Clip]) -> None:
        self._scratch, self._read = scratch, read
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fetch ahead")
        self._ahead: tuple[Task, Future[Brought]] | None = None

    def clip(self, task: Task) -> tuple[Clip, Fetched]:
        """Return the clip of a task, and the hash and state of its file.

        Raises:
            ClipError: It cannot be had, changed, or cannot be read.
            ScratchFullError: There is no room for it here.
        """
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0].only(task.metrics) == task:
            fetched, clip = ahead[1].result()
        else:
            if ahead is not None and not ahead[1].cancel():
                ahead[1].add_done_callback(_remove)
            fetched, clip = self._bring(task, decode=False)
        try:
            return clip or self._read(task, fetched.path), fetched
        finally:
            fetched.remove()

    def ahead(self, task: Task, decode: bool) -> None:
        """Begin to download a clip, and with ``decode`` to read it; what is wrong with it shows when its turn comes."""
        if self._ahead is None:
            self._ahead = task, self._thread.submit(self._bring, task, decode)

    def _bring(self, task: Task, decode: bool) -> Brought:
        assert task.uri is not None  # noqa: S101 - no other task is fetched
        fetched = self._scratch.fetch(task.uri, task.listed or FileState())
        if not decode:
            return fetched, None
        try:
            return fetched, self._read(task, fetched.path)
        except BaseException:
            fetched.remove()
            raise


def _remove(brought: Future[Brought]) -> None:
    """Remove what came for a clip that another process was given."""
    if brought.exception() is None:
        brought.result()[0].remove()
