"""What a text names, found by Grounding DINO Swin-B: :class:`~vmmetrics.perception.vmbench.models.Grounder`.

The network is transformers'. Its attention implementation must be left alone: set to ``eager`` it adds the text's
boolean mask to the scores as a number, and no box agrees with upstream's any more (measured on 5.23; the text encoder
is therefore asked for ``sdpa`` by name).

References:
    Liu et al., Grounding DINO: Marrying DINO with Grounded Pre-Training for Open-Set Object Detection
    (arXiv 2303.05499).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from vmmetrics.errors import SetupError
from vmmetrics.perception.vmbench.checkpoints import read_weights
from vmmetrics.perception.vmbench.models import UInt8Array
from vmmetrics.perception.vmbench.ported.grounding_keys import hub_weights
from vmmetrics.perception.vmbench.runtime import DTYPES, Held, Precision, Shelf, shelf_on
from vmmetrics.types import FloatArray

HUB_ID = "IDEA-Research/grounding-dino-base"
"""The hub's conversion of the publisher's ``groundingdino_swinb_cogcoor.pth``."""

BOX_THRESHOLD = 0.25
"""A query counts when its best token's probability is above this; VMBench's setting in PAS and TCS."""

SHORT_SIDE, LONG_SIDE = 800, 1333
"""Pixels: frames are resized to the first along their short side, unless the long one then exceeded the second."""
PIXEL_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
PIXEL_STD = np.array([0.229, 0.224, 0.225], np.float32)
"""ImageNet's, RGB, of values in 0..1."""

SPECIAL_TOKENS = {"[CLS]": 101, "[SEP]": 102, ".": 1012, "?": 1029}
"""Where phrases end: transformers has these ids built in, so the vocabulary must agree."""

FETCH = "fetch it with: vmmetrics weights fetch"
HUB_NAME, FILE_NAME, TOKENIZER_NAME = "grounding-dino-base", "grounding-dino-swinb-cogcoor", "bert-base-uncased"
"""What ``vmmetrics weights`` calls the hub's checkpoint, the publisher's, and the tokenizer that goes with that."""
_BYTES = 233_000_000 * 4


class GroundingDINO:
    """Grounding DINO Swin-B through transformers.

    Nothing is ever downloaded: a hub id must be in the local cache.

    Args:
        source: Hub id, folder in the hub's layout, or the publisher's ``groundingdino_swinb_cogcoor.pth``.
        device: Where it runs; None takes a GPU where there is one.
        precision: What matrix products are computed in; ``"fp32"``, as released.
        shelf: Whom it shares the device with; None for nobody.
        tokenizer: Folder with BERT's vocabulary; None takes ``source``, or, the publisher's file having none, the
            folder ``bert-base-uncased`` beside the file or beside the file's folder.
        config: Architecture of a publisher's file of another size, a ``GroundingDinoConfig``.
    """

    def __init__(
        self,
        source: str | Path = HUB_ID,
        device: str | None = None,
        precision: Precision = "fp32",
        shelf: Shelf | None = None,
        tokenizer: str | Path | None = None,
        config: Any = None,
    ) -> None:
        self.source = source
        self.precision: Precision = precision
        shelf = shelf_on(device, shelf)
        self.device = shelf.device
        self._config = config
        file = Path(source)
        self._tokenizer_source = tokenizer or (bert_beside(file) if is_file(file) else source)
        self._held: Held[tuple[Any, Any]] = Held("Grounding DINO", self._load, _BYTES, shelf)

    def boxes(self, frame: UInt8Array, text: str) -> FloatArray:
        """Return (N, 4) float32 boxes in the order of the queries: centre x and y, width, height, shares of the frame.

        Args:
            frame: (H, W, 3) uint8 RGB.
            text: What to find; made lower case and to end in a dot.

        Raises:
            SetupError: The checkpoint or the tokenizer is missing or wrong.
        """
        logits, boxes = self.queries(prepared(frame), caption(text))
        found: FloatArray = boxes[logits.sigmoid().amax(dim=-1) > BOX_THRESHOLD].numpy()
        return found

    def queries(self, pixels: Tensor, text: str) -> tuple[Tensor, Tensor]:
        """Return every query's (900, 256) logits over the text's tokens and (900, 4) box, float32, on the CPU.

        Args:
            pixels: (3, h, w) float32 from :func:`prepared`.
            text: From :func:`caption`.
        """
        model, tokenizer = self._held.get()
        half = self.precision != "fp32"
        with (
            torch.inference_mode(),
            torch.autocast(self.device.type, dtype=DTYPES[self.precision], enabled=half),
        ):
            tokens = tokenizer(text, return_tensors="pt").to(self.device)
            answer = model(pixel_values=pixels[None].to(self.device), **tokens)
        return answer.logits[0].float().cpu(), answer.pred_boxes[0].float().cpu()

    def _load(self) -> tuple[Any, Any]:
        model = load_grounding_dino(self.source, self._config)
        return model.to(self.device), load_tokenizer(self._tokenizer_source)


def is_file(source: Path) -> bool:
    """Whether a source is the publisher's file."""
    return source.suffix in (".pth", ".pt")


def bert_beside(file: Path) -> Path:
    """Return where bert-base-uncased is, or belongs, that a file of the publisher's goes with."""
    near, far = file.parent / TOKENIZER_NAME, file.parent.parent / TOKENIZER_NAME
    return far if far.is_dir() and not near.is_dir() else near


