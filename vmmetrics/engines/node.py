"""Code that runs on the nodes of a cluster: a worker with its handler, and the check of a node for ``doctor``."""

from __future__ import annotations

import json
import os
import pickle
import platform
import shutil
import subprocess
import tempfile
import threading
import time
import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from vmmetrics.engines.pool import Handler, reply
from vmmetrics.errors import BusyError, SetupError, explain
from vmmetrics.utils.progress import loading, on_loading, on_part
from vmmetrics.utils.storage import provenance

PIECE_BYTES = 90_000
"""Bytes of a call or its result: from 100 KB on Ray would put it into the object store of a node."""
_TAIL_LINES, _TAIL_BYTES = 20, 4000  # of a worker's output, in the error of a clip
_RAYS = (":job_id:", ":actor_name:", ":task_name:")  # lines that Ray writes for itself
_FREE_SHARE = 0.9  # of its part of a GPU that a worker must find free
_FREE_SECONDS = 30.0  # for the memory of a worker that ended to be given back
_NVIDIA_SMI = ("nvidia-smi", "--query-gpu=name,memory.total,memory.free", "--format=csv,noheader,nounits")
_MEGABYTES = 2**20


@dataclass(frozen=True, slots=True)
class Greeting:
    """Identity of a worker, sent before it loads anything.

    Attributes:
        node: Ray's name of its node.
        host: Name of the machine.
        pid: Process there.
        python: Version of Python.
        code: Hash of the package's code.
        output: File with the worker's output, or None.
    """

    node: str
    host: str
    pid: int
    python: str
    code: str
    output: str | None

    @property
    def name(self) -> str:
        """Host and process, as records have it."""
        return f"{self.host}:{self.pid}"


def code_hash() -> str:
    """Return a hash of eight letters of all code of this package."""
    return provenance.source_hash(provenance.PACKAGE, (".",))


class ClusterHandler(Handler[Any, Any], Protocol):
    """A handler whose results depend on what is installed on its node."""

    def configuration(self) -> Mapping[str, Any]:
        """Load the models; return what results depend on, ready for JSON."""

    def ahead(self, item: Any) -> None:
        """Begin what can be done for the next item while another is at work; called from another thread."""


class NodeWorker:
    """Works on one item at a time; :meth:`ahead` and :meth:`clock` answer beside it.

    Args:
        start: Pickled function that makes the handler.
        environment: Variables that are set before anything is loaded.
        gpus: Share of a GPU, or number of GPUs, that Ray gave it.
    """

    def __init__(self, start: bytes, environment: Mapping[str, str], gpus: float = 0.0) -> None:
        os.environ.update(environment)
        self._start = start
        self._gpus = gpus
        self._handler: ClusterHandler | None = None
        self._at_work = b""
        self._item: list[bytes] = []
        self._rest: deque[bytes] = deque()
        self._note: Any = None
        self._lock = threading.Lock()
        self._began = self._loading_since = self._earlier = 0.0  # seconds of the parts of the item before this one
        self._loaded = 0.0  # seconds of loading since the item began
        on_loading(self._mark_loading)
        on_part(self._mark_part)

    def greet(self) -> dict[str, Any]:
        """Return the fields of :class:`Greeting`: plain, since another version of it may be what reads them."""
        import ray

        node, python = ray.get_runtime_context().get_node_id(), platform.python_version()
        return asdict(Greeting(node, platform.node(), os.getpid(), python, code_hash(), _output()))

    def prepare(self) -> tuple[str, Any]:
        """Load the models.

        Returns:
            ``("ready", configuration)``; ``("refused", why)`` where something is missing here; ``("busy", why)`` where
            others have what is needed.
        """
        try:
            _take_share(self._gpus)
            handler = pickle.loads(self._start)()  # noqa: S301 - from the process that started this one
            with loading():
                configuration = handler.configuration()
        except BusyError as error:
            return "busy", str(error)
        except SetupError as error:
            return "refused", str(error)
        self._handler = handler
        return "ready", json.loads(json.dumps(configuration))

    def take(self, piece: bytes) -> None:
        """Keep a piece of the next item; :meth:`work` gets the last."""
        self._item.append(piece)

    def ahead(self, piece: bytes) -> None:
        """Begin what can be done for an item of one piece before its turn; answers beside an item at work."""
        if self._handler is not None and piece != self._at_work:
            self._handler.ahead(unpacked([piece]))

    def work(self, piece: bytes) -> tuple[str, Any, Any, float, int]:
        """Work on an item that was :func:`packed`.

        Returns:
            Kind (``answer``, ``error``, ``refused`` or ``busy``), first piece of the packed answer or text, note,
            seconds without loading, and how many pieces of the answer are left for :meth:`rest`.
        """
        assert self._handler is not None  # noqa: S101  (prepare() comes first)
        with self._lock:
            self._began, self._loaded, self._earlier, self._note = time.monotonic(), 0.0, 0.0, None
        self._at_work = piece
        item, self._item = unpacked([*self._item, piece]), []
        kind, value = reply(self._handler, item, self._send)
        left = 0
        if kind == "answer":
            try:
                value, *rest = packed(value)
                left = len(rest)
                self._rest.extend(rest)
            except Exception as error:
                kind, value = "error", explain(error)
        elif kind == "setup":
            kind, value = "busy" if isinstance(value, BusyError) else "refused", str(value)
        seconds, _, note = self.clock()
        return kind, value, note, round(self._earlier + seconds, 3), left

    def rest(self) -> bytes:
        """Return the next piece of an answer; answers are asked for in their order."""
        return self._rest.popleft()

    def clock(self) -> tuple[float, float, Any]:
        """Return seconds at the present item, or its part, without loading, those of loading now, and its note."""
        with self._lock:
            now = time.monotonic()
            loading_now = now - self._loading_since if self._loading_since else 0.0
            return round(now - self._began - self._loaded - loading_now, 3), loading_now, self._note

    def _send(self, kind: str, value: Any = None) -> None:
        if kind == "note":
            self._note = value

    def _mark_part(self) -> None:
        seconds, *_ = self.clock()
        with self._lock:  # its time counts from here
            self._began, self._loaded, self._earlier = time.monotonic(), 0.0, self._earlier + seconds

    def _mark_loading(self, begins: bool) -> None:
        with self._lock:
            now = time.monotonic()
            if not begins and self._loading_since:
                self._loaded += now - self._loading_since
            self._loading_since = now if begins else 0.0


