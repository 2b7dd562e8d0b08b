"""Fusion of video frames in a picture encoder: MotionBench's study, as wrappers of a ViT.

Every wrapper takes frames (B, N, C, height, width) and gives a language model's decoder (B, N / k, l, D) visual tokens:
k frames become one group, P patches of width H become l tokens of width D. What differs is where a group's frames meet:

=================  =================================================================================================
none               nowhere; k is 1
pre-encoder        k frames stacked in channels before the patches are cut, as in Qwen2-VL
average            after encoder and spatial downsampling: their mean, as in PLLaVA
concatenate        after the encoder: side by side in width, through an MLP, then downsampled, as in Kangaroo
qformer            after encoder and spatial downsampling: l learned queries look at the k·l tokens
through-encoder    in every layer of the encoder: a group's k·P tokens are one sequence (TE Fusion)
=================  =================================================================================================

    encoder = fuse(timm.create_model("vit_base_patch16_224", num_classes=0), "through-encoder", k=4, width=4096)
    tokens = encoder(frames)

Needs the extra ``fusion``. Encoders: timm's ``VisionTransformer`` and transformers' ``ViTModel``,
``CLIPVisionModel``, ``SiglipVisionModel`` and ``Dinov2Model``. Hong et al., "MotionBench", CVPR 2025, section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from vmmetrics.errors import SetupError, install

try:
    import torch
    from torch import Tensor, nn
except ModuleNotFoundError as error:
    raise SetupError(f"{error.name} is missing; install it with: {install('fusion')}") from error

POSITION_STD = 0.02
"""Standard deviation of initial position embeddings, as in ViTs."""
QUERY_LAYERS = 2
"""Layers of the Q-Former; the paper calls it light-weighted without a depth."""
HEAD_WIDTH = 64


def position_embedding(k: int, width: int) -> nn.Parameter:
    """Return a learned embedding (k, width) of a frame's position in its group."""
    return nn.Parameter(nn.init.trunc_normal_(torch.empty(k, width), std=POSITION_STD))


