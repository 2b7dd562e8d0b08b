"""Workers that hang, stop, die or load for long; deadlines are for what would last an hour."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tests.engines.handlers import Obedient
from vmmetrics.engines import pool as pools
from vmmetrics.engines.pool import Pool, Result, checked_timeout
from vmmetrics.errors import SetupError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="stops processes")
Item = tuple[str, Any]


@contextmanager
def workers(jobs: int = 1, timeout: float = 1.0, **options: Any) -> Iterator[Pool[Item, Any]]:
    pool: Pool[Item, Any] = Pool(Obedient, jobs, timeout, **options)
    try:
        yield pool
    finally:
        pool.close()


def work(pool: Pool[Item, Any], *items: Item) -> list[Result[Item, Any]]:
    """Results of items, in the order they are done."""
    results: list[Result[Item, Any]] = []
    left = list(items)
    while left or pool.busy:
        while left and pool.free:
            pool.submit(left.pop(0))
        results += pool.collect()
    return results


def pretend(pool: Pool[Item, Any], item: Item, **state: Any) -> Connection:
    """The other end of a worker that has no process."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process()
    pool._workers.append(pools._Worker(process, ours, item, **state))
    return theirs


def lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["hang", "stop"])
def test_what_takes_too_long_fails_and_the_others_go_on(fault: str) -> None:
    with workers() as pool:
        results = work(pool, ("ok", 1), (fault, 2), ("ok", 3))
    assert [result.answer for result in results] == [1, None, 3]
    assert [result.late for result in results] == [False, True, False]
    assert "took longer than 1 s; raise --timeout" in results[1].failure
    assert results[1].note == (2 if fault == "hang" else None)
    assert results[1].seconds >= 1


