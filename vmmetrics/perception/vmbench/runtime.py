"""Where the published models run: loaded on first use, evicted when the next needs the room, batches that fit.

All of them fit an 80 GB card at once and a 24 GB card one at a time; which it is shows when a model is about to run.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, Generic, Literal, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vmmetrics.errors import SetupError
from vmmetrics.perception.vmbench.offload import HostWeights, fits_host
from vmmetrics.utils.loading import loading
from vmmetrics.utils.tensors import default_device

Net = TypeVar("Net")
Item = TypeVar("Item")
Answer = TypeVar("Answer")

Precision = Literal["fp32", "fp16", "bf16"]
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}

GB = 10**9
ACTIVATIONS: Mapping[str, int] = {
    "Grounding DINO": 5 * GB // 2,  # a frame of 800 x 1200: 20,000 tokens x 8 heads x 32 x 16 samples x 4 B = 0.33, 3x;
    # Swin's first stage: 60,000 tokens x (512 x 2 + 384 + 128 x 3) x 4 B = 0.43, windows' scores 0.14, 2x
    "SAM": 7 * GB // 2,  # global attention's position bias: 16 heads x 4096 x 4096 x 4 B = 1.07, 3x
    "SAM 2": 5 * GB // 2,  # 4 frames in bf16: 2; features of 49 frames: 0.5
    "CoTracker3": GB,  # features of 49 frames: 49 x 128 x 96 x 128 x 4 B = 0.31, a pyramid of them, frames 0.12
    "RTMDet": 3 * GB // 2,  # 16 frames: 16 x 320 x 320 x 48 x 4 B = 0.31, 4x
    "RTMPose": 3 * GB // 2,  # 128 cut-outs: 128 x 128 x 96 x 48 x 4 B = 0.30, 4x
    "Q-Align": 3 * GB // 2,  # 32 windows: 7,200 tokens x (3 x 11,008 + 8 x 4,096) x 2 B = 0.95
    "VideoMAE V2": 3 * GB // 2,  # a batch's block: 1.07 (adapters/plausibility.py)
}
"""Bytes that a model takes beside its weights, by its name: estimated from the largest tensors, never measured."""

RESERVE = 3 * GB // 10
"""Bytes that stay free besides: workspaces of cuBLAS and cuDNN, blocks cut too small."""


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

    def make_room(self, needed: int, keep: Held[Any] | None = None) -> None:
        """Evict models but ``keep``, the one unused for longest first, until ``needed`` bytes are free."""
        if self.device.type != "cuda" or self.free() >= needed + RESERVE:
            return
        torch.cuda.empty_cache()  # what the allocator keeps for reuse counts as taken until then
        others = [held for held in self._held if held is not keep]
        while others and self.free() < needed + RESERVE:
            others.pop(0).put_away()

    def free(self) -> int:
        """Return the bytes that are free on the GPU, of this process's share where it has but a share."""
        free, total = torch.cuda.mem_get_info(self.device)
        known = getattr(torch.cuda, "get_per_process_memory_fraction", None)  # torch 2.6 has none
        share = known(self.device) if known else 1.0
        return int(min(free, share * total - torch.cuda.memory_reserved(self.device)) if share < 1 else free)

    def put_away_others(self, held: Held[Any]) -> None:
        """Evict every model but ``held``."""
        for other in [other for other in self._held if other is not held]:
            other.put_away()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def used(self, held: Held[Any]) -> None:
        """Note that ``held`` has been used just now."""
        with self._lock:
            self._held.pop(held, None)
            self._held[held] = None

    def latest(self) -> Held[Any] | None:
        """Return the model used last."""
        return next(reversed(self._held), None)

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


def _module(net: Any) -> nn.Module | None:
    return net if isinstance(net, nn.Module) else None


