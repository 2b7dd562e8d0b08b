"""Where the published models run: loaded on first use, put away when the next needs the room, batches that fit.

All of them fit an 80 GB card at once and a 24 GB card one at a time; which it is shows when a model is about to load.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, Generic, Literal, TypeVar

import torch
from torch import nn

from vmmetrics.errors import SetupError
from vmmetrics.utils.loading import loading
from vmmetrics.utils.tensors import default_device

Net = TypeVar("Net")
Item = TypeVar("Item")
Answer = TypeVar("Answer")

Precision = Literal["fp32", "fp16", "bf16"]
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}

HEADROOM = 1.25
"""Of a model's weights, what must be free before it loads; what its activations take is found by trying."""


@dataclass
class Shelf:
    """The models on one device, the one used last at the end.

    Attributes:
        device: Where they run.
        notes: What had to be done to fit, in words, for the record of the run.
    """

    device: torch.device
    notes: list[str] = field(default_factory=list)
    _held: dict[Held[Any], None] = field(default_factory=dict, repr=False)
    _lock: Any = field(default_factory=RLock, repr=False)

    def make_room(self, needed: int) -> None:
        """Put models away, the one unused for longest first, until ``needed`` bytes are free."""
        if self.device.type != "cuda":
            return
        while self._held and torch.cuda.mem_get_info(self.device)[0] < needed * HEADROOM:
            next(iter(self._held)).put_away()

    def put_away_others(self, held: Held[Any]) -> None:
        """Put every model but ``held`` away."""
        for other in [other for other in self._held if other is not held]:
            other.put_away()

    def used(self, held: Held[Any]) -> None:
        """Note that ``held`` has been used just now."""
        with self._lock:
            self._held.pop(held, None)
            self._held[held] = None

    def gone(self, held: Held[Any]) -> None:
        """Note that ``held`` is no longer there."""
        with self._lock:
            self._held.pop(held, None)

    def note(self, text: str) -> None:
        """Keep ``text`` once."""
        if text not in self.notes:
            self.notes.append(text)


def shelf_on(device: str | None = None) -> Shelf:
    """Return a shelf for ``device``; None takes a GPU where there is one."""
    return Shelf(torch.device(device or default_device()))


class Held(Generic[Net]):
    """A network that loads when it is first asked for.

    Args:
        name: What it is called in messages.
        load: Loads it onto the shelf's device, in eval mode, without gradients.
        size: About how many bytes its weights take there.
        shelf: Whom it shares the device with.
    """

    def __init__(self, name: str, load: Callable[[], Net], size: int, shelf: Shelf) -> None:
        self.name = name
        self._load = load
        self._size = size
        self.shelf = shelf
        self._net: Net | None = None
        self._lock = RLock()

    def get(self) -> Net:
        """Return the network, loading it if need be."""
        with self._lock:
            if self._net is None:
                self.shelf.make_room(self._size)
                with loading(), torch.inference_mode(False):  # weights made in that mode could never explain an answer
                    self._net = self._load()
            self.shelf.used(self)
            return self._net

    def put_away(self) -> None:
        """Free its memory; the next :meth:`get` loads it again."""
        with self._lock:
            self._net = None
            self.shelf.gone(self)
            gc.collect()
            if self.shelf.device.type == "cuda":
                torch.cuda.empty_cache()


def in_batches(
    run: Callable[[Sequence[Item]], Sequence[Answer]], items: Sequence[Item], size: int, held: Held[Any]
) -> list[Answer]:
    """Return an answer per item, ``size`` items at a time; half as many, and said so, where memory does not do.

    Raises:
        torch.OutOfMemoryError: One item alone does not fit.
    """
    answers: list[Answer] = []
    while len(answers) < len(items):
        batch = items[len(answers) : len(answers) + size]
        try:
            answers.extend(run(batch))
        except torch.OutOfMemoryError:
            if len(batch) == 1:
                raise
            size = len(batch) // 2
            held.shelf.note(f"{held.name}: batches of {size}, for want of memory")
        else:
            continue
        torch.cuda.empty_cache()  # outside of the handler: its traceback keeps the tensors alive
    return answers


@contextmanager
def computing(device: torch.device, precision: Precision) -> Iterator[None]:
    """No gradients; matrix products and convolutions in ``precision``, the rest in float32, as upstream's autocast."""
    lowered = precision != "fp32"
    with torch.inference_mode(), torch.autocast(device.type, DTYPES[precision] if lowered else None, enabled=lowered):
        yield


def lower(net: nn.Module, precision: Precision) -> None:
    """Keep in ``precision`` the weights that :func:`computing` would cast at each use; the answers are the same."""
    for module in net.modules():
        if isinstance(module, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            module.to(DTYPES[precision])


@contextmanager
def needed(packages: str = "'vmmetrics[vmbench]'") -> Iterator[None]:
    """Say what to install where an import in the block fails.

    Raises:
        SetupError: It does.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise SetupError(f"{error.name} is missing; install it with: pip install {packages}") from error