@pytest.mark.slow
def test_one_of_two_that_hangs_does_not_hold_up_the_other() -> None:
    with workers(2) as pool:
        results = work(pool, ("hang", 0), *(("ok", n) for n in range(1, 6)))
    assert {result.answer for result in results} == {None, 1, 2, 3, 4, 5}


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["leave a child", "leave a child and die"])
def test_children_of_a_worker_that_is_late_or_dead_are_killed_too(fault: str) -> None:
    with workers() as pool:
        (result,) = work(pool, (fault, 0))
        while lives(result.note):
            time.sleep(0.02)


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="cannot look without reaping")
@pytest.mark.parametrize("reaped", [False, True])
def test_a_group_is_killed_only_while_its_number_is_taken(reaped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []

    def kill_group(group: int, number: int) -> None:
        os.waitid(os.P_PID, group, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # raises where the worker was reaped
        killed.append(group)

    with workers() as pool:
        pool.submit(("die", 0))
        (process,) = (worker.process for worker in pool._workers)
        if reaped:
            process.join()
        monkeypatch.setattr(os, "killpg", kill_group)
        (result,) = work(pool)
    assert "exit code 7" in result.failure
    assert killed == ([] if reaped else [process.pid])


@pytest.mark.slow
def test_an_answer_that_nobody_reads_for_long_is_not_late() -> None:
    with workers() as pool:
        pool.submit(("answer at length", 10_000_000))  # more than the pipe holds
        (worker,) = pool._workers
        while worker.loading or not worker.loaded:
            pool.collect(0.05)
        while not worker.connection.poll():
            time.sleep(0.02)
        time.sleep(1.5)  # as a parent does that is busy
        (result,) = work(pool)
    assert not result.late
    assert len(result.answer) == 10_000_000


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["an item", "loading"])
def test_what_a_late_worker_said_last_does_not_change_what_it_was_late_with(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool: Pool[Item, Any] = Pool(Obedient, 1, 1)
    theirs = pretend(pool, ("ok", 1), late=True, seconds=2.0, loading_seconds=0.0 if bound == "an item" else 3601.0)
    monkeypatch.setattr(pools, "end", lambda process: -9)
    theirs.send(("loading", bound == "an item"))
    theirs.close()
    assert pool.collect() == []
    if bound == "loading":
        with pytest.raises(SetupError, match="did not load"):
            pool.collect()
    else:
        (result,) = pool.collect()
        assert "took longer than 1 s" in result.failure


def test_what_was_read_with_a_setup_error_is_kept() -> None:
    pool: Pool[Item, Any] = Pool(Obedient, 2)
    bad, good = (pretend(pool, ("ok", number)) for number in range(2))
    bad.send(("setup", SetupError("a key is missing")))
    good.send(("answer", 1))
    assert [result.answer for result in pool.collect()] == [1]
    assert pool.busy  # somebody will ask again
    with pytest.raises(SetupError, match="key is missing"):
        pool.collect()


@pytest.mark.slow
def test_deaths_while_models_are_loaded_are_no_fault_of_the_item_but_end_the_pool_in_time(tmp_path: Path) -> None:
    with workers() as pool:
        (result,) = work(pool, ("die while loading", tmp_path, 2))
        assert result.answer == tmp_path
        with pytest.raises(SetupError, match=r"while it loaded its models, 4 times in a row \(exit code 7\)"):
            work(pool, ("die", 0), ("die while loading", tmp_path, 9))


def test_loading_within_loading_does_not_start_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[tuple[str, Any]] = []

    def send(kind: str, value: Any = None) -> None:
        messages.append((kind, value))

    monkeypatch.setattr("vmmetrics.utils.progress._listeners", [partial(send, "loading")])
    assert pools.reply(Obedient(), ("load in parts", 0), send) == ("answer", 0)
    assert messages == [("loading", True), ("loading", False), ("loaded", None)]


@pytest.mark.slow
@pytest.mark.parametrize("when", ["load slowly", "load on first use"])
def test_loading_does_not_count_against_an_item(when: str) -> None:
    with workers() as pool:
        assert [result.answer for result in work(pool, (when, 1.5), ("ok", 2))] == [1.5, 2]


@pytest.mark.slow
def test_loading_has_a_bound_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "LOADING_TIMEOUT", 0.3)
    with workers() as pool, pytest.raises(SetupError, match="did not load its models within"):
        work(pool, ("load slowly", 3600))


@pytest.mark.slow
def test_a_worker_that_was_stopped_between_two_items_is_ended() -> None:
    with workers() as pool:
        (first,) = work(pool, ("pid", None))
        os.kill(first.answer, signal.SIGSTOP)
        (late,) = work(pool, ("ok", 1))
        (after,) = work(pool, ("ok", 2))
    assert (late.late, after.answer) == (True, 2)
    assert not lives(first.answer)


@pytest.mark.slow
def test_a_large_item_for_a_stopped_worker_does_not_block() -> None:
    with workers() as pool:
        (first,) = work(pool, ("pid", None))
        os.kill(first.answer, signal.SIGSTOP)
        (late,) = work(pool, ("ok", b"0" * 10_000_000))  # fills the pipe
    assert late.late


@pytest.mark.slow
def test_closing_ends_hanging_and_stopped_workers() -> None:
    with workers(3, timeout=3600) as pool:
        pids = [result.answer for result in work(pool, ("pid", None))]
        pool.submit(("stop", 0))
        pool.submit(("hang", 1))
        pids += [worker.process.pid for worker in pool._workers]
    assert not any(map(lives, pids))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks into /proc")
def test_workers_start_with_ctrl_c_blocked() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with workers() as pool:
        pool.submit(("ok", 0))
        status = Path(f"/proc/{pool._workers[0].process.pid}/status").read_text()
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    (blocked,) = (int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigBlk"))
    assert blocked & 1 << (signal.SIGINT - 1)


ABANDONED = """
import time
from tests.engines.handlers import Obedient
from vmmetrics.engines.pool import Pool
if __name__ == "__main__":
    pool = Pool(Obedient, 1, 3600)
    pool.submit(("stop", 0))
    while pool.slowest[2]:
        pool.collect(0.05)
    print(pool._workers[0].process.pid, flush=True)
    time.sleep(3600)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a stopped process outlives its parent")
def test_a_stopped_worker_ends_with_its_parent(tmp_path: Path) -> None:
    script = tmp_path / "abandoned.py"
    script.write_text(ABANDONED)
    path = os.pathsep.join([str(Path(__file__).parents[2]), str(Path(__file__).parent)])
    parent = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    while lives(worker):
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["load never", "nothing is set up"])
def test_what_must_be_set_up_ends_it_all(fault: str) -> None:
    with workers() as pool, pytest.raises(SetupError):
        work(pool, (fault, 0))


@pytest.mark.parametrize(
    ("fault", "failure"), [("raise", "RuntimeError: something unforeseen"), ("answer what cannot be sent", "lambda")]
)
def test_an_error_costs_its_item_and_not_the_worker(fault: str, failure: str) -> None:
    with workers(timeout=3600) as pool:
        before, result, after = work(pool, ("pid", None), (fault, 0), ("pid", None))
    assert (result.answer, result.late) == (None, False)
    assert failure in result.failure
    assert before.answer == after.answer


def test_the_slowest_is_named_with_its_share_done() -> None:
    with workers(2, timeout=3600) as pool:
        assert pool.slowest is None
        pool.submit(("hang", 1))
        while pool.slowest is None or pool.slowest.seconds == 0 or pool.slowest.loading or not pool.slowest.share:
            pool.collect(0.05)
        pool.submit(("hang", 2))
        assert (pool.slowest.item, pool.slowest.share) == (("hang", 1), 0.5)


@pytest.mark.parametrize("by_parts", [True, False])
def test_a_timeout_holds_for_each_part_where_it_should(by_parts: bool) -> None:
    with workers(timeout=1.2, by_parts=by_parts) as pool:
        (result,) = work(pool, ("work in parts", 0.7))
    assert (result.answer, result.late) == ((0.7, False) if by_parts else (None, True))
    assert result.seconds > 1.2


@pytest.mark.parametrize(("timeout", "jobs"), [(5, 0), (0, 1), (-1, 1), (float("inf"), 1), (float("nan"), 1)])
def test_timeouts_that_cannot_be_kept(timeout: float, jobs: int) -> None:
    with pytest.raises(ValueError, match="timeout"):
        checked_timeout(timeout, jobs)


def test_nothing_is_unbounded_but_this_process() -> None:
    assert checked_timeout(None, 1) == pools.DEFAULT_TIMEOUT
    assert checked_timeout(None, 0) is None