def prepared(frame: UInt8Array) -> Tensor:
    """Resize and normalise a frame as upstream does.

    Args:
        frame: (H, W, 3) uint8 RGB.

    Returns:
        (3, h, w) float32.
    """
    size = resized(*frame.shape[:2])
    image = Image.fromarray(np.ascontiguousarray(frame))
    if size != frame.shape[:2]:
        image = image.resize(size[::-1], Image.Resampling.BILINEAR)
    values = np.asarray(image, dtype=np.float32) / np.float32(255)
    return torch.from_numpy(np.ascontiguousarray(((values - PIXEL_MEAN) / PIXEL_STD).transpose(2, 0, 1)))


def resized(height: int, width: int) -> tuple[int, int]:
    """Height and width that a frame is resized to.

    >>> resized(480, 720), resized(720, 1280)
    ((800, 1200), (750, 1333))
    """
    short, long = sorted((height, width))
    target = SHORT_SIDE
    if long / short * target > LONG_SIDE:
        target = round(LONG_SIDE * short / long)
    if short == target:
        return height, width
    other = int(target * long / short)
    return (target, other) if height <= width else (other, target)


def caption(text: str) -> str:
    """Text as the network was trained on it.

    >>> caption(" A Horse ")
    'a horse.'
    """
    lowered = text.lower().strip()
    return lowered if lowered.endswith(".") else lowered + "."


def load_grounding_dino(source: str | Path, config: Any = None) -> Any:
    """Load the network in float32 and evaluation mode, every weight from the checkpoint and every one used.

    Args:
        source: As for :class:`GroundingDINO`.
        config: Likewise.

    Raises:
        SetupError: transformers is not installed, or the checkpoint is missing, damaged or of another network.
    """
    transformers = _transformers()
    kind, logging = transformers.GroundingDinoForObjectDetection, transformers.utils.logging
    options: dict[str, Any] = {
        "local_files_only": True,
        "dtype": torch.float32,
        "output_loading_info": True,
        "ignore_mismatched_sizes": True,  # they are told below, by name
    }
    file = Path(source)
    name = FILE_NAME if is_file(file) else HUB_NAME
    progress = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        if is_file(file):
            config = config or swin_b_config()
            weights = hub_weights(read_weights(file, "model", name), file)
            loaded = kind.from_pretrained(None, config=config, state_dict=weights, **options)
        else:
            config = transformers.GroundingDinoConfig.from_pretrained(source, local_files_only=True)
            config.disable_custom_kernels = True  # they would be fetched or compiled
            loaded = kind.from_pretrained(source, config=config, **options)
    except SetupError:
        raise
    except Exception as error:  # transformers fails in many ways on what is no checkpoint, or is not there
        raise SetupError(f"{source}: cannot be loaded as Grounding DINO; {FETCH} {name}. The cause: {error}") from error
    finally:
        if progress:
            logging.enable_progress_bar()
    model, info = loaded
    faults = {what: sorted(map(str, info[what])) for what in ("missing_keys", "unexpected_keys", "mismatched_keys")}
    told = [f"{what.replace('_', ' ')}: {', '.join(keys[:6])} ({len(keys)})" for what, keys in faults.items() if keys]
    if told:
        raise SetupError(f"{source}: the checkpoint does not fit Grounding DINO: {'; '.join(told)}; {FETCH} {name}")
    model.model.text_backbone.set_attn_implementation("sdpa")
    return model.eval().requires_grad_(False)


def load_tokenizer(source: str | Path) -> Any:
    """Load BERT's uncased tokenizer from a folder or the hub's local cache.

    Raises:
        SetupError: It is not there, or has another vocabulary.
    """
    transformers = _transformers()
    if not os.fspath(source) or (Path(source).is_absolute() and not Path(source).is_dir()):
        raise SetupError(f"{source}: no such folder for BERT's tokenizer; {FETCH} {TOKENIZER_NAME}")
    try:
        tokenizer = transformers.BertTokenizer.from_pretrained(source, local_files_only=True)
    except Exception as error:  # as for the network
        raise SetupError(f"{source}: holds no tokenizer; {FETCH} {TOKENIZER_NAME}. The cause: {error}") from error
    found = {token: tokenizer.convert_tokens_to_ids(token) for token in SPECIAL_TOKENS}
    if found != SPECIAL_TOKENS:
        raise SetupError(f"{source}: expected the vocabulary of bert-base-uncased but its ids are {found}")
    return tokenizer


def swin_b_config() -> Any:
    """Architecture of the publisher's Swin-B file."""
    transformers = _transformers()
    backbone = transformers.SwinConfig(
        image_size=384,
        embed_dim=128,
        depths=[2, 2, 18, 2],
        num_heads=[4, 8, 16, 32],
        window_size=12,
        out_indices=[2, 3, 4],
    )
    text = transformers.BertConfig()  # the defaults are bert-base-uncased
    return transformers.GroundingDinoConfig(backbone_config=backbone, text_config=text, disable_custom_kernels=True)


def _transformers() -> Any:
    try:
        import transformers
    except ModuleNotFoundError as error:
        raise SetupError(f"{error.name} is missing; install it with: pip install 'vmmetrics[vmbench]'") from error
    return transformers
