"""Reader of clips from disk or addresses, one clip ahead."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from vmmetrics.clip import Clip
from vmmetrics.scoring.task import Task
from vmmetrics.utils.storage.scratch import Fetched, Scratch
from vmmetrics.utils.storage.state import FileState
from vmmetrics.video.discover import state

ClipAndFile = tuple[Clip | None, Fetched | None]


class ClipReader:
    """Reads clips; one at an address is downloaded into a scratch folder, and removed once it is read.

    Args:
        scratch: The folder.
        read: Reads the clip of a task, from the downloaded file or from the task's own path.
    """

    def __init__(self, scratch: Scratch, read: Callable[[Task, Path | None], Clip]) -> None:
        self._scratch, self._read = scratch, read
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="read ahead")
        self._lock = Lock()  # of what is ahead: a worker on a cluster hears of it in another thread
        self._ahead: tuple[Task, object, Future[ClipAndFile]] | None = None

    def clip(self, task: Task, seen: object = None) -> tuple[Clip, Fetched | None]:
        """Return the clip of a task, and the download of its address.

        Args:
            task: The task.
            seen: State of its file; what was read ahead is used if the file had the same state then.

        Raises:
            ClipError: It cannot be fetched, changed, or cannot be read.
            ScratchError: Nothing can be fetched here.
        """
        with self._lock:
            ahead, self._ahead = self._ahead, None
        clip, fetched = self._prefetched(task, seen, ahead) or self._fetch_clip(task, decode=False)
        try:
            return clip or self._read(task, fetched.path if fetched else None), fetched
        finally:
            if fetched is not None:
                fetched.remove()

    def ahead(self, task: Task, decode: bool) -> None:
        """Begin to fetch a clip, unless another is being fetched; errors are raised by :meth:`clip`.

        Args:
            task: Its task.
            decode: Read it, too; otherwise it is downloaded at most.
        """
        if task.broken is not None or (task.uri is None and (task.path is None or not decode)):
            return
        with self._lock, contextlib.suppress(OSError):
            if self._ahead is None:
                seen = None if task.path is None else state(task.path)
                self._ahead = task, seen, self._thread.submit(self._fetch_clip, task, decode)

    def _prefetched(
        self, task: Task, seen: object, ahead: tuple[Task, object, Future[ClipAndFile]] | None
    ) -> ClipAndFile | None:
        """Return the clip fetched ahead if it is this one and unchanged, else None."""
        if ahead is None:
            return None
        expected, expected_state, future = ahead
        if expected.only(task.metrics) != task or expected_state != seen:
            if not future.cancel():
                future.add_done_callback(_remove)
            return None
        try:
            return future.result()
        except Exception:
            if task.uri is not None:
                raise
            return None  # reading it again tells why

    def _fetch_clip(self, task: Task, decode: bool) -> ClipAndFile:
        fetched = None if task.uri is None else self._scratch.fetch(task.uri, task.listed or FileState())
        if not decode:
            return None, fetched
        try:
            return self._read(task, fetched.path if fetched else None), fetched
        except BaseException:
            if fetched is not None:
                fetched.remove()
            raise


def _remove(coming: Future[ClipAndFile]) -> None:
    """Remove the download of a clip that another process scores."""
    if coming.exception() is None and (fetched := coming.result()[1]) is not None:
        fetched.remove()
