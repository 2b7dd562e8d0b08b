"""Which nodes get workers, as told by what their workers say; without a cluster."""

from __future__ import annotations

import platform
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vmmetrics.engines import actors
from vmmetrics.engines.connection import Cluster
from vmmetrics.errors import SetupError


class Worker:
    """Stands for Ray's class and handle of a worker: takes every call, answers none."""

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch, said: list[str]) -> Any:
    """Of a cluster of two nodes."""
    ray = pytest.importorskip("ray")  # not before: it reads variables that other tests set
    nodes = {
        name: {"Resources": {"CPU": 2.0}, "NodeManagerHostname": name, "NodeManagerAddress": "10.0.0.1"}
        for name in ("a", "b")
    }
    connection = SimpleNamespace(nodes=nodes, in_doubt=False, lost=False, free={}, silent={})
    monkeypatch.setattr(actors, "Connection", lambda _: connection)
    monkeypatch.setattr(actors, "_remote", lambda _: (Worker(), Worker()))
    monkeypatch.setattr(actors, "_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(ray, "kill", lambda _: None)
    return actors.Actors(dict, Cluster(), {"weights": "1"}, {}, said.append)  # type: ignore[arg-type]


def started(workers: Any, node: str | None) -> Any:
    """A worker that has said where it is."""
    workers.start()
    actor = workers.all[-1]
    if node is not None:
        known = workers._ours
        greeting = {"node": node, "host": node, "pid": 1, "output": None, "clock": time.time(), **known}
        workers.prepare(actor, greeting)
    return actor


def wait_for_pauses(workers: Any) -> None:
    while any(node.paused for node in workers._nodes.values()):
        time.sleep(0.01)
        workers.update_nodes()


def test_where_others_have_what_is_needed_it_is_tried_again_later(workers: Any, said: list[str]) -> None:
    for node in ("a", "b"):
        assert workers.can_start
        workers.give_up(started(workers, node), "busy", "the disk is full")
    assert not workers.can_start
    assert said == [f"no worker is started on node {node} for 0.02 s: the disk is full" for node in ("a", "b")]
    wait_for_pauses(workers)
    assert workers.can_start


def test_where_that_does_not_end_the_node_is_refused(workers: Any) -> None:
    for _ in range(4):
        workers.give_up(started(workers, "a"), "busy", "the disk is full")
        workers.give_up(started(workers, "b"), "busy", "the disk is full")
        workers.note_answer(started(workers, "b"))
    for actor in list(workers.all):
        workers.drop(actor)
    workers.give_up(started(workers, "a"), "busy", "the disk is full")  # "b" is left
    with pytest.raises(SetupError, match=r"(?s)No node of the cluster can run workers.*a: the disk is full"):
        for _ in range(5):
            workers.give_up(started(workers, "b"), "busy", "the disk is full")


def test_accidents_cost_a_node_that_works_a_while(workers: Any, said: list[str]) -> None:
    actor = started(workers, "a")
    workers.prepare(actor, ("ready", {"weights": "1"}))
    workers.note_answer(actor)
    for _ in range(3):
        assert not said
        workers.give_up(started(workers, "a"), "failed", "OSError: stale file handle")
    assert said == ["no worker is started on node a for 0.02 s: OSError: stale file handle"]


def test_where_none_has_worked_three_of_them_are_enough(workers: Any, said: list[str]) -> None:
    with pytest.raises(SetupError, match=r"(?s)No node of the cluster.*a: they crash.*b: they crash"):
        for _ in range(3):
            for node in ("a", "b"):
                workers.give_up(started(workers, node), "died", "they crash")
    assert said == ["node a is not used: they crash", "node b is not used: they crash"]


def test_workers_that_never_say_where_they_are_end_a_run_that_has_no_others(workers: Any, said: list[str]) -> None:
    there = started(workers, "b")
    for _ in range(3):
        workers.give_up(started(workers, None), "died", "No module named 'vmmetrics'")
    assert said == ["none are started for 0.02 s: some workers cannot be started: No module named 'vmmetrics'"]
    assert not workers.can_start
    workers.drop(there)
    with pytest.raises(SetupError, match="The workers cannot be started: No module named 'vmmetrics'"):
        for _ in range(3):
            workers.give_up(started(workers, None), "died", "No module named 'vmmetrics'")


def test_nothing_is_asked_of_a_head_in_doubt(workers: Any) -> None:
    workers.connection.in_doubt = True
    assert not workers.can_start
    assert workers.printed(started(workers, "a")) == ""


@pytest.mark.parametrize("checkout", [True, False])
def test_another_copy_of_the_package_in_the_current_folder_is_said_to_be_what_workers_import(
    workers: Any, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkout: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(platform, "node", lambda: "a")
    if checkout:
        (tmp_path / "vmmetrics").mkdir()
        (tmp_path / "vmmetrics" / "__init__.py").touch()
    workers.prepare(started(workers, "a"), ("ready", {"weights": "2"}))
    (text,) = said
    assert "weights: 1 (here), 2 (there)" in text
    assert (f"workers import {tmp_path / 'vmmetrics'}, of the current folder" in text) == checkout


def test_a_silent_node_counts_as_lost_until_it_answers(workers: Any, said: list[str]) -> None:
    there, elsewhere, nowhere = (started(workers, node) for node in ("a", "b", None))
    workers.connection.silent = {"a": 31.0}
    workers.update_nodes()
    assert not workers.node_lives(there) and workers.node_lives(elsewhere)
    assert nowhere not in workers.all  # it may wait for a place there
    assert workers.can_start
    workers.connection.silent = {"a": 32.0, "b": 31.0}
    workers.update_nodes()
    assert not workers.can_start
    workers.connection.silent = {}
    workers.update_nodes()
    assert workers.node_lives(there) and workers.can_start
    assert [text.partition(" since")[0] for text in said[:2]] == [f"node {n} (10.0.0.1) has not answered" for n in "ab"]
    assert sorted(said[2:]) == [f"node {n} (10.0.0.1) answers again" for n in "ab"]


@pytest.mark.parametrize("case", ["nothing is left", "it had a worker", "another loads its models"])
def test_a_node_that_leaves_after_all_others_were_refused_ends_a_run_unless_something_may_come(
    workers: Any, case: str
) -> None:
    there = started(workers, "b")
    if case == "it had a worker":
        workers.prepare(there, ("ready", {"weights": "1"}))
    workers.drop(there)
    if case == "another loads its models":
        started(workers, "a")
    workers.prepare(started(workers, "a"), ("ready", {"weights": "2"}))
    workers.update_nodes()  # "b" is left
    del workers.connection.nodes["b"]
    if case == "nothing is left":
        with pytest.raises(SetupError, match=r"(?s)No node of the cluster can run workers.*a: weights: 1 \(here\), 2"):
            workers.update_nodes()
    else:
        workers.update_nodes()
