"""Where models are held: loaded once, put away and loaded again, and batches that shrink."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from vmmetrics.perception.vmbench import runtime  # noqa: E402
from vmmetrics.perception.vmbench.preset import build_models  # noqa: E402
from vmmetrics.perception.vmbench.runtime import (  # noqa: E402
    ACTIVATIONS,
    CachedModel,
    DeviceCache,
    HostWeights,
    free_host_memory,
    in_batches,
)


@pytest.fixture
def cache() -> DeviceCache:
    return DeviceCache(torch.device("cpu"))


def test_a_model_loads_when_asked_and_once(cache: DeviceCache):
    loads: list[int] = []
    held = CachedModel("net", lambda: loads.append(1) or len(loads), 1, cache)
    assert loads == []
    assert [held.get(), held.get()] == [1, 1]
    held.evict()
    assert held.get() == 2


def test_loading_is_announced(cache: DeviceCache, monkeypatch: pytest.MonkeyPatch):
    announced: list[bool] = []
    monkeypatch.setattr("vmmetrics.utils.progress._listeners", [announced.append])
    held = CachedModel("net", object, 1, cache)
    held.get()
    held.get()
    assert announced == [True, False]


def test_others_are_put_away(cache: DeviceCache):
    first, second, third = (CachedModel(str(i), object, 1, cache) for i in range(3))
    kept, gone = second.get(), first.get()
    third.get()
    cache.evict_others(second)
    assert second.get() is kept
    assert first.get() is not gone


GIGA = 10**9


def test_a_share_of_a_gpu_is_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (60 * GIGA, 80 * GIGA))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 5 * GIGA)
    for share, free in ((0.25, 15), (0.9, 60), (1.0, 60)):
        monkeypatch.setattr(torch.cuda, "get_per_process_memory_fraction", lambda _, s=share: s, raising=False)
        assert DeviceCache(torch.device("cuda")).free() == free * GIGA


class Card:
    """A pretended GPU: what is free is what models and the allocator's spare blocks leave."""

    def __init__(self, total: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.total, self.spare = total, 0
        self.cache = DeviceCache(torch.device("cpu"))
        self.models: list[CachedModel[Any]] = []
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (self.free, total))
        monkeypatch.setattr(torch.cuda, "get_per_process_memory_fraction", lambda device: 1.0, raising=False)
        monkeypatch.setattr(torch.cuda, "empty_cache", self._emptied)
        monkeypatch.setattr(HostWeights, "restore", lambda weights, device: weights.evict())  # there is no such device
        monkeypatch.setattr(runtime, "free_host_memory", lambda: 10**12)

    @property
    def free(self) -> int:
        return self.total - self.spare - sum(model._size for model in self.models if self.holds(model))

    def _emptied(self) -> None:
        self.spare = 0

    def holds(self, model: CachedModel[Any]) -> bool:
        return model._net is not None and not model._evicted

    def add(self, name: str, size: int) -> CachedModel[Any]:
        self.cache.device = torch.device("cuda")
        self.models.append(CachedModel(name, lambda: torch.nn.Linear(3, 2).requires_grad_(False), size, self.cache))
        return self.models[-1]


def test_the_one_unused_for_longest_goes_first(monkeypatch: pytest.MonkeyPatch):
    card = Card(24 * GIGA, monkeypatch)
    first, second, third = (card.add(str(i), 7 * GIGA) for i in range(3))
    for model in (first, second, third, first):
        model.get()
    card.add("fourth", 8 * GIGA).get()
    assert [card.holds(model) for model in card.models] == [True, False, True, True]
    assert card.cache.notes == ["1: moved to host memory and back: not enough GPU memory"]


def test_activations_are_made_room_for(monkeypatch: pytest.MonkeyPatch):
    card = Card(24 * GIGA, monkeypatch)
    dino, rater = card.add("Grounding DINO", GIGA), card.add("Q-Align", 16_400_000_000)
    dino.get()
    rater.get()
    assert card.holds(dino)  # 24 - 17.4 is more than Q-Align's batches take
    card.spare = 5 * GIGA  # what it left in the allocator is no reason to evict it
    dino.get()
    assert card.holds(rater)
    assert card.spare == 0
    dino.get(activations=8 * GIGA)
    assert not card.holds(rater)


def test_a_batch_takes_what_is_free(monkeypatch: pytest.MonkeyPatch):
    card = Card(24 * GIGA, monkeypatch)
    dino = card.add("Grounding DINO", GIGA)
    assert dino.at_once(4) == 4
    card.add("Q-Align", 16_400_000_000).get()
    card.spare = 5 * GIGA
    assert dino.at_once(4) == 2  # of 2.5 in the 6.6 that are left once spare blocks are given back
    monkeypatch.setattr(card, "total", 18 * GIGA)
    assert dino.at_once(4) == 1
    dino.cache.device = torch.device("cpu")
    assert dino.at_once(4) == 1