def packed(value: Any) -> list[bytes]:
    """Return a value pickled and compressed, in pieces so small that Ray sends them along with a call."""
    return pieces_of(pickle.dumps(value))


def pieces_of(pickled: bytes) -> list[bytes]:
    """Return what was pickled, compressed and in pieces."""
    data = zlib.compress(pickled, 1)
    return [data[start : start + PIECE_BYTES] for start in range(0, len(data), PIECE_BYTES)]


def unpacked(pieces: Sequence[bytes]) -> Any:
    """Return what was :func:`packed`, by a process of ours."""
    return pickle.loads(zlib.decompress(b"".join(pieces)))  # noqa: S301


def _take_share(gpus: float) -> None:
    """Keep this process to its share of a GPU.

    Raises:
        BusyError: So much of its memory is not free.
    """
    if not gpus or find_spec("torch") is None:
        return
    import torch

    if not torch.cuda.is_available():
        return
    share, deadline = min(gpus, 1.0), time.monotonic() + _FREE_SECONDS
    while True:
        free, total = torch.cuda.mem_get_info()
        if free >= _FREE_SHARE * share * total:
            break
        if time.monotonic() > deadline:
            memory = f"{free / 1e9:.1f} of {total / 1e9:.1f} GB are free on {torch.cuda.get_device_name()}"
            raise BusyError(f"{memory}, and --gpus-per-job {gpus:g} needs {share * total / 1e9:.1f} GB")
        time.sleep(1)
    if share < 1:
        torch.cuda.set_per_process_memory_fraction(share)


def _output() -> str | None:
    """Return the file that this process prints its errors to."""
    try:
        path = os.readlink("/proc/self/fd/2")  # noqa: PTH115 - a pipe is no path
    except OSError:
        return None
    return path if os.path.isfile(path) else None  # noqa: PTH113


def tail(path: str) -> str:
    """Return the last lines of a file, as far as they can be read."""
    try:
        with Path(path).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(_RAYS)]
    return "\n".join(lines[-_TAIL_LINES:])


def describe_node() -> dict[str, Any]:
    """Return the properties of a node: host, versions, code, memory of its GPUs, and scratch disk."""
    scratch = tempfile.gettempdir()
    disk = shutil.disk_usage(scratch)
    return {
        "host": platform.node(),
        "versions": provenance.recorded_versions(),
        "code": code_hash(),
        "gpus": _gpus(),
        "scratch": {"folder": scratch, "bytes": disk.total, "free": disk.free},
    }


CLOCK_SECONDS = 60.0
"""Seconds by which the clock of a node may differ from the one here."""


def node_time() -> float:
    """Return the time on a node, in seconds since 1970."""
    return time.time()


def _gpus() -> list[dict[str, Any]]:
    """Name, and bytes in all and free, of every GPU that the driver shows."""
    if (command := shutil.which(_NVIDIA_SMI[0])) is None:
        return []
    try:
        output = subprocess.run([command, *_NVIDIA_SMI[1:]], capture_output=True, text=True, timeout=20, check=True)  # noqa: S603
        rows = [[cell.strip() for cell in line.split(",")] for line in output.stdout.splitlines() if line.strip()]
        return [
            {"name": name, "bytes": int(total) * _MEGABYTES, "free": int(free) * _MEGABYTES}
            for name, total, free in rows
        ]
    except (OSError, ValueError, subprocess.SubprocessError):
        return []
