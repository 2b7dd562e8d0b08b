"""Quality of frames as VMBench's motion smoothness has it: Q-Align's level for a window around each of them.

Next to the released script, which sends every window by itself through the whole network: a frame is looked at once,
not in each of its three windows; the words before the images are read once; and of the answer only the five levels at
the last place are computed.
"""

from __future__ import annotations

import os
import pickle
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vmmetrics.errors import ClipError, SetupError
from vmmetrics.perception.scene import Scene
from vmmetrics.perception.vmbench import runtime
from vmmetrics.perception.vmbench.checkpoints import check_fit, listed, misfit
from vmmetrics.perception.vmbench.ported import qalign_network, qalign_vision
from vmmetrics.perception.vmbench.ported.qalign_network import LanguageSize, Network, Sizes
from vmmetrics.perception.vmbench.runtime import CachedModel, DeviceCache, Precision
from vmmetrics.types import FloatArray, IntArray, UInt8Array
from vmmetrics.utils.schema import convert, parse_json
from vmmetrics.utils.tensors import load_tensors
from vmmetrics.utils.weights.manifest import is_inside

# one-align as the hub lays it out (q-future/one-align): its sizes, and its weights, each straight to its place.
#
# Every weight must find its place, and every place its weight: upstream's loader draws at random what is missing.

MEND = "fetch it again with: vmmetrics weights fetch vmbench"

INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
"""Lists of which weight is in which file, the format preferred first."""

DERIVED = ".rotary_emb.inv_freq"
"""End of names that old versions of transformers wrote, of what follows from the sizes."""


def read_sizes(folder: Path) -> Sizes:
    """Read ``config.json``; what it leaves out has upstream's default.

    Raises:
        SetupError: It is no model of this kind, or of a variant that one-align is not.
    """
    path = folder / "config.json"
    config = _read_json(path)
    if config.get("model_type") != "mplug_owl2":
        raise SetupError(f"{path}: expected model_type mplug_owl2 but got {config.get('model_type')}")
    visual = config.get("visual_config") or {}
    try:
        rope = convert(dict[str, Any], config.get("rope_parameters") or {})
        config = {"rope_theta": rope["rope_theta"], **config} if "rope_theta" in rope else config
        eyes, abstractor = visual.get("visual_model") or {}, visual.get("visual_abstractor") or {}
        sizes = Sizes(
            vision=convert(qalign_vision.VisionSize, eyes),
            abstractor=convert(qalign_vision.AbstractorSize, abstractor),
            language=convert(LanguageSize, config),
        )
    except (AttributeError, ValueError) as error:
        raise SetupError(f"{path}: not understood: {error}") from error
    _refuse_variants(path, config, eyes, abstractor, sizes)
    _check_processor(folder / "preprocessor_config.json", sizes.vision.image_size)
    return sizes


def load_network(folder: Path, device: torch.device, dtype: torch.dtype) -> Network:
    """Build the network and read its weights file by file, each weight straight to the device in the wanted type.

    Beside the finished weights, memory never holds more than one of them.

    Args:
        folder: Checkpoint ``one-align``.
        device: Where to.
        dtype: What the weights are converted to.

    Raises:
        SetupError: A file is missing or damaged; weights are missing, are of another shape, or have no place. The
            text names them.
    """
    sizes = read_sizes(folder)
    with torch.device("meta"):  # nothing is drawn only to be overwritten
        network = Network(sizes)
    state = network.state_dict()
    index, files, promised = _files(folder)
    _check_names(index, state, promised)  # told before 16 GB are read
    loaded: set[str] = set()
    for path in files:
        weights = {n: w.to(device, dtype) for n, w in _weights(path) if not n.endswith(DERIVED)}
        check_fit(path, state, {**state, **weights})
        network.load_state_dict(weights, strict=False, assign=True)
        loaded |= weights.keys()
    _check_names(index, state, loaded)
    network.requires_grad_(False)
    network.eval()
    return network


def _check_names(index: Path, expected: Mapping[str, Tensor], names: set[str]) -> None:
    problems = misfit(expected.keys() - names, names - expected.keys(), ())
    if problems:
        raise SetupError(f"{index}: the weights do not fit: {problems}")


