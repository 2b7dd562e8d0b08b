"""Workers that hang, stop, die or load for long; deadlines are for what would last an hour."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from handlers import Obedient

from vmmetrics.errors import SetupError
from vmmetrics.run import pool as pools
from vmmetrics.run.pool import Pool, Result, checked_timeout

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


def lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("fault", ["hang", "stop"])
def test_what_takes_too_long_fails_and_the_others_go_on(fault: str) -> None:
    with workers() as pool:
        results = work(pool, ("ok", 1), (fault, 2), ("ok", 3))
    assert [result.answer for result in results] == [1, None, 3]
    assert [result.late for result in results] == [False, True, False]
    assert "took longer than 1 s; raise --timeout" in results[1].failure
    assert results[1].note == (2 if fault == "hang" else None)
    assert results[1].seconds >= 1


def test_one_of_two_that_hangs_does_not_hold_up_the_other() -> None:
    with workers(2) as pool:
        results = work(pool, ("hang", 0), *(("ok", n) for n in range(1, 6)))
    assert {result.answer for result in results} == {None, 1, 2, 3, 4, 5}


def test_children_of_a_late_worker_are_killed_too() -> None:
    with workers() as pool:
        (result,) = work(pool, ("leave a child", 0))
        while lives(result.note):
            time.sleep(0.02)


@pytest.mark.parametrize("when", ["load slowly", "load on first use"])
def test_loading_does_not_count_against_an_item(when: str) -> None:
    with workers() as pool:
        assert [result.answer for result in work(pool, (when, 1.5), ("ok", 2))] == [1.5, 2]


def test_loading_has_a_bound_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "LOADING_TIMEOUT", 0.3)
    with workers() as pool, pytest.raises(SetupError, match="did not load its models within"):
        work(pool, ("load slowly", 3600))


def test_a_worker_that_was_stopped_between_two_items_is_ended() -> None:
    with workers() as pool:
        (first,) = work(pool, ("pid", None))
        os.kill(first.answer, signal.SIGSTOP)
        (late,) = work(pool, ("ok", 1))
        (after,) = work(pool, ("ok", 2))
    assert (late.late, after.answer) == (True, 2)
    assert not lives(first.answer)


def test_a_large_item_for_a_stopped_worker_does_not_block() -> None:
    with workers() as pool:
        (first,) = work(pool, ("pid", None))
        os.kill(first.answer, signal.SIGSTOP)
        (late,) = work(pool, ("ok", b"0" * 10_000_000))  # fills the pipe
    assert late.late


def test_closing_ends_hanging_and_stopped_workers() -> None:
    with workers(3, timeout=3600) as pool:
        pids = [result.answer for result in work(pool, ("pid", None))]
        pool.submit(("stop", 0))
        pool.submit(("hang", 1))
        pids += [worker.process.pid for worker in pool._workers]
    assert not any(map(lives, pids))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks into /proc")
def test_workers_are_born_deaf_to_ctrl_c() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with workers() as pool:
        pool.submit(("ok", 0))
        status = Path(f"/proc/{pool._workers[0].process.pid}/status").read_text()
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    (blocked,) = (int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigBlk"))
    assert blocked & 1 << (signal.SIGINT - 1)


ABANDONED = """
import time
from handlers import Obedient
from vmmetrics.run.pool import Pool
if __name__ == "__main__":
    pool = Pool(Obedient, 1, 3600)
    pool.submit(("stop", 0))
    while pool.slowest[2]:
        pool.collect(0.05)
    print(pool._workers[0].process.pid, flush=True)
    time.sleep(3600)
"""


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


def test_the_slowest_is_named() -> None:
    with workers(2, timeout=3600) as pool:
        assert pool.slowest is None
        pool.submit(("hang", 1))
        while pool.slowest is None or pool.slowest[1] == 0 or pool.slowest[2]:
            pool.collect(0.05)
        pool.submit(("hang", 2))
        assert pool.slowest[0] == ("hang", 1)


@pytest.mark.parametrize(("timeout", "jobs"), [(5, 0), (0, 1), (-1, 1), (float("inf"), 1), (float("nan"), 1)])
def test_timeouts_that_cannot_be_kept(timeout: float, jobs: int) -> None:
    with pytest.raises(ValueError, match="timeout"):
        checked_timeout(timeout, jobs)


def test_nothing_is_unbounded_but_this_process() -> None:
    assert checked_timeout(None, 1) == pools.DEFAULT_TIMEOUT
    assert checked_timeout(None, 0) is None
