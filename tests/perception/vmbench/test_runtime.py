"""Where models are held: loaded once, put away and loaded again, and batches that shrink."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from vmmetrics.perception.vmbench.runtime import Held, Shelf, in_batches  # noqa: E402


@pytest.fixture
def shelf() -> Shelf:
    return Shelf(torch.device("cpu"))


def test_a_model_loads_when_asked_and_once(shelf: Shelf):
    loads: list[int] = []
    held = Held("net", lambda: loads.append(1) or len(loads), 1, shelf)
    assert loads == []
    assert [held.get(), held.get()] == [1, 1]
    held.put_away()
    assert held.get() == 2


def test_loading_is_announced(shelf: Shelf, monkeypatch: pytest.MonkeyPatch):
    announced: list[bool] = []
    monkeypatch.setattr("vmmetrics.utils.loading._listeners", [announced.append])
    held = Held("net", object, 1, shelf)
    held.get()
    held.get()
    assert announced == [True, False]


def test_others_are_put_away(shelf: Shelf):
    first, second, third = (Held(str(i), object, 1, shelf) for i in range(3))
    kept, gone = second.get(), first.get()
    third.get()
    shelf.put_away_others(second)
    assert second.get() is kept
    assert first.get() is not gone


def test_the_one_unused_for_longest_goes_first(shelf: Shelf, monkeypatch: pytest.MonkeyPatch):
    free = iter([1, 1, 100])
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (next(free), 0))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    models = [Held(str(i), object, 1, shelf) for i in range(3)]
    nets = [model.get() for model in models]
    models[0].get()  # used again
    shelf.device = torch.device("cuda")
    shelf.make_room(10)
    assert models[0]._net is nets[0]
    assert models[1]._net is None
    assert models[2]._net is None


def test_weights_loaded_in_inference_mode_can_still_explain(shelf: Shelf):
    held = Held("net", lambda: torch.nn.Linear(2, 2), 1, shelf)
    with torch.inference_mode():
        net = held.get()
    assert not any(weight.is_inference() for weight in net.parameters())


def test_batches_halve_where_memory_does_not_do(shelf: Shelf):
    held = Held("net", object, 1, shelf)
    sizes = []

    def run(batch: list[int]) -> list[int]:
        sizes.append(len(batch))
        if len(batch) > 2:
            raise torch.OutOfMemoryError
        return [item * 10 for item in batch]

    assert in_batches(run, list(range(7)), 7, held) == [0, 10, 20, 30, 40, 50, 60]
    assert sizes == [7, 3, 1, 1, 1, 1, 1, 1, 1]
    assert shelf.notes[0] == "net: batches of 3, for want of memory"


def test_what_never_fits_is_an_error(shelf: Shelf):
    def run(batch: list[int]) -> list[int]:
        raise torch.OutOfMemoryError

    with pytest.raises(torch.OutOfMemoryError):
        in_batches(run, [1, 2], 2, Held("net", object, 1, shelf))