def test_every_model_has_its_activations_planned():
    models = build_models({}, "cpu")
    released: Any = models.released
    held = [released.grounder._model, released.sam.model, released.sam2.model, released.points._model]
    held += [released.people._model, released.keypoints._model, models.quality._model, models.plausibility._model]  # type: ignore[attr-defined,union-attr]
    assert {model.name for model in held} == set(ACTIVATIONS)


def test_weights_wait_in_host_memory_and_come_back_the_same(cache: DeviceCache, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runtime, "CHUNK", 4096)  # several buffers
    loads: list[int] = []

    def load() -> torch.nn.Module:
        loads.append(1)
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(30, 20), torch.nn.BatchNorm1d(20), torch.nn.Linear(20, 4).half())
        net[0].weight.data = net[0].weight.data.t().contiguous().t()  # laid out column by column
        return net.eval().requires_grad_(False)

    held = CachedModel("net", load, 1, cache)
    net = held.get()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    monkeypatch.setattr(runtime, "free_host_memory", lambda: 10**12)
    for _ in range(2):
        held.evict()
        assert held._evicted
        with torch.inference_mode():  # as an adapter asks for it
            assert held.get() is net
        assert {name: value.dtype for name, value in net.state_dict().items()} == {
            name: value.dtype for name, value in before.items()
        }
        assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
        assert not any(weight.is_inference() for weight in net.parameters())
    assert loads == [1]


def test_what_the_host_has_no_room_for_is_loaded_again(cache: DeviceCache, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runtime, "free_host_memory", lambda: 2**31)  # the reserve, and nothing beside
    held = CachedModel("net", lambda: torch.nn.Linear(2, 2), 1, cache)
    net = held.get()
    held.evict()
    assert held.get() is not net
    assert cache.notes == ["net: reloaded at each use: not enough memory on the GPU and the host"]


def test_host_memory_is_what_the_container_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:  1000 kB\n")
    assert free_host_memory(tmp_path / "meminfo", tmp_path) == 1_024_000
    (tmp_path / "memory.max").write_text("900000\n")
    (tmp_path / "memory.current").write_text("500000\n")
    assert free_host_memory(tmp_path / "meminfo", tmp_path) == 400_000
    (tmp_path / "memory.max").write_text("max\n")
    assert free_host_memory(tmp_path / "meminfo", tmp_path) == 1_024_000
    assert free_host_memory(tmp_path / "no", tmp_path) == 0


def test_weights_loaded_in_inference_mode_can_still_explain(cache: DeviceCache):
    held = CachedModel("net", lambda: torch.nn.Linear(2, 2), 1, cache)
    with torch.inference_mode():
        net = held.get()
    assert not any(weight.is_inference() for weight in net.parameters())


def test_batches_halve_where_memory_does_not_do(cache: DeviceCache):
    held = CachedModel("net", object, 1, cache)
    sizes = []

    def run(batch: list[int]) -> list[int]:
        sizes.append(len(batch))
        if len(batch) > 2:
            raise torch.OutOfMemoryError
        return [item * 10 for item in batch]

    assert in_batches(run, list(range(7)), 7, held) == [0, 10, 20, 30, 40, 50, 60]
    assert sizes == [7, 3, 1, 1, 1, 1, 1, 1, 1]
    assert cache.notes[0] == "net: batches of 3: out of memory"


def test_out_of_memory_the_others_go_and_it_is_tried_once_more(cache: DeviceCache):
    other, held = CachedModel("other", object, 1, cache), CachedModel("net", object, 1, cache)
    other.get()

    def work() -> str:
        if other._net is not None:
            raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")
        return "done"

    assert in_batches(lambda batch: [work() for _ in batch], [1, 2], 2, held) == ["done", "done"]
    assert other._net is None
    assert "net: the other models evicted: out of memory" in cache.notes


def test_loading_out_of_memory_is_tried_once_more(cache: DeviceCache):
    other = CachedModel("other", object, 1, cache)
    other.get()

    def load() -> str:
        if other._net is not None:
            raise torch.OutOfMemoryError
        return "net"

    assert CachedModel("net", load, 1, cache).get() == "net"


def test_other_errors_are_not_taken_for_it(cache: DeviceCache):
    calls: list[int] = []

    def work() -> None:
        calls.append(1)
        raise RuntimeError("expected scalar type Half but found Float")

    with pytest.raises(RuntimeError, match="Half"):
        CachedModel("net", object, 1, cache).guarded(work)
    assert calls == [1]


def test_what_never_fits_is_an_error(cache: DeviceCache):
    def run(batch: list[int]) -> list[int]:
        raise torch.OutOfMemoryError

    with pytest.raises(torch.OutOfMemoryError):
        in_batches(run, [1, 2], 2, CachedModel("net", object, 1, cache))