class Held(Generic[Net]):
    """A network that loads when it is first asked for.

    Args:
        name: What it is called in messages, and in :data:`ACTIVATIONS`.
        load: Loads it onto the shelf's device, in eval mode, without gradients.
        size: About how many bytes its weights take there.
        shelf: Whom it shares the device with.
        module: Called at an eviction: forgets what can be computed again, and returns the module whose weights are kept
            in host memory; None where there is no such thing, and it is loaded again.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], Net],
        size: int,
        shelf: Shelf,
        module: Callable[[Net], nn.Module | None] = _module,
    ) -> None:
        self.name = name
        self._load = load
        self._size = size
        self.shelf = shelf
        self._module = module
        self._net: Net | None = None
        self._host: HostWeights | None = None
        self._evicted = False
        self._lock = RLock()

    def get(self, activations: int | None = None) -> Net:
        """Return the network on its device.

        Args:
            activations: Bytes that it is about to take beside its weights; None: those of :data:`ACTIVATIONS`, which
                are made room for when another model has run since.
        """
        with self._lock:
            beside = ACTIVATIONS.get(self.name, 0) if activations is None else activations
            if self._net is None or self._evicted:
                self.shelf.make_room(self._size + beside, keep=self)
                self.guarded(self._bring)
            elif activations is not None or self.shelf.latest() is not self:
                self.shelf.make_room(beside, keep=self)
            self.shelf.used(self)
            return cast(Net, self._net)

    def _bring(self) -> None:
        with loading(), torch.inference_mode(False):  # weights made in that mode could never explain an answer
            if self._evicted and self._host is not None:
                self._host.restore(self.shelf.device)
                self._evicted = False
            else:
                self._net = self._load()

    def put_away(self) -> None:
        """Free its memory on the device; the next :meth:`get` brings it back."""
        with self._lock, torch.inference_mode(False):
            self.shelf.gone(self)
            if self._net is None or self._evicted:
                return
            module = self._module(self._net)
            if self._host is None and module is not None and fits_host(module):
                with suppress(RuntimeError):  # as much pinned memory may not be given
                    self._host = HostWeights(module)
            if self._host is None:
                self._net = None
                self.shelf.note(f"{self.name}: loaded anew at each use, for want of memory on GPU and host")
            else:
                self._host.evict()
                self._evicted = True
                self.shelf.note(f"{self.name}: moved to host memory and back, for want of memory on the GPU")
            del module
            gc.collect()
            if self.shelf.device.type == "cuda":
                torch.cuda.empty_cache()

    def guarded(self, work: Callable[[], Answer]) -> Answer:
        """Return what ``work`` gives; out of memory, once more with every other model evicted.

        Raises:
            torch.OutOfMemoryError: It does not fit even then.
        """
        try:
            return work()
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            self.shelf.note(f"{self.name}: the other models evicted, for want of memory")
        self.shelf.put_away_others(self)  # outside of the handler: its traceback keeps the tensors alive
        return work()

    def at_once(self, most: int) -> int:
        """Return how many items' :data:`ACTIVATIONS` fit into the memory that is free, 1 to ``most``; 1 on a CPU."""
        if self.shelf.device.type != "cuda":
            return 1
        self.get()  # what is left beside its weights counts
        each = max(1, ACTIVATIONS.get(self.name, 1))
        if self.shelf.free() < most * each + RESERVE:
            torch.cuda.empty_cache()  # what the allocator keeps for reuse counts as taken until then
        return max(1, min(most, (self.shelf.free() - RESERVE) // each))


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether a GPU's memory did not do: torch's own allocator says so, or a library that allocates for itself."""
    return isinstance(error, torch.OutOfMemoryError) or any(
        text in str(error) for text in ("CUDA error: out of memory", "_STATUS_ALLOC_FAILED")
    )


def in_batches(
    run: Callable[[Sequence[Item]], Sequence[Answer]], items: Sequence[Item], size: int, held: Held[Any]
) -> list[Answer]:
    """Return an answer per item, ``size`` items at a time; half as many, with a note, where memory does not do.

    Where a single item does not fit, it is tried once more with every other model evicted.

    Raises:
        torch.OutOfMemoryError: One item alone does not fit even then.
    """
    answers: list[Answer] = []
    while len(answers) < len(items):
        batch = items[len(answers) : len(answers) + size]
        if len(batch) == 1:
            answers.extend(held.guarded(lambda one=batch: run(one)))  # type: ignore[misc]
            continue
        try:
            answers.extend(run(batch))
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            size = len(batch) // 2
            held.shelf.note(f"{held.name}: batches of {size}, for want of memory")
        else:
            continue
        torch.cuda.empty_cache()  # outside of the handler: its traceback keeps the tensors alive
    return answers


def on_device(values: NDArray[Any], device: torch.device) -> Tensor:
    """Return an array on ``device``; to a GPU through pinned memory, so that the CPU need not wait for the copy."""
    tensor = torch.from_numpy(np.ascontiguousarray(values))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


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
