"""Loading, eviction and batching of the published models on one device.

All of them fit an 80 GB card at once and a 24 GB card one at a time; which it is shows when a model is about to run.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any, Generic, Literal, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vmmetrics.errors import SetupError
from vmmetrics.utils.progress import loading
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
class DeviceCache:
    """The models on one device, the one used last at the end.

    Attributes:
        device: Where they run.
        notes: What was done for lack of memory, for the record of the run.
    """

    device: torch.device
    notes: list[str] = field(default_factory=list)
    _models: dict[CachedModel[Any], None] = field(default_factory=dict, repr=False)
    _lock: Any = field(default_factory=RLock, repr=False)

    def make_room(self, needed: int, keep: CachedModel[Any] | None = None) -> None:
        """Evict models but ``keep``, the one unused for longest first, until ``needed`` bytes are free."""
        if self.device.type != "cuda" or self.free() >= needed + RESERVE:
            return
        torch.cuda.empty_cache()  # what the allocator keeps for reuse counts as taken until then
        others = [model for model in self._models if model is not keep]
        while others and self.free() < needed + RESERVE:
            others.pop(0).evict()

    def free(self) -> int:
        """Return the bytes that are free on the GPU, of this process's share where it has but a share."""
        free, total = torch.cuda.mem_get_info(self.device)
        fraction_of_process = getattr(torch.cuda, "get_per_process_memory_fraction", None)  # torch 2.6 has none
        share = fraction_of_process(self.device) if fraction_of_process else 1.0
        return int(min(free, share * total - torch.cuda.memory_reserved(self.device)) if share < 1 else free)

    def evict_others(self, model: CachedModel[Any]) -> None:
        """Evict every model but ``model``."""
        for other in [other for other in self._models if other is not model]:
            other.evict()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def touch(self, model: CachedModel[Any]) -> None:
        """Mark ``model`` as the one used last."""
        with self._lock:
            self._models.pop(model, None)
            self._models[model] = None

    def latest(self) -> CachedModel[Any] | None:
        """Return the model used last."""
        return next(reversed(self._models), None)

    def remove(self, model: CachedModel[Any]) -> None:
        """Drop ``model`` from the cache."""
        with self._lock:
            self._models.pop(model, None)

    def note(self, text: str) -> None:
        """Add ``text`` to the notes, once."""
        if text not in self.notes:
            self.notes.append(text)


def cache_on(device: str | None = None) -> DeviceCache:
    """Return a cache for ``device``; None takes a GPU where there is one."""
    return DeviceCache(torch.device(device or default_device()))