class Downsample(nn.Module):  # type: ignore[misc]
    """Concatenation of side x side neighbouring patches in width, projected linearly.

    Args:
        grid: Rows and columns of patches.
        side: Patches along each side of what becomes one token.
        width: Of a patch.
        out: Width of a token.

    Raises:
        ValueError: The grid is no multiple of ``side``.
    """

    def __init__(self, grid: tuple[int, int], side: int, width: int, out: int) -> None:
        super().__init__()
        rows, columns = grid
        if side < 1 or rows % side or columns % side:
            raise ValueError(
                f"a grid of {rows} x {columns} patches is no multiple of {side} x {side}: choose another side"
            )
        self.blocks = (rows // side, side, columns // side, side)
        self.tokens = self.blocks[0] * self.blocks[2]
        self.project = nn.Linear(side * side * width, out)

    def forward(self, patches: Tensor) -> Tensor:
        """Return (..., l, out) of patches (..., P, width), rows first."""
        blocks = patches.unflatten(-2, self.blocks).transpose(-4, -3)  # (..., rows, columns, side, side, width)
        return self.project(blocks.flatten(-3).flatten(-3, -2))


class Queries(nn.Module):  # type: ignore[misc]
    """Learned queries over a group's tokens: self-attention, cross-attention and an MLP in each layer.

    The tokens carry their frame's place in the group, as through the encoder, without which queries could not tell the
    frames' order.

    Args:
        k: Frames of a group.
        tokens: l, of a frame, and queries.
        width: Of all of them.
    """

    def __init__(self, k: int, tokens: int, width: int) -> None:
        super().__init__()
        self.places = position_embedding(k, width)
        self.queries = position_embedding(tokens, width)
        self.norm = nn.LayerNorm(width)
        heads = width // HEAD_WIDTH if width % HEAD_WIDTH == 0 else 1
        layer = nn.TransformerDecoderLayer(
            width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerDecoder(layer, QUERY_LAYERS)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return (B, groups, l, width) of tokens (B, groups, k, l, width)."""
        seen = self.norm(tokens + self.places[:, None]).flatten(2, 3).flatten(0, 1)
        looked = self.layers(self.queries.expand(seen.shape[0], -1, -1), seen)
        return looked.unflatten(0, tokens.shape[:2])


SUPPORTED = ("VisionTransformer", "ViTModel", "CLIPVisionModel", "SiglipVisionModel", "Dinov2Model")
"""Classes that add positions once, before the first layer; rotary embeddings act in every layer."""


class PatchEncoder(nn.Module):  # type: ignore[misc]
    """An encoder's patch tokens; class and register tokens take part in attention as trained, and are dropped after.

    Args:
        vit: One of :data:`SUPPORTED` or a subclass. It becomes this module's own: fusion before the encoder widens its
            patch convolution, fusion through it hooks its first layer.

    Attributes:
        grid: Rows and columns of patches.
        patch: Height and width of a patch in pixels.
        patches: Patches of one picture.
        picture_size: Height and width in pixels of the pictures taken.
        width: Of a token.

    Raises:
        ValueError: Another class, an encoder that drops patches at random or one that another wrapper has hooked.
    """

    def __init__(self, vit: nn.Module) -> None:
        super().__init__()
        of = ("timm", "transformers")  # torchvision's and others' classes have the same names
        names = {base.__name__ for base in type(vit).__mro__ if base.__module__.partition(".")[0] in of}
        if not names.intersection(SUPPORTED):
            name = f"{type(vit).__module__}.{type(vit).__name__}"
            raise ValueError(f"{name} is not supported; timm's or transformers' {', '.join(SUPPORTED)} is needed")
        self.is_timm = "VisionTransformer" in names
        if self.is_timm and not isinstance(vit.patch_drop, nn.Identity):
            raise ValueError("the encoder drops patches at random (patch_drop_rate), so positions of frames differ")
        self.vit = vit
        conv = self.patch_convolution
        size = vit.patch_embed.img_size if self.is_timm else vit.config.image_size
        height, width = (size, size) if isinstance(size, int) else size
        self.patch: tuple[int, int] = conv.stride
        self.grid: tuple[int, int] = (height // self.patch[0], width // self.patch[1])
        self.patches: int = self.grid[0] * self.grid[1]
        self.picture_size = (self.grid[0] * self.patch[0], self.grid[1] * self.patch[1])
        self.width: int = conv.out_channels
        if self._first_layer()._forward_pre_hooks:
            raise ValueError("the encoder's first layer is hooked already: pass a fresh copy")

    def forward(self, pictures: Tensor) -> Tensor:
        """Return (M, tokens, width), class and register tokens first, of pictures (M, C, height, width)."""
        if self.is_timm:
            return self.vit.forward_features(pictures)
        return self.vit(pixel_values=pictures).last_hidden_state

    def before_layers(self, hook: Callable[[nn.Module, tuple[Any, ...]], tuple[Any, ...]]) -> None:
        """Register a function on the input of the first layer: tokens with positions, and other arguments.

        It stays on, rather than being set for each call: gradient checkpointing runs the layer again by itself. A bound
        method, unlike a closure, follows when the model is copied.
        """
        self._first_layer().register_forward_pre_hook(hook)

    def widen(self, k: int) -> None:
        """Widen the patch convolution to k images stacked in channels.

        Each picture's kernel is 1 / k of the old one, so that k equal pictures give the old tokens.
        """
        parent, name, old = self._patches()
        wide = nn.Conv2d(k * old.in_channels, old.out_channels, old.kernel_size, old.stride, bias=old.bias is not None)
        wide.to(old.weight.device, old.weight.dtype)
        wide.weight.data.copy_(old.weight.data.repeat(1, k, 1, 1) / k)
        if old.bias is not None:
            wide.bias.data.copy_(old.bias.data)
        setattr(parent, name, wide)
        if hasattr(parent, "num_channels"):  # what transformers checks pictures against
            parent.num_channels = wide.in_channels

    @property
    def patch_convolution(self) -> nn.Conv2d:
        """The convolution that embeds patches."""
        return self._patches()[2]

    def _patches(self) -> tuple[nn.Module, str, nn.Conv2d]:
        """Return the parent module of the patch convolution, its name there, and itself."""
        for path, module in self.vit.named_modules():
            if isinstance(module, nn.Conv2d):
                if module.kernel_size != module.stride:
                    raise ValueError("the encoder's patches overlap")
                parent, _, name = path.rpartition(".")
                return self.vit.get_submodule(parent), name, module
        raise ValueError("the encoder cuts its patches by something other than a convolution")

    def _first_layer(self) -> nn.Module:
        if self.is_timm:
            return self.vit.blocks[0]
        depth = self.vit.config.num_hidden_layers
        return next(m for m in self.vit.modules() if isinstance(m, nn.ModuleList) and len(m) == depth)[0]


Remainder = Literal["error", "repeat"]
"""Treatment of frames that do not fill a group: raise an error, or repeat the last frame."""


class FusedEncoder(nn.Module):  # type: ignore[misc]
    """A ViT with fusion of frames in groups of k; use one of its subclasses.

    With k = 1 there is nothing to merge: no merging module is built, and every subclass computes what
    :class:`NoFusion` does. What is added has the device and the precision of the encoder's patches.

    Args:
        vit: Encoder; it becomes the wrapper's own (see :class:`PatchEncoder`).
        k: Frames of a group.
        width: D, of the decoder's tokens.
        side: Patches of side x side become one token (2 in the paper).
        remainder: Treatment of frames that do not fill a group.

    Raises:
        ValueError: An encoder that is not supported, k below 1, or a grid that ``side`` does not divide.
    """

    joins: ClassVar[bool] = False
    """True if the k patches at one position are side by side in width before the downsampling."""

    def __init__(self, vit: nn.Module, k: int, width: int, *, side: int = 2, remainder: Remainder = "error") -> None:
        super().__init__()
        if k < 1:
            raise ValueError(f"k is the frames of a group, at least 1, not {k}")
        self.k, self.width, self.remainder = k, width, remainder
        self.encoder = PatchEncoder(vit)
        joined = self.k if self.joins else 1
        self.downsample = Downsample(self.encoder.grid, side, joined * self.encoder.width, width)
        self._build()
        weight = self.encoder.patch_convolution.weight
        for name, part in [*self.named_parameters()]:
            if not name.startswith("encoder."):
                part.data = part.data.to(weight.device, weight.dtype)

    @property
    def tokens(self) -> int:
        """Number of decoder tokens per group: l."""
        return self.downsample.tokens

    def forward(self, frames: Tensor) -> Tensor:
        """Return the decoder's tokens.

        Args:
            frames: (B, N, C, height, width), as the encoder takes pictures.

        Returns:
            (B, N / k, l, D); with ``remainder="repeat"`` N / k is rounded up.

        Raises:
            ValueError: Other shapes than that, or N not a multiple of k with ``remainder="error"``.
        """
        return self.merged(self.encoded(frames))

    def encoded(self, frames: Tensor) -> Tensor:
        """Return the encoder's patch tokens: (B, N, P, H) where frames have not met, (B, N / k, P or k·P, H) else."""
        frames = self._taken(frames)
        tokens = self.encoder(frames.flatten(0, 1))
        return tokens[:, -self.encoder.patches :].unflatten(0, frames.shape[:2])

    def merged(self, tokens: Tensor) -> Tensor:
        """Return the decoder's tokens (B, N / k, l, D) of what :meth:`encoded` returned."""
        return self.downsample(tokens)

    def _build(self) -> None:
        """Create the modules that fuse k frames."""

    def _taken(self, frames: Tensor) -> Tensor:
        """Return the frames in full groups, as the encoder expects them."""
        size = self.encoder.picture_size
        if frames.ndim != 5 or frames.shape[1] < 1 or tuple(frames.shape[-2:]) != size:
            raise ValueError(f"frames are (B, N, C, {size[0]}, {size[1]}), N at least 1, not {tuple(frames.shape)}")
        short = -frames.shape[1] % self.k
        if not short:
            return frames
        if self.remainder == "error":
            raise ValueError(f"{frames.shape[1]} frames are no multiple of k = {self.k}; see remainder='repeat'")
        return torch.cat([frames, frames[:, -1:].expand(-1, short, -1, -1, -1)], dim=1)

    def _grouped(self, tokens: Tensor) -> Tensor:
        """Reshape (B, N, ...) to (B, N / k, k, ...)."""
        return tokens.unflatten(1, (-1, self.k))


class NoFusion(FusedEncoder):
    """No fusion: every frame by itself, (B, N, l, D); k is 1."""

    def _build(self) -> None:
        if self.k != 1:
            raise ValueError(f"without fusion k is 1, not {self.k}")


class PreEncoder(FusedEncoder):
    """Fusion before the encoder: k frames stacked in channels (Qwen2-VL), N / k images to encode."""

    def _build(self) -> None:
        if self.k > 1:
            self.encoder.widen(self.k)

    def _taken(self, frames: Tensor) -> Tensor:
        return self._grouped(super()._taken(frames)).flatten(2, 3)


class Average(FusedEncoder):
    """Mean of k frames' tokens after downsampling (PLLaVA); it ignores their order."""

    def merged(self, tokens: Tensor) -> Tensor:
        """Return the decoder's tokens (B, N / k, l, D)."""
        return self._grouped(self.downsample(tokens)).mean(dim=2)


class Concatenate(FusedEncoder):
    """Concatenation of k frames in width, (B, N / k, P, k·H), an MLP back to H, then downsampling (Kangaroo)."""

    def _build(self) -> None:
        h = self.encoder.width
        self.mlp = nn.Sequential(nn.Linear(self.k * h, h), nn.GELU(), nn.Linear(h, h)) if self.k > 1 else nn.Identity()

    def merged(self, tokens: Tensor) -> Tensor:
        """Return the decoder's tokens (B, N / k, l, D)."""
        return self.downsample(self.mlp(self._grouped(tokens).transpose(2, 3).flatten(3)))


class QFormer(FusedEncoder):
    """Q-Former, trained from scratch: l learned queries over the k·l downsampled tokens of a group."""

    def _build(self) -> None:
        self.queries = Queries(self.k, self.tokens, self.width) if self.k > 1 else None

    def merged(self, tokens: Tensor) -> Tensor:
        """Return the decoder's tokens (B, N / k, l, D)."""
        small = self.downsample(tokens)
        return small if self.queries is None else self.queries(self._grouped(small))


class ThroughEncoder(FusedEncoder):
    """Fusion in every layer: k frames are one sequence of k·P tokens, then concatenated in width (TE Fusion).

    To the spatial positions, the same for every frame, a learned embedding of the frame's place in its group is added
    before the first layer. Groups never meet. Class and register tokens, on which the paper is silent, go along.
    """

    joins = True

    def _build(self) -> None:
        if self.k > 1:
            self.places = position_embedding(self.k, self.encoder.width)
            self.encoder.before_layers(self._join)

    def encoded(self, frames: Tensor) -> Tensor:
        """Return the encoder's patch tokens, (B, N / k, k·P, H), frame after frame."""
        frames = self._taken(frames)
        by_frame = self.encoder(frames.flatten(0, 1)).unflatten(1, (self.k, -1))
        patches = by_frame[:, :, -self.encoder.patches :].flatten(1, 2)
        return patches.unflatten(0, (len(frames), -1))

    def merged(self, tokens: Tensor) -> Tensor:
        """Return the decoder's tokens (B, N / k, l, D)."""
        by_frame = tokens.unflatten(2, (self.k, -1))
        return self.downsample(by_frame.transpose(2, 3).flatten(3))

    def _join(self, _layer: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Reshape (G·k, tokens of a frame, H) to (G, k · tokens of a frame, H), with group positions added."""
        tokens, *others = arguments
        return ((tokens.unflatten(0, (-1, self.k)) + self.places[:, None]).flatten(1, 2), *others)


PARADIGMS: dict[str, type[FusedEncoder]] = {
    "none": NoFusion,
    "pre-encoder": PreEncoder,
    "average": Average,
    "concatenate": Concatenate,
    "qformer": QFormer,
    "through-encoder": ThroughEncoder,
}


def fuse(
    vit: nn.Module, paradigm: str, k: int, width: int, *, side: int = 2, remainder: Remainder = "error"
) -> FusedEncoder:
    """Wrap an encoder with a fusion paradigm.

    Args:
        vit: Encoder; it becomes the wrapper's own.
        paradigm: A name in :data:`PARADIGMS`.
        k: Frames of a group.
        width: D, of the decoder's tokens.
        side: Patches of side x side become one token.
        remainder: Treatment of frames that do not fill a group.

    Raises:
        ValueError: The paradigm is unknown, or its class rejects the arguments.
    """
    if paradigm not in PARADIGMS:
        raise ValueError(f"no paradigm {paradigm!r}; there are {', '.join(PARADIGMS)}")
    return PARADIGMS[paradigm](vit, k, width, side=side, remainder=remainder)
