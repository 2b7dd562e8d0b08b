"""Weights of an evicted network in host memory, from which they come back without their checkpoint being read.

Weights never change, so they are copied off the GPU once; from then on an eviction frees memory and copies nothing. On
a 24 GB card at most 25 GB come back in a clip: 1 s at the 25 GB/s of PCIe 4 x16 from pinned memory, where reading and
building Q-Align alone (16.4 GB) takes an estimated 5 to 10 s. The alternative, one model over many clips, would save
that second and cost the design that a clip is scored, written and done with by itself.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import torch
from torch import Tensor, nn

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
