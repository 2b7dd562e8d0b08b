"""Workers of a Ray cluster as actors: started where there is room, checked before their first item, given up."""

from __future__ import annotations

import os
import pickle
import platform
import re
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from vmmetrics.engines.connection import Cluster, Connection
from vmmetrics.engines.node import ClusterHandler, Greeting, NodeWorker, code_hash, tail
from vmmetrics.engines.pool import Item, usable_cores
from vmmetrics.errors import SetupError
from vmmetrics.utils.storage.provenance import PACKAGE, differences

_ROOM_SECONDS = 60.0  # without resources for a worker, after which a message is shown
_TAIL_SECONDS = 5.0  # for a node to read what a worker printed
_FAILURES = 3  # in a row of workers of one node that take no items, after which it gets no others for a while
_PAUSE_SECONDS = 10.0  # of the first such while; doubled for each further one
_PAUSES = 4  # of a node without an answer from it, after which it is refused
_NODE_LABEL = "ray.io/node-id"
_TEXT = 600  # characters of what Ray says
_THREADS = "OMP_NUM_THREADS"  # of numpy; with another number than here, as Ray sets, sums are rounded otherwise


@dataclass
class _Node:
    """State of a node."""

    refused: str = ""  # why
    paused: float = 0.0  # until, by the monotonic clock
    pauses: int = 0  # since its last answer
    failures: int = 0  # of workers, since one was ready or it paused
    ready: bool = False  # a worker took items there
    worked: bool = False  # it gave an answer
    silent: bool = False

    def pause(self) -> float:
        """Let no worker be started for a while; return its seconds."""
        seconds: float = _PAUSE_SECONDS * 2 ** (self.pauses - 1)
        self.paused = time.monotonic() + seconds
        return seconds

    @property
    def barred(self) -> bool:
        """True while no worker may be started there."""
        return bool(self.refused) or self.paused > 0 or self.silent


@dataclass(eq=False)
class ClusterJob(Generic[Item]):
    """An item on its way.

    Attributes:
        pieces: The same, packed.
        alone: True after a worker died while it worked on it: the next one gets no other item.
        deaths: Nodes and causes of the deaths of workers that had nothing else.
        moves: Workers lost while they had it, for other reasons than a crash of it.
        since: When the last of its workers died.
    """

    item: Item
    pieces: list[bytes]
    alone: bool = False
    deaths: list[tuple[str, str]] = field(default_factory=list)
    moves: int = 0
    since: float = 0.0


@dataclass(eq=False)
class ClusterActor(Generic[Item]):
    """A worker.

    Attributes:
        handle: Ray's handle of it.
        pending: Reference of its start-up call, or None once it takes items.
        greeting: Its identity, once it runs.
        calls: Jobs in hand, in their order, with Ray's references to what comes of them.
        seconds: How long the first of them, or loading, has taken.
        reserved: True if it gets nothing more until a job that must be alone can have it.
    """

    handle: Any
    pending: Any
    greeting: Greeting | None = None
    calls: deque[tuple[Any, ClusterJob[Item]]] = field(default_factory=deque)
    seconds: float = 0.0
    reserved: bool = False

    @property
    def ready(self) -> bool:
        """True if it takes items."""
        return self.pending is None

    @property
    def next(self) -> Any:
        """Reference of its next answer, or None."""
        return self.calls[0][0] if self.calls else self.pending

    def clock(self) -> Any:
        """Ask how long it has been at its item (:meth:`.NodeWorker.clock`); return Ray's reference of the answer."""
        return self.handle.clock.options(concurrency_group="watch").remote()

    @property
    def node(self) -> str | None:
        """Ray's name of its node, once it runs."""
        return None if self.greeting is None else self.greeting.node

    @property
    def name(self) -> str | None:
        """Its host and process, once it runs."""
        return None if self.greeting is None else self.greeting.name


