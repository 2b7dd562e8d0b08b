"""Workers on several nodes that die, hang, vanish and differ: nothing is lost, nothing comes twice."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.errors import SetupError

pytestmark = pytest.mark.ray
SECONDS = 150  # workers may be slow to start


def work_off(pool: Any, items: list[Any], during: Callable[[Any], None] = lambda _: None) -> list[Any]:
    """Results of items, as a session would have them; ``during`` sees each as it comes."""
    todo, results = list(reversed(items)), []
    deadline = time.monotonic() + SECONDS
    while todo or pool.busy:
        while todo and pool.free > 0:
            pool.submit(todo.pop())
        for result in pool.collect(0.5):
            results.append(result)
            during(result)
        assert time.monotonic() < deadline, f"{len(results)} of {len(items)} done"
    return results


def arguments(results: list[Any]) -> Counter[Any]:
    return Counter(result.item[1] for result in results)


def pid_of(result: Any) -> int:
    return int(result.worker.rpartition(":")[2])


def wait_for(what: Callable[[], Any], seconds: float = 20) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def test_every_item_comes_back_once_and_both_nodes_work(make_pool: Any) -> None:
    pool = make_pool(jobs=4)
    results = work_off(pool, [("echo", n) for n in range(2000)])
    assert arguments(results) == Counter(range(2000))
    assert all(result.answer[1] == result.item[1] for result in results)
    assert len({result.answer[0] for result in results}) == 2
    assert {pid_of(result) for result in results} <= set(range(1, 1 << 22)) and not pool.busy


def test_a_worker_hears_of_the_next_item_while_one_is_at_work(make_pool: Any, tmp_path: Path) -> None:
    busy, names = ("touch", str(tmp_path)), ("first", "second")
    results = work_off(make_pool(jobs=1), [item for name in names for item in (busy, ("ahead", str(tmp_path / name)))])
    assert [result.answer for result in results[1::2]] == [("was ahead", True)] * 2


def test_a_worker_killed_while_idle_or_after_its_answer_costs_nothing(make_pool: Any) -> None:
    pool, killed = make_pool(), []

    def kill_first(result: Any) -> None:  # its answer is here and not yet kept; another item is in its hand
        if not killed:
            killed.append(pid_of(result))
            os.kill(killed[0], signal.SIGKILL)

    results = work_off(pool, [("sleep", n) for n in range(8)], kill_first)
    for pid in {pid_of(result) for result in results} - set(killed):  # idle now
        os.kill(pid, signal.SIGKILL)
    results += work_off(pool, [("echo", n) for n in range(8, 16)])
    assert arguments(results) == Counter(range(16))
    assert not any(result.failure for result in results)


def test_a_worker_killed_while_loading_or_at_work_costs_nothing(make_pool: Any, machines: Any, tmp_path: Path) -> None:
    pool = make_pool(jobs=1)
    loading, begun = tmp_path / "loading", tmp_path / "begun"
    loading.mkdir()
    begun.mkdir()
    pool._actors._environment = {"SLOW_LOADING": str(loading)}

    def kill_loading() -> None:
        os.kill(int(wait_for(lambda: list(loading.iterdir()), 60)[0].name), signal.SIGKILL)

    thread = threading.Thread(target=kill_loading)
    thread.start()
    pool.submit(("touch", str(begun)))
    results: list[Any] = []
    while not list(begun.iterdir()):
        results += pool.collect(0.1)
    thread.join()
    os.kill(int(next(begun.iterdir()).name), signal.SIGKILL)
    while pool.busy:
        results += pool.collect(0.5)
    assert [(result.item[0], result.failure) for result in results] == [("touch", "")]
    assert len(list(begun.iterdir())) == 2  # by another worker
    assert len(list(loading.iterdir())) == 3


def test_poison_costs_itself_alone_and_says_node_and_cause(make_pool: Any) -> None:
    pool = make_pool(jobs=2, timeout=3)
    poison = {"exit": 100, "segv": 101, "memory": 102, "loop": 103, "raise": 104}
    items = [("echo", n) for n in range(20)]
    for place, (what, n) in enumerate(poison.items()):
        items.insert(3 * place, (what, n))
    results = work_off(pool, items)
    assert arguments(results) == Counter([*range(20), *poison.values()])
    by_kind = {result.item[0]: result for result in results}
    assert not by_kind["echo"].failure and all(not r.failure for r in results if r.item[0] == "echo")
    host = os.uname().nodename
    assert by_kind["exit"].failure.count(f"{host}:") >= 2 and "died on this clip" in by_kind["exit"].failure
    assert "Segmentation fault" in by_kind["segv"].failure or "SIGSEGV" in by_kind["segv"].failure
    assert "Out of memory" in by_kind["memory"].failure
    assert "took longer than 3 s" in by_kind["loop"].failure and by_kind["loop"].late
    assert "something unforeseen" in by_kind["raise"].failure


def work_until(pool: Any, done: Callable[[list[Any]], object], first: int) -> list[Any]:
    """Go on with items, numbered from ``first``, until something has happened: workers may be slow to start."""
    results: list[Any] = []
    deadline = time.monotonic() + SECONDS
    while not done(results) and time.monotonic() < deadline:
        results += work_off(pool, [("sleep", n) for n in range(first, first + 20)])
        first += 20
    return results


def test_a_lost_node_costs_time_alone_and_a_new_one_is_used(make_pool: Any, machines: Any) -> None:
    third = machines.add()
    pool = make_pool(jobs=6)
    seen: dict[str, Any] = {}

    def disturb(result: Any) -> None:
        seen.setdefault("first", result.answer[0])
        if len(seen) == 1 and result.answer[0] == third.node_id:
            machines.remove(third)
            seen["fourth"] = machines.add()

    results = work_off(pool, [("sleep", n) for n in range(80)], disturb)
    assert arguments(results) == Counter(range(80))
    results += work_until(pool, lambda more: seen["fourth"].node_id in {r.answer[0] for r in [*results, *more]}, 80)
    assert not any(result.failure for result in results)
    assert seen["fourth"].node_id in {result.answer[0] for result in results}
    machines.remove(seen["fourth"])


def test_what_a_zombie_answers_is_dropped(make_pool: Any, tmp_path: Path) -> None:
    pool = make_pool(jobs=1, timeout=2)
    pool.submit(("touch", str(tmp_path)))
    results: list[Any] = []
    while not list(tmp_path.iterdir()):
        results += pool.collect(0.05)
    pid = int(next(tmp_path.iterdir()).name)
    os.kill(pid, signal.SIGSTOP)
    while not results:
        results += pool.collect(0.2)
    with contextlib.suppress(ProcessLookupError):  # Ray ended it
        os.kill(pid, signal.SIGCONT)
    results += work_off(pool, [("echo", n) for n in range(20)])
    assert not any(result.failure for result in results)  # another worker did it: the clip was not to blame
    assert arguments(results)[str(tmp_path)] == 1 and pid_of(results[0]) != pid


def test_four_quarters_of_a_gpu_are_given_and_the_fifth_waits(make_pool: Any, machines: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("vmmetrics.engines.actors._ROOM_SECONDS", 3.0)
    node = machines.add(num_cpus=0, num_gpus=1)
    said: list[str] = []
    pool = make_pool(jobs=5, gpus=0.25, cpus=0, say=said.append)
    waits = "1 of 5 workers do not run yet (each takes 0 CPU and 0.25 GPU); free"
    results = work_until(pool, lambda _: any(text.startswith(waits) for text in said), 90)  # however late they start
    assert any(text.startswith(waits) for text in said)
    results += work_off(pool, [("sleep", n) for n in range(40)])
    assert len({pid_of(result) for result in results}) == 4
    assert {result.answer[0] for result in results} == {node.node_id}
    machines.remove(node)


def test_a_node_that_differs_is_refused_and_the_others_go_on(make_pool: Any, machines: Any) -> None:
    node = machines.add(env_vars={"FAKE_WEIGHTS": "2"})
    said: list[str] = []
    pool = make_pool(jobs=3, say=said.append)
    results = work_off(pool, [("sleep", n) for n in range(40)])
    assert arguments(results) == Counter(range(40))
    results += work_until(pool, lambda _: said, 40)
    assert not any(result.failure for result in results)
    assert node.node_id not in {result.answer[0] for result in results}
    assert said and all("is not used: weights: 1 (here), 2 (there)" in text for text in said[:1])
    machines.remove(node)


def test_where_every_node_differs_nothing_is_done(make_pool: Any) -> None:
    pool = make_pool(jobs=1, expected={"weights": "3"}, say=lambda _: None)
    with pytest.raises(
        SetupError, match=r"(?s)No node of the cluster can run workers.*weights: 3 \(here\), 1 \(there\)"
    ):
        work_off(pool, [("echo", 1)])


def test_what_is_too_large_to_send_fails_alone(make_pool: Any) -> None:
    results = work_off(make_pool(jobs=1), [("echo", b"0" * 10_000_001), ("echo", 2)])
    assert [bool(result.failure) for result in sorted(results, key=lambda r: r.failure == "")] == [True, False]
    assert any("10.0 MB to send" in result.failure for result in results)
