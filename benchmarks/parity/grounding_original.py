"""Grounding DINO through the package ``groundingdino-py``, for those who pin transformers below 5.

It gives what :class:`~vmmetrics.perception.vmbench.adapters.grounding.GroundingDINO` gives (docs/vmbench-preset.md has
the differences measured) and is no faster; the other needs no second package.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from benchmarks.parity.publishers import TOKENIZER_NAME, TRAINING_ONLY, bert_beside, grounding_weights
from vmmetrics.errors import SetupError
from vmmetrics.perception.vmbench.adapters.grounding import BOX_THRESHOLD, caption, prepared, shrunk
from vmmetrics.perception.vmbench.runtime import CachedModel, DeviceCache, cache_on
from vmmetrics.types import FloatArray, UInt8Array

_BYTES = 233_000_000 * 4


class OriginalGroundingDINO:
    """Grounding DINO Swin-B as its authors wrote it.

    Args:
        source: The publisher's ``groundingdino_swinb_cogcoor.pth``.
        device: Where it runs; None takes a GPU where there is one.
        cache: Whom it shares the device with; None for nobody.
        bert: Folder with google-bert/bert-base-uncased, weights included, which the package loads before the
            checkpoint's own replace them; None takes ``bert-base-uncased`` beside the file or its folder.
    """

    def __init__(
        self,
        source: str | Path,
        device: str | None = None,
        cache: DeviceCache | None = None,
        bert: str | Path | None = None,
    ) -> None:
        self._source = Path(source)
        cache = cache or cache_on(device)
        self._device = cache.device
        self._bert = Path(bert) if bert is not None else bert_beside(self._source)
        self._model: CachedModel[Any] = CachedModel("Grounding DINO", self._load, _BYTES, cache)

    def boxes(self, frame: UInt8Array, text: str) -> FloatArray:
        """Return (N, 4) float32 boxes in the order of the queries: centre x and y, width, height, shares of the frame.

        Args:
            frame: (H, W, 3) uint8 RGB.
            text: What to find; made lower case and to end in a dot.

        Raises:
            SetupError: A package, the checkpoint or BERT is missing or wrong.
        """
        model = self._model.get()
        with torch.inference_mode():
            answer = model(prepared(shrunk(frame)[None], self._device), captions=[caption(text)])
        best = answer["pred_logits"][0].sigmoid().amax(dim=-1)
        found: FloatArray = answer["pred_boxes"][0][best > BOX_THRESHOLD].float().cpu().numpy()
        return found

    def boxes_in(self, frames: Sequence[UInt8Array], text: str) -> list[FloatArray]:
        """Do :meth:`boxes` for several frames."""
        return [self.boxes(frame, text) for frame in frames]

    def _load(self) -> Any:
        weights = {key.removeprefix("module."): value for key, value in grounding_weights(self._source).items()}
        if not self._bert.is_dir():
            raise SetupError(f"{self._bert}: no such folder; it is google-bert/{TOKENIZER_NAME} on the hub")
        build_model = _package("groundingdino.models").build_model
        try:
            model = build_model(settings(self._bert))
        except AttributeError as error:  # it reaches for what transformers 5 has no more
            raise SetupError(
                f"groundingdino-py does not run with this transformers ({error}); use GroundingDINO, or: "
                "pip install 'transformers<5'"
            ) from error
        missing, surplus = model.load_state_dict(weights, strict=False)
        surplus = [name for name in surplus if not TRAINING_ONLY.fullmatch(name)]
        if missing or surplus:
            named = ", ".join([*missing, *surplus][:6])
            raise SetupError(f"{self._source}: the checkpoint does not fit Grounding DINO: missing or surplus: {named}")
        return model.to(self._device).eval().requires_grad_(False)


def settings(bert: Path) -> Any:
    """Settings of Swin-B from the package."""
    folder = Path(_package("groundingdino").__file__).parent / "config"
    chosen = _package("groundingdino.util.slconfig").SLConfig.fromfile(str(folder / "GroundingDINO_SwinB_cfg.py"))
    chosen.device = "cpu"
    chosen.text_encoder_type = str(bert)
    return chosen


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise SetupError(
            f"groundingdino-py cannot be imported ({error}); install it with: "
            "pip install groundingdino-py 'transformers<5'"
        ) from error