class Actors(Generic[Item]):
    """The workers there are.

    Args:
        start: Makes the handler of a worker; importable on every node, as are its arguments.
        cluster: The cluster, and the resources of a worker.
        expected: Configuration that every handler must state; a node with another is refused. None takes that of the
            first.
        environment: Variables that workers get.
        say: Receives messages for the user: refused nodes, missing resources.

    Attributes:
        expected: Configuration of every handler; None until the first worker has loaded its models.
        all: The workers, those that wait for room included.
        connection: To the cluster.

    Raises:
        SetupError: See :class:`~vmmetrics.engines.connection.Connection`.
    """

    def __init__(
        self,
        start: Callable[[], ClusterHandler],
        cluster: Cluster,
        expected: Mapping[str, Any] | None,
        environment: Mapping[str, str],
        say: Callable[[str], None],
    ) -> None:
        self._start, self._cluster, self._environment, self._say = pickle.dumps(start), cluster, environment, say
        self.expected = expected
        self._ours = {"python": _minor(platform.python_version()), "code": code_hash()}
        self.all: list[ClusterActor[Item]] = []
        self._nodes: defaultdict[str | None, _Node] = defaultdict(_Node)  # by name; None: before it was known
        self._room_reported = False
        self.connection = Connection(cluster)
        self._worker, self._tail = _remote(cluster)
        self._placed = time.monotonic()  # when a worker last found room

    @property
    def can_start(self) -> bool:
        """Return True if a worker may be started: the head answers, and some node with room for one is not barred."""
        if self.connection.in_doubt or self._nodes[None].barred:
            return False
        fit = [name for name, node in self.connection.nodes.items() if self._fits(node)]
        return not fit or not all(self._nodes[name].barred for name in fit)  # nodes may join

    def start(self) -> None:
        """Start one more worker, once there is room for it on a node that is not barred; see :attr:`can_start`."""
        barred = sorted(name for name, node in self._nodes.items() if name is not None and node.barred)
        options = {"label_selector": {_NODE_LABEL: f"!in({','.join(barred)})"}} if barred else {}
        handle = self._worker.options(**options).remote(self._start, self._environment, self._cluster.gpus)
        self.all.append(ClusterActor(handle, handle.greet.remote()))

    def drop(self, actor: ClusterActor[Item]) -> list[ClusterJob[Item]]:
        """Give a worker up and return its jobs; later answers of it are ignored."""
        import ray

        if actor in self.all:
            self.all.remove(actor)
        ray.kill(actor.handle)
        jobs = [job for _, job in actor.calls]
        actor.calls.clear()
        return jobs

    def prepare(self, actor: ClusterActor[Item], value: Any) -> None:
        """Process a worker's start-up replies: its identity, then its configuration.

        Raises:
            SetupError: It differs from here, and no other node is left.
        """
        actor.seconds = 0.0
        if actor.greeting is None:
            actor.greeting = Greeting(**{name: value[name] for name in Greeting.__slots__})
            self._placed, self._room_reported = time.monotonic(), False
            remote = {"python": _minor(actor.greeting.python), "code": actor.greeting.code}
            if different := differences(self._ours, remote, names=("here", "there")):
                self.refuse(actor, "; ".join(different) + _other_package(actor.greeting.host))
                return
            actor.pending = actor.handle.prepare.remote()
            return
        kind, detail = value
        if kind != "ready":
            self.give_up(actor, kind, detail)
            return
        if self.expected is None:
            self.expected = detail
        if different := differences(self.expected, detail, names=("here", "there")):
            self.refuse(actor, "; ".join(different) + _other_package(actor.greeting.host))
        else:
            actor.pending = None
            node = self._nodes[actor.node]
            node.ready, node.failures, self._nodes[None].failures = True, 0, 0

    def note_answer(self, actor: ClusterActor[Item]) -> None:
        """Note that a node works."""
        node = self._nodes[actor.node]
        node.worked, node.pauses, self._nodes[None].pauses = True, 0, 0

    def give_up(self, actor: ClusterActor[Item], kind: str, reason: str) -> None:
        """Give up a worker without jobs, and update the state of its node.

        Args:
            actor: The worker.
            kind: ``refused`` where something is missing there, ``busy`` where others have it; anything else is an
                accident, which may not happen again.
            reason: Its message, or how it ended.

        Raises:
            SetupError: No other node is left.
        """
        node = self._nodes[actor.node]
        node.failures += kind not in ("refused", "busy")
        if kind == "busy" or node.failures >= _FAILURES:
            node.pauses, node.failures = node.pauses + 1, 0
            hopeless = kind != "busy" and not any(node.worked for node in self._nodes.values())
            if actor.greeting is None:
                self._pause_all(actor, node, reason, hopeless)
            elif hopeless or node.pauses > _PAUSES:
                self.refuse(actor, reason)
            else:
                self.drop(actor)
                seconds = node.pause()
                self._say(f"no worker is started on node {actor.greeting.host} for {seconds:g} s: {reason}")
        elif kind == "refused":
            self.refuse(actor, reason)
        else:
            self.drop(actor)

    def _pause_all(self, actor: ClusterActor[Item], node: _Node, reason: str, hopeless: bool) -> None:
        """Start no worker for a while, since the failing node is unknown."""
        self.drop(actor)
        text = f"workers cannot be started: {' '.join(reason.split())[-_TEXT:]}"
        if hopeless and not any(other.greeting for other in self.all):
            raise SetupError(f"The {text}")
        node.pauses = min(node.pauses, _PAUSES)
        seconds = node.pause()
        self._say(f"none are started for {seconds:g} s: some {text}")

    def update_nodes(self) -> None:
        """Keep workers off nodes that fell silent, and let them be started where that or a pause is over.

        Raises:
            SetupError: All nodes are refused, but for those that left before they had a worker.
        """
        silent, nodes = self.connection.silent, self.connection.nodes
        over = [node for node in self._nodes.values() if 0 < node.paused < time.monotonic()]
        for node in over:
            node.paused = 0.0
        changed = [name for name in {*self._nodes, *silent} if name and self._nodes[name].silent != (name in silent)]
        for name in changed:
            self._nodes[name].silent = name in silent
            known = nodes.get(name)
            host = f"{known['NodeManagerHostname']} ({known['NodeManagerAddress']})" if known else name[:8]
            if name in silent:
                clips = sum(len(actor.calls) for actor in self.all if actor.node == name)
                since = time.strftime("%H:%M:%S", time.localtime(time.time() - silent[name]))
                self._say(f"node {host} has not answered since {since}; clips that go to others: {clips}")
            elif name in nodes:
                self._say(f"node {host} answers again")
        if over or changed:  # those that have no place yet may have it there, or wait for it where none is
            for actor in [actor for actor in self.all if actor.greeting is None]:
                self.drop(actor)
        may_return = any(node.ready and not node.refused for node in self._nodes.values())
        if not may_return and not any(actor.greeting for actor in self.all):  # nor loads one its models
            self._check_left()

    def refuse(self, actor: ClusterActor[Item], reason: str) -> None:
        """Give up a worker without jobs, and start no more on its node.

        Raises:
            SetupError: No other node is left.
        """
        self.drop(actor)
        assert actor.greeting is not None  # noqa: S101  (nothing else is known to differ)
        node, host = self._nodes[actor.node], actor.greeting.host
        if not node.refused:
            node.refused = f"{host}: {reason}"
            used = any(other.ready and other.node == actor.node for other in self.all)
            self._say(f"node {host} {'gets no more workers' if used else 'is not used'}: {reason}")
        self._check_left()

    def _check_left(self) -> None:
        """Raise SetupError where all nodes that have room are refused, and no worker takes items."""
        fit = [self._nodes[name] for name, node in self.connection.nodes.items() if self._fits(node)]
        reasons = [f"  {node.refused}" for node in self._nodes.values() if node.refused]
        if reasons and all(node.refused for node in fit) and not any(actor.ready for actor in self.all):
            raise SetupError("No node of the cluster can run workers:", *reasons)

    def _fits(self, node: Mapping[str, Any]) -> bool:
        """Return True if an empty node of this size has room for a worker."""
        has = node["Resources"]
        return bool(has.get("CPU", 0) >= self._cluster.cpus and has.get("GPU", 0) >= self._cluster.gpus)

    def node_lives(self, actor: ClusterActor[Item]) -> bool:
        """Return True unless a worker's node is known to have left the cluster, or is silent."""
        return actor.node is None or (actor.node in self.connection.nodes and not self._nodes[actor.node].silent)

    def printed(self, actor: ClusterActor[Item]) -> str:
        """Return the last lines that a worker printed, with words before them; empty where they cannot be fetched."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        if actor.greeting is None or actor.greeting.output is None:
            return ""
        if self.connection.in_doubt or not self.node_lives(actor):
            return ""
        strategy = NodeAffinitySchedulingStrategy(actor.greeting.node, soft=False)
        reference = self._tail.options(scheduling_strategy=strategy).remote(actor.greeting.output)
        try:
            text = str(ray.get(reference, timeout=_TAIL_SECONDS))
        except ray.exceptions.RayError:
            return ""
        return f"; the last lines of {actor.greeting.output}:\n{text}" if text else ""

    def say_room(self) -> None:
        """Report once that workers wait for CPUs or GPUs, and the free ones."""
        now, waiting = time.monotonic(), sum(actor.greeting is None for actor in self.all)
        if not waiting:
            self._placed = now
        if self._room_reported or now < self._placed + _ROOM_SECONDS:
            return
        self._room_reported = True
        free, needed = self.connection.free, f"{self._cluster.cpus:g} CPU and {self._cluster.gpus:g} GPU"
        room = f"free are {free.get('CPU', 0):g} CPU and {free.get('GPU', 0):g} GPU"
        if not any(self._fits(node) for node in self.connection.nodes.values()):
            room += ", and no node has as much"
        self._say(f"{waiting} of {len(self.all)} workers do not run yet (each takes {needed}); {room}")

    def close(self) -> None:
        """End the workers, the ones at work as well, and leave the cluster."""
        if not self.connection.lost:
            for actor in list(self.all):
                self.drop(actor)
        self.connection.close()


def _remote(cluster: Cluster) -> tuple[Any, Any]:
    """Return the remote class of workers and the remote function for log tails; registered once, as that blocks."""
    import ray

    worker = ray.remote(
        num_cpus=cluster.cpus,
        num_gpus=cluster.gpus,
        max_restarts=0,  # the scheduler moves its items elsewhere
        max_task_retries=0,
        concurrency_groups={"watch": 1},
        scheduling_strategy="SPREAD",
        runtime_env={"env_vars": {_THREADS: os.environ.get(_THREADS, str(usable_cores()))}},
    )(NodeWorker)
    return worker, ray.remote(num_cpus=0, max_retries=0)(tail)


def cause_of(error: Exception) -> str:
    """Return how a process ended, from Ray's error."""
    import ray

    text = str(error)
    if isinstance(error, ray.exceptions.OutOfMemoryError) or "memory monitor" in text:
        return "ended by Ray for using too much memory: lower --jobs or --max-memory, or raise --cpus-per-job"
    if match := re.search(r"exit code (-?\d+)", text):
        return f"exit code {match[1]}"
    return "it crashed, or was killed, most likely for using too much memory"


def _other_package(host: str) -> str:
    """Return words on the copy of this package that workers on this machine import from the current folder, if any."""
    there = Path.cwd() / PACKAGE.name
    if host != platform.node() or not (there / "__init__.py").is_file() or there.samefile(PACKAGE):
        return ""
    return f" (workers import {there}, of the current folder, not {PACKAGE}: start the command in another folder)"


def _minor(version: str) -> str:
    """Return the part of a version of Python that must be the same everywhere.

    >>> _minor("3.11.2")
    '3.11'
    """
    return ".".join(version.split(".")[:2])
