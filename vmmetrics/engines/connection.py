"""Connection to a Ray cluster, or to one started by this process, with a watch over its head and nodes."""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from vmmetrics.errors import SetupError, install, os_reason

STORE_BYTES = 100 * 10**6
"""Object store of a cluster that this process starts: tasks and answers take a few kilobytes each."""
_HARD_EXIT_SECONDS = "300"  # after which Ray ends a process whose head is gone; 60 is too short for large tables
_POLL_SECONDS = 1.0
_ANSWER_SECONDS = 10.0  # for a head to take a connection
_REFUSALS = 3  # in a row, of the head's port, that make it lost
_DOUBT_SECONDS = 5.0  # without an answer
_SILENT_SECONDS = 30.0  # without an answer from a node, or from a head whose port is open
_LINK_SECONDS = 3.0  # between two connections to a node, and for it to take one
_TEXT = 800  # characters of Ray's that are repeated
_MODE, _TOKEN = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster, and the resources of each worker.

    Attributes:
        address: ``auto`` for the cluster that this machine belongs to, ``HOST:PORT`` of its head, or None for one that
            is started here and ends with this process.
        cpus: CPUs of a worker.
        gpus: GPUs of a worker; four workers with 0.25 share one.
        retries: How often an item whose worker died is tried again, alone.

    Raises:
        ValueError: An address of another kind, or numbers that cannot be.
    """

    address: str | None = None
    cpus: float = 1.0
    gpus: float = 0.0
    retries: int = 2

    def __post_init__(self) -> None:
        if self.address is not None and self.address != "auto" and _host_and_port(self.address) is None:
            instead = "; start the command on a node of the cluster, or with 'ray job submit'"
            hint = instead if "//" in self.address else ""
            raise ValueError(f"Expected an address as auto or HOST:PORT but got {self.address!r}{hint}")
        if not (self.cpus >= 0 and self.gpus >= 0 and self.cpus + self.gpus > 0):
            raise ValueError(
                f"Expected CPUs and GPUs of a worker from 0, and not both 0, but got {self.cpus}, {self.gpus}"
            )
        if self.gpus > 1 and self.gpus != int(self.gpus):
            raise ValueError(f"Expected a share of one GPU or whole GPUs but got {self.gpus}")
        if self.retries < 1:
            raise ValueError(f"Expected retries of 1 or more but got {self.retries}")


def _host_and_port(address: str) -> tuple[str, int] | None:
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 2**16:
        return None
    return host.strip("[]"), int(port)


def _is_here(host: str) -> bool:
    """Return True if a host is this machine, that is, its address can be bound."""
    try:
        addresses = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, protocol, _, address in addresses:
        with contextlib.suppress(OSError), socket.socket(family, kind, protocol) as trial:
            trial.bind((address[0], 0))
            return True
    return False


def _check_token(address: str) -> None:
    """Refuse a head on another machine without tokens: anyone who reaches it could run code on all nodes.

    Raises:
        SetupError: It is not asked for.
    """
    split = _host_and_port(address)
    if split is not None and not _is_here(split[0]) and os.environ.get(_MODE) != "token":
        raise SetupError(
            f"The Ray cluster at {address} is on another machine, and {_MODE} is not set to token: without a "
            f"token, anyone who reaches it can run code there; start it with {_MODE}=token and set the same here, with "
            f"{_TOKEN} or RAY_AUTH_TOKEN_PATH ('ray get-auth-token --generate' makes one)"
        )


def _check_answers(address: str) -> None:
    """Check that something listens at an address; Ray itself would try for a quarter of an hour.

    Raises:
        SetupError: Nobody does.
    """
    if (split := _host_and_port(address)) is None:
        return
    try:
        socket.create_connection(split, _ANSWER_SECONDS).close()
    except OSError as error:
        raise SetupError(
            f"No Ray cluster answers at {address} ({os_reason(error)}): start one with 'ray start --head', or give "
            "the address of its head with --address HOST:PORT"
        ) from error


def _detected_address() -> str:
    """Return the address that Ray takes for ``auto``; ``"auto"`` where it finds none."""
    with contextlib.suppress(Exception):
        from ray._private.services import canonicalize_bootstrap_address

        return str(canonicalize_bootstrap_address("auto"))
    return "auto"


def check_cluster(cluster: Cluster) -> None:
    """Check that a cluster may be connected to and that its head answers; loads Ray only to resolve ``auto``.

    Raises:
        SetupError: Ray is not installed, nothing answers, or it is on another machine and takes no token.
    """
    address = cluster.address
    if address is not None:
        _check_token(address)
    check_installed()
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # Ray reads both once, when it is imported
    os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", _HARD_EXIT_SECONDS)
    if address == "auto":
        import ray

        if ray.is_initialized():
            return
        address = _detected_address()
        if address == "auto":
            raise SetupError(
                "No Ray cluster runs on this machine: start one with 'ray start --head', or give the address of its "
                "head with --address HOST:PORT"
            )
        _check_token(address)
    if address is not None:
        _check_answers(address)


def check_installed() -> None:
    """Check that Ray is installed.

    Raises:
        SetupError: It is not installed.
    """
    if find_spec("ray") is None:
        raise SetupError(f"Ray is not installed; install it with: {install('ray')}")


class Connection:
    """The connection; one at a time in a process.

    Args:
        cluster: The cluster.

    Attributes:
        address: Address of the head.

    Raises:
        SetupError: Ray is not installed, there is no such cluster, it is of another version, or takes no token.
    """

    def __init__(self, cluster: Cluster) -> None:
        check_cluster(cluster)
        if cluster.address is None and "ray" not in sys.modules:  # which reads them once
            os.environ.setdefault("RAY_worker_niceness", "0")  # as workers of the local engine, instead of 15
            os.environ.setdefault(_MODE, "token")
            if os.environ[_MODE] == "token":  # nobody else on this machine or network may use the cluster
                os.environ.setdefault(_TOKEN, secrets.token_hex(32))
        import ray

        self._owned = not ray.is_initialized()
        if self._owned and cluster.address is None and os.environ.get(_MODE) != "token":
            raise SetupError(
                "Ray was imported before, without tokens: set RAY_AUTH_MODE=token before it is imported, or start a "
                "cluster and give its address"
            )
        if self._owned:
            _connect(cluster)
        self.address = str(ray.get_runtime_context().gcs_address)
        try:
            _check_token(self.address)  # auto may have led elsewhere
        except SetupError:
            self._disconnect()
            raise
        self._free: Mapping[str, float] = ray.available_resources()
        self._silent = 0.0  # seconds; those in which this process was stopped are not counted
        self._silences: dict[str, float] = {}  # the same of nodes, by name; only of those that answered before
        self._refused = 0
        self._closing = threading.Event()
        self._nodes: Mapping[str, Mapping[str, Any]] = {}
        self._update_nodes(ray.nodes())
        for watch in (self._watch_port, self._watch_nodes):
            threading.Thread(target=watch, name="cluster watch", daemon=True).start()

    @property
    def lost(self) -> bool:
        """True if the head refuses connections or no longer answers."""
        return self._refused >= _REFUSALS or self._silent > _SILENT_SECONDS

    @property
    def in_doubt(self) -> bool:
        """True if the head did not answer just now, so that a request may block."""
        return self._refused > 0 or self._silent > _DOUBT_SECONDS

    @property
    def nodes(self) -> Mapping[str, Mapping[str, Any]]:
        """Nodes that are alive, by Ray's name of them; Ray takes minutes to see that one is not."""
        return self._nodes

    @property
    def silent(self) -> dict[str, float]:
        """Seconds that nodes have not answered, by Ray's name of them; of those alone that are taken for lost."""
        return {name: seconds for name, seconds in self._silences.copy().items() if seconds > _SILENT_SECONDS}

    @property
    def free(self) -> Mapping[str, float]:
        """Free resources by Ray's name (``CPU``, ``GPU``)."""
        return self._free

    def _watch_port(self) -> None:
        host, port = _host_and_port(self.address) or ("", 0)
        last = time.monotonic()
        while not self._closing.wait(_POLL_SECONDS):
            now = time.monotonic()
            self._silent += min(now - last, 2 * _POLL_SECONDS)
            last = now
            try:
                socket.create_connection((host, port), _POLL_SECONDS).close()
                self._refused = 0
            except OSError:
                self._refused += 1

    def _watch_nodes(self) -> None:
        """Update the list of nodes; in a thread, since requests to a lost head block."""
        import ray

        while not self._closing.wait(_POLL_SECONDS):
            with contextlib.suppress(Exception):  # that it does not answer shows in the time
                self._update_nodes(ray.nodes())
                self._free = ray.available_resources()
                self._silent = 0.0

    def _update_nodes(self, nodes: Iterable[Mapping[str, Any]]) -> None:
        before = self._nodes
        self._nodes = {str(node["NodeID"]): node for node in nodes if node["Alive"]}
        for name in self._nodes.keys() - before.keys():
            threading.Thread(
                target=self._watch_link, args=(name, self._nodes[name]), name="node watch", daemon=True
            ).start()

    def _watch_link(self, name: str, node: Mapping[str, Any]) -> None:
        """Update how long a node has not answered; one that never did may be out of reach from here by design."""
        address = node["NodeManagerAddress"], node["NodeManagerPort"]
        last = time.monotonic()
        while name in self._nodes and not self._closing.wait(_LINK_SECONDS):
            now = time.monotonic()
            passed, last = min(now - last, 3 * _LINK_SECONDS), now
            try:
                socket.create_connection(address, _LINK_SECONDS).close()
                self._silences[name] = 0.0
            except OSError:
                if name in self._silences and not self.in_doubt:  # else the fault is most likely here
                    self._silences[name] += passed
        self._silences.pop(name, None)

    def close(self) -> None:
        """Disconnect; a cluster that was started here ends."""
        self._closing.set()
        if self.lost:  # what disconnects would wait for the head
            threading.Thread(target=self._disconnect, daemon=True).start()
            time.sleep(_POLL_SECONDS)
        else:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._owned:
            import ray

            ray.shutdown()