@dataclass(eq=False)
class CachedModel(Generic[Net]):
    """A network that loads on first use and can be evicted.

    Attributes:
        name: Name in messages and in :data:`ACTIVATIONS`.
        load: Loads it onto the cache's device, in eval mode, without gradients.
        size: Bytes of its weights on the device, about.
        cache: The device and the models that share it.
        module: Called at an eviction: forgets what can be computed again, and returns the module whose weights are kept
            in host memory; None where there is no such thing, and it is loaded again.
    """

    name: str
    load: Callable[[], Net]
    size: int
    cache: DeviceCache
    module: Callable[[Net], nn.Module | None] = lambda net: net if isinstance(net, nn.Module) else None
    _net: Net | None = field(default=None, init=False)
    _host: HostWeights | None = field(default=None, init=False)
    _evicted: bool = field(default=False, init=False)
    _lock: Any = field(default_factory=RLock, init=False)

    def get(self, activations: int | None = None) -> Net:
        """Return the network on its device.

        Args:
            activations: Bytes that it is about to take beside its weights; None: those of :data:`ACTIVATIONS`, which
                are made room for when another model has run since.
        """
        with self._lock:
            beside = ACTIVATIONS.get(self.name, 0) if activations is None else activations
            if self._net is None or self._evicted:
                self.cache.make_room(self.size + beside, keep=self)
                self.guarded(self._bring)
            elif activations is not None or self.cache.latest() is not self:
                self.cache.make_room(beside, keep=self)
            self.cache.touch(self)
            return cast(Net, self._net)

    def _bring(self) -> None:
        with loading(), torch.inference_mode(False):  # weights made in that mode could never explain an answer
            if self._evicted and self._host is not None:
                self._host.restore(self.cache.device)
                self._evicted = False
            else:
                self._net = self.load()

    def evict(self) -> None:
        """Free its memory on the device; the next :meth:`get` brings it back."""
        with self._lock, torch.inference_mode(False):
            self.cache.remove(self)
            if self._net is None or self._evicted:
                return
            module = self.module(self._net)
            if self._host is None and module is not None and fits_host(module):
                with suppress(RuntimeError):  # as much pinned memory may not be given
                    self._host = HostWeights(module)
            if self._host is None:
                self._net = None
                self.cache.note(f"{self.name}: reloaded at each use: not enough memory on the GPU and the host")
            else:
                self._host.evict()
                self._evicted = True
                self.cache.note(f"{self.name}: moved to host memory and back: not enough GPU memory")
            del module
            gc.collect()
            if self.cache.device.type == "cuda":
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
            self.cache.note(f"{self.name}: the other models evicted: out of memory")
        self.cache.evict_others(self)  # outside of the handler: its traceback keeps the tensors alive
        return work()

    def at_once(self, most: int) -> int:
        """Return how many items' :data:`ACTIVATIONS` fit into the memory that is free, 1 to ``most``; 1 on a CPU."""
        if self.cache.device.type != "cuda":
            return 1
        self.get()  # what is left beside its weights counts
        each = max(1, ACTIVATIONS.get(self.name, 1))
        if self.cache.free() < most * each + RESERVE:
            torch.cuda.empty_cache()  # what the allocator keeps for reuse counts as taken until then
        return max(1, min(most, (self.cache.free() - RESERVE) // each))


def is_out_of_memory(error: RuntimeError) -> bool:
    """Return True if ``error`` means that the GPU is out of memory, by torch's allocator or a library's own."""
    return isinstance(error, torch.OutOfMemoryError) or any(
        text in str(error) for text in ("CUDA error: out of memory", "_STATUS_ALLOC_FAILED")
    )


def in_batches(
    run: Callable[[Sequence[Item]], Sequence[Answer]], items: Sequence[Item], size: int, model: CachedModel[Any]
) -> list[Answer]:
    """Return an answer per item, ``size`` items at a time; half as many, with a note, when out of memory.

    Where a single item does not fit, it is tried once more with every other model evicted.

    Raises:
        torch.OutOfMemoryError: One item alone does not fit even then.
    """
    answers: list[Answer] = []
    while len(answers) < len(items):
        batch = items[len(answers) : len(answers) + size]
        if len(batch) == 1:
            answers.extend(model.guarded(lambda one=batch: run(one)))  # type: ignore[misc]
            continue
        try:
            answers.extend(run(batch))
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            size = len(batch) // 2
            model.cache.note(f"{model.name}: batches of {size}: out of memory")
        else:
            continue
        torch.cuda.empty_cache()  # outside of the handler: its traceback keeps the tensors alive
    return answers


def on_device(values: NDArray[Any], device: torch.device) -> Tensor:
    """Return an array on ``device``; to a GPU through pinned memory, so that the CPU need not wait for the copy."""
    tensor = torch.from_numpy(np.ascontiguousarray(values))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def normalised(pixels: Tensor, mean: Sequence[float], deviation: Sequence[float]) -> Tensor:
    """Return (B, 3, H, W) pixels less a mean and over a deviation of each channel, both made on their device."""
    less, over = (on_device(np.array(values, np.float32), pixels.device).view(3, 1, 1) for values in (mean, deviation))
    return (pixels - less) / over


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


# Weights of an evicted network in host memory, from which they come back without their checkpoint being read.
#
# Weights never change, so they are copied off the GPU once; from then on an eviction frees memory and copies nothing.
# On a 24 GB card at most 25 GB come back in a clip: 1 s at the 25 GB/s of PCIe 4 x16 from pinned memory, where reading
# and building Q-Align alone (16.4 GB) takes an estimated 5 to 10 s. The alternative, one model over many clips,
# would save that second and cost the design that a clip is scored, written and done with by itself.

CHUNK = 2**30
"""Bytes of a buffer. torch rounds pinned buffers up to a power of two: tensor by tensor Q-Align would take 21.5 GB."""

ALIGNMENT = 512
"""Bytes that weights begin at multiples of, as in torch's own memory on a GPU."""

HOST_RESERVE = 2 * 2**30
"""Bytes of host memory that are left to frames, decoding and other programs."""


class HostWeights:
    """The weights and buffers of a network in host memory, pinned where they come from a GPU.

    Args:
        net: The network, whose weights must not change afterwards.
    """

    def __init__(self, net: nn.Module) -> None:
        self._tensors = [tensor for tensor in (*net.parameters(), *net.buffers()) if tensor.nbytes]
        self._offsets: list[tuple[int, int]] = []  # buffer and offset of each tensor
        pinned = any(tensor.is_cuda for tensor in self._tensors)
        sizes: list[int] = []
        for tensor in self._tensors:
            if not sizes or sizes[-1] + tensor.nbytes > CHUNK:
                sizes.append(0)
            self._offsets.append((len(sizes) - 1, sizes[-1]))
            sizes[-1] += -(-tensor.nbytes // ALIGNMENT) * ALIGNMENT
        self._buffers = [torch.empty(size, dtype=torch.uint8, pin_memory=pinned) for size in sizes]
        for tensor, copy in zip(self._tensors, self._views(self._buffers), strict=True):
            copy.copy_(tensor.detach())

    def evict(self) -> None:
        """Let the network's tensors be the host's, so that the device's are free."""
        for tensor, copy in zip(self._tensors, self._views(self._buffers), strict=True):
            tensor.data = copy

    def restore(self, device: torch.device) -> None:
        """Bring the network back to ``device``."""
        buffers = [buffer.to(device, non_blocking=True) for buffer in self._buffers]
        for tensor, copy in zip(self._tensors, self._views(buffers), strict=True):
            tensor.data = copy

    def _views(self, buffers: list[Tensor]) -> list[Tensor]:
        return [
            buffers[number][start : start + tensor.nbytes].view(tensor.dtype).view(tensor.shape)
            for tensor, (number, start) in zip(self._tensors, self._offsets, strict=True)
        ]


def fits_host(net: nn.Module) -> bool:
    """Return True if a copy of a network's weights fits into the free host memory."""
    needed: int = sum(tensor.nbytes for tensor in itertools.chain(net.parameters(), net.buffers()))
    return free_host_memory() >= needed + HOST_RESERVE


def free_host_memory(meminfo: Path = Path("/proc/meminfo"), group: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the bytes that this machine, and the container on it, still has; 0 where that is not known (not Linux)."""
    try:
        lines = meminfo.read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return 0
    try:
        limit = (group / "memory.max").read_text(encoding="ascii").strip()
        used = int((group / "memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return free
    return free if limit == "max" else max(0, min(free, int(limit) - used))