def _refuse_variants(
    path: Path, config: Mapping[str, Any], eyes: Mapping[str, Any], abstractor: Mapping[str, Any], sizes: Sizes
) -> None:
    """Name what the file asks for and this network does not have."""
    grid = sizes.vision.image_size // sizes.vision.patch_size
    eyes_width, width = sizes.vision.hidden_size, sizes.language.hidden_size
    for part, whole in ((sizes.vision, eyes_width), (sizes.abstractor, eyes_width), (sizes.language, width)):
        heads = part.num_attention_heads
        if whole % heads:
            raise SetupError(f"{path}: hidden_size {whole} is no multiple of its {heads} heads")
    rope = config.get("rope_parameters") or {}  # as transformers 5 writes it
    only = [
        ("num_key_value_heads", config.get("num_key_value_heads"), sizes.language.num_attention_heads),
        ("hidden_act", config.get("hidden_act"), "silu"),
        ("rope_scaling", config.get("rope_scaling"), None),
        ("rope_type", rope.get("rope_type"), "default"),
        ("rope_theta", rope.get("rope_theta"), sizes.language.rope_theta),
        ("rope_parameters", sorted(rope.keys() - {"rope_type", "rope_theta"}) or None, None),
        ("attention_bias", config.get("attention_bias"), False),
        ("tie_word_embeddings", config.get("tie_word_embeddings"), False),
        ("visual_model num_channels", eyes.get("num_channels"), 3),
        ("visual_abstractor hidden_size", abstractor.get("hidden_size"), eyes_width),
        ("visual_abstractor encoder_hidden_size", abstractor.get("encoder_hidden_size"), eyes_width),
        ("visual_abstractor grid_size", abstractor.get("grid_size"), grid),
    ]
    unsupported = [f"{name} {value} (only {other})" for name, value, other in only if value not in (None, other)]
    if unsupported:
        raise SetupError(f"{path}: of a kind that is not supported: {', '.join(unsupported)}")


def _check_processor(path: Path, side: int) -> None:
    """Check a preprocessor file, where there is one, against :mod:`.qalign_vision`."""
    if not path.is_file():
        return
    config = _read_json(path)
    size = config.get("size", side)
    size = size.get("shortest_edge") if isinstance(size, Mapping) else size
    settings = {**config, "size": size}
    expected = {"size": side, "image_mean": list(qalign_vision.MEAN), "image_std": list(qalign_vision.DEVIATION)}
    expected |= {"resample": 3}
    mismatches = [f"{k} {settings[k]} (expected {v})" for k, v in expected.items() if settings.get(k) not in (None, v)]
    if mismatches:
        raise SetupError(f"{path}: {', '.join(mismatches)}")


def _files(folder: Path) -> tuple[Path, list[Path], set[str]]:
    """Return the index, the files that it names, and the weights that should be in them."""
    for index in INDEXES:
        listing = folder / index
        if not listing.is_file():
            continue
        file_of_weight = _read_json(listing).get("weight_map") or {}
        if not isinstance(file_of_weight, dict) or not all(map(is_inside, file_of_weight.values())):
            raise SetupError(f"{listing}: expected weight_map to name files in its folder; {MEND}")
        files = [folder / name for name in sorted(set(file_of_weight.values()))]
        absent = [path.name for path in files if not path.is_file()]
        if absent or not files:
            raise SetupError(f"{listing} names {listed(absent) or 'no file'}, missing beside it; {MEND}")
        return listing, files, {name for name in file_of_weight if not name.endswith(DERIVED)}
    raise SetupError(f"{folder / INDEXES[1]} is missing; {MEND}")


def _weights(path: Path) -> Iterator[tuple[str, Tensor]]:
    """Yield the weights of a file by name, one after another; nothing in it is executed."""
    mapped = zipfile.is_zipfile(path)  # so that a file of 10 GB is read one weight at a time
    try:
        tensors = _safetensors(path) if path.suffix == ".safetensors" else load_tensors(path, mapped=mapped).items()
        for name, value in tensors:
            if not isinstance(value, Tensor):
                raise SetupError(
                    f"{path}: expected a checkpoint of weights, but its entry {name} is not a tensor: "
                    f"{type(value).__name__}"
                )
            yield name, value
    except pickle.UnpicklingError as error:
        raise SetupError(f"{path}: holds more than weights, or is damaged; {MEND}. torch says: {error}") from error
    except (RuntimeError, OSError, EOFError, AttributeError) as error:
        raise SetupError(f"{path}: truncated, or no checkpoint; {MEND}. torch says: {error}") from error