def _connect(cluster: Cluster) -> None:
    """Connect this process.

    Raises:
        SetupError: It cannot be done.
    """
    import ray

    logging.getLogger("ray").setLevel(logging.ERROR)
    options: dict[str, Any] = {"address": cluster.address}
    if cluster.address is None:
        options = {"address": "local", "include_dashboard": False, "object_store_memory": STORE_BYTES}
    try:
        with _own_signals():
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
    except Exception as error:  # of many kinds; each text is Ray's
        where = "start here" if cluster.address is None else f"be reached at {cluster.address}"
        text = " ".join(str(error).split())
        if "version mismatch" in text.lower():
            versions = f"Ray {ray.__version__}, Python {platform.python_version()}"
            text = f"its Ray or Python is of another version than here ({versions}): {text}"
        elif "Failed to connect" in text:
            text += f"; a server answers there, most likely with another token ({_TOKEN} or RAY_AUTH_TOKEN_PATH)"
        raise SetupError(f"The Ray cluster cannot {where}: {text[:_TEXT]}") from error
    with contextlib.suppress(ImportError):  # messages on dead workers: stdout is for results, and clips have them
        from ray._private import worker

        if hasattr(worker, "print_to_stdstream"):
            worker.print_to_stdstream = lambda *_, **__: None


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Keep this process's handler of SIGTERM, which Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
