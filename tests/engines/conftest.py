"""A Ray cluster of several nodes on this machine, for the tests marked ``ray``; nothing of it is left behind."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
MARK = "VMMETRICS_TEST_CLUSTER"
STORE = 80_000_000


def processes(mark: str) -> dict[int, str]:
    """Command lines of the processes that inherited a mark, by pid."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError):
                if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                    found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    return {pid: line for pid, line in found.items() if line}  # zombies have none


def workers_alive(mark: str) -> list[int]:
    return [pid for pid, line in processes(mark).items() if line.startswith("ray::NodeWorker")]


class Machines:
    """The cluster: a head that does no work, and nodes that come and go."""

    def __init__(self) -> None:
        self.mark = secrets.token_hex(8)
        self.folder = tempfile.mkdtemp(prefix="vmr", dir="/tmp")  # sockets need short paths
        (Path(self.folder) / "ray").mkdir()
        inherited = f"{HERE}{os.pathsep}{HERE.parent / 'scoring'}{os.pathsep}{HERE.parents[1]}"
        os.environ.update({
            MARK: self.mark, "RAY_TMPDIR": self.folder, "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32), "PYTHONPATH": inherited, "OPENBLAS_NUM_THREADS": "1",
            "RAY_worker_niceness": "0",  # not 15: beside other work they would get nothing
        })  # fmt: skip
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE, "temp_dir": self.folder}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)

    @property
    def address(self) -> str:
        return self.cluster.address

    def add(self, **options: Any) -> Any:
        return self.cluster.add_node(**{"num_cpus": 2, "object_store_memory": STORE, **options})

    def remove(self, node: Any) -> None:
        self.cluster.remove_node(node, allow_graceful=False)

    def workers(self) -> list[int]:
        return workers_alive(self.mark)

    def end(self) -> None:
        self.cluster.shutdown()
        deadline = time.monotonic() + 5
        while self.workers() and time.monotonic() < deadline:
            time.sleep(0.1)
        left = self.workers()
        for _ in range(2):  # agents of Ray outlive a head that was killed
            for pid in processes(self.mark):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.2)
        shutil.rmtree(self.folder, ignore_errors=True)
        assert not left, f"workers were left behind: {left}"


@pytest.fixture(scope="session")
def machines() -> Iterator[Machines]:
    if find_spec("ray") is None:  # not imported before the variables are set: it reads them once
        pytest.skip("needs Ray")
    before = dict(os.environ)
    sys.path[:0] = [str(HERE), str(HERE.parent / "scoring")]
    found = Machines()
    found.add()
    found.add()
    try:
        yield found
    finally:
        try:
            found.end()
        finally:
            os.environ.clear()
            os.environ.update(before)


@pytest.fixture
def make_pool(machines: Machines) -> Iterator[Callable[..., Any]]:
    """Make pools on the cluster, which are closed at the end."""
    from cluster_handlers import start

    from vmmetrics.engines.cluster import RayPool
    from vmmetrics.engines.connection import Cluster

    with contextlib.ExitStack() as stack:

        def make(jobs: int = 2, expected: Any = None, timeout: float = 60, say: Any = print, **takes: Any) -> Any:
            wanted = {"weights": "1"} if expected is None else expected
            cluster = Cluster(machines.address, **takes)
            pool = RayPool(start, jobs, cluster, wanted, timeout, None, say, lambda item: item[0] == "ahead")
            return stack.enter_context(contextlib.closing(pool))

        yield make


@pytest.fixture
def fake_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmmetrics.scoring.settings.SUITE", "fake_suite:FakeSuite")