def _safetensors(path: Path) -> Iterator[tuple[str, Any]]:
    with runtime.needed():
        from safetensors import SafetensorError, safe_open
    try:
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 - it is no dict
                yield name, file.get_tensor(name)
    except SafetensorError as error:
        raise SetupError(f"{path}: truncated, or no checkpoint; {MEND}. safetensors says: {error}") from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return convert(dict[str, Any], parse_json(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise SetupError(f"{path}: not readable as JSON: {error}; {MEND}") from error


WINDOW = 3
"""Frames of a window."""

PARAMETERS = 8_204_550_144
"""Numbers that one-align stores, for the room that it needs: 16.4 GB in fp16."""

FRAMES_AT_ONCE = 16
WINDOWS_AT_ONCE = 32
"""Batches of some 16,000 and 7,000 tokens: enough to keep a GPU busy, activations below 1 GB."""

THREADS = min(8, os.cpu_count() or 1)
"""That scale frames ahead of the network."""


@dataclass(frozen=True)
class LoadedQAlign:
    """The network, ready to be shown windows."""

    network: Network
    question: qalign_network.PosedPrompt
    table: Tensor

    @classmethod
    def of(cls, network: Network, prompt: qalign_network.Prompt) -> LoadedQAlign:
        """Read the prompt with a network that is on its device, without gradients."""
        table = qalign_vision.shades().to(network.lm_head.weight)
        with torch.inference_mode():
            return cls(network, qalign_network.pose(network, prompt, WINDOW), table)


class QAlignRater:
    """A :class:`~vmmetrics.perception.scene.QualityModel`: Q-Align's level of windows of frames. Nothing is downloaded.

    Args:
        folder: Checkpoint ``one-align``.
        cache: The device and the models that share it.
        precision: What it is computed in; scores, too, are as fine as this allows (in fp16 steps of 2⁻¹¹ above 0.5).
            Default: fp16, as released, on a GPU; fp32 on a CPU.
    """

    def __init__(self, folder: Path, cache: DeviceCache, precision: Precision | None = None) -> None:
        self.folder = folder
        self.device = cache.device
        self.precision: Precision = precision or ("fp16" if cache.device.type == "cuda" else "fp32")
        size = PARAMETERS * runtime.DTYPES[self.precision].itemsize
        self._model = CachedModel("Q-Align", self.load, size, cache, lambda loaded: loaded.network)

    def assess(self, scene: Scene) -> FloatArray:
        """Return (T,) float64 in 0..1, 1 best: the level of the window around each frame."""
        frames = scene.clip.frames
        return self.rate(frames, windows_of(len(frames)))

    def rate(self, frames: UInt8Array, windows: IntArray) -> FloatArray:
        """Return (W,) float64 in 0..1, 1 best.

        Args:
            frames: (T, H, W, 3) uint8 RGB.
            windows: (W, 3) int64 indices of the frames of each window, in order.

        Raises:
            ClipError: The network's answer is not finite.
            SetupError: The model cannot be loaded; the text names what is wrong.
        """
        logits = self.logits(frames, windows)
        worth = torch.tensor(list(qalign_network.LEVELS.values())).to(logits)
        scores = torch.softmax(logits, dim=-1) @ worth
        if not bool(torch.isfinite(scores).all()):
            raise ClipError(f"the answer of Q-Align is not finite in {self.precision}")
        return np.asarray(scores.double().cpu().numpy())

    def logits(self, frames: UInt8Array, windows: IntArray) -> Tensor:
        """Return (W, 5) logits of the levels, best first, on the device; arguments as for :meth:`rate`."""
        loaded = self._model.get()
        shown, within = np.unique(windows, return_inverse=True)

        def answers(rows: Sequence[IntArray]) -> list[Tensor]:
            batch = runtime.on_device(np.stack(rows), self.device)
            return list(qalign_network.answer(loaded.network, loaded.question, seen[batch]))

        with torch.inference_mode():
            seen = self._see(loaded, [frames[index] for index in shown])
            rows = list(within.reshape(windows.shape))
            return torch.stack(runtime.in_batches(answers, rows, WINDOWS_AT_ONCE, self._model))

    def _see(self, loaded: LoadedQAlign, frames: Sequence[UInt8Array]) -> Tensor:
        """Return (T, tokens, width) of frames; later ones are scaled while the network sees earlier ones."""
        side = loaded.network.sizes.vision.image_size

        def tokens(batch: Sequence[Future[UInt8Array]]) -> list[Tensor]:
            pixels = runtime.on_device(np.stack([frame.result() for frame in batch]), self.device)
            return list(loaded.network.see(qalign_vision.normalised(pixels, loaded.table)))

        with ThreadPoolExecutor(THREADS) as pool:
            scaled = [pool.submit(qalign_vision.squared, frame, side) for frame in frames]
            return torch.stack(runtime.in_batches(tokens, scaled, FRAMES_AT_ONCE, self._model))

    def load(self) -> LoadedQAlign:
        """Read the model from :attr:`folder`; a subclass may get it from elsewhere."""
        prompt = qalign_network.read_prompt(self.folder / "tokenizer.model")
        return LoadedQAlign.of(load_network(self.folder, self.device, runtime.DTYPES[self.precision]), prompt)


def windows_of(count: int) -> IntArray:
    """Return (count, 3) indices of VMBench's windows: a frame between its neighbours.

    At the ends as released: the first window is the first frame three times, and the last one makes up for the missing
    neighbour on the left, or, where that frame is the first, on the right.

    >>> windows_of(4).tolist()
    [[0, 0, 0], [0, 1, 2], [1, 2, 3], [2, 2, 3]]
    >>> windows_of(2).tolist()
    [[0, 0, 0], [0, 1, 1]]
    """
    windows: IntArray = np.arange(count, dtype=np.int64)[:, None] + np.array([-1, 0, 1])
    windows[0] = 0
    if count == 2:
        windows[1] = (0, 1, 1)
    elif count > 2:
        windows[-1] = (count - 2, count - 2, count - 1)
    return windows
