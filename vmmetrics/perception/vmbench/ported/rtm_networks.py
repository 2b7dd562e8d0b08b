"""RTMDet and RTMPose: convolutional networks of the OpenMMLab model zoo, written out for inference.

The modules are named so that the zoo's checkpoints load key by key; mmdet and mmpose, which built them, do not install
with numpy 2. What comes out is raw: class scores and box sides per place of a grid, and one score per half pixel along
each axis for each keypoint.

References:
    Lyu et al., RTMDet: An Empirical Study of Designing Real-Time Object Detectors (arXiv 2212.07784).
    Jiang et al., RTMPose: Real-Time Multi-Person Pose Estimation based on MMPose (arXiv 2303.07399).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own convention

from vmmetrics.perception.vmbench.checkpoints import check_fit, read_weights

Net = TypeVar("Net", bound=nn.Module)

STRIDES = (8, 16, 32)
"""Pixels between the places of the detector's three grids."""
POSE_INPUT = (192, 256)
"""Width and height of the picture that keypoints are found in."""
BINS_PER_PIXEL = 2
"""Scores along each axis per pixel of that picture."""

RTMDET_NAME, RTMPOSE_NAME = "rtmdet-m-person", "rtmpose-m-body7"
"""What ``vmmetrics weights`` calls their checkpoints."""

STAGE_WIDTHS = (64, 128, 256, 512, 1024)
STAGE_BLOCKS = (3, 6, 6, 3)
"""Of the largest network; the others are narrower and shallower by a factor each."""
POOLS = (5, 9, 13)
"""Kernel sides of the spatial pyramid in the last stage."""

KEYPOINTS = 17
GAU_WIDTH, GAU_KEYS = 256, 128
"""Channels of a keypoint's token, and of its queries and keys."""
SCALE_NORM_EPSILON = 1e-5


@dataclass(frozen=True, slots=True)
class RTMSize:
    """Factors on the widths and numbers of blocks of the largest network."""

    widen: float
    deepen: float

    @property
    def widths(self) -> tuple[int, ...]:
        """Channels of the stem and of each stage."""
        return tuple(int(width * self.widen) for width in STAGE_WIDTHS)

    @property
    def blocks(self) -> tuple[int, ...]:
        """Blocks of each stage."""
        return tuple(max(round(blocks * self.deepen), 1) for blocks in STAGE_BLOCKS)


MEDIUM = RTMSize(0.75, 0.67)
"""RTMDet-m and RTMPose-m."""


class ConvNorm(nn.Module):  # type: ignore[misc]
    """Convolution, batch norm, SiLU."""

    def __init__(self, inner: int, outer: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inner, outer, kernel, stride, kernel // 2, groups=groups, bias=False)
        self.bn = nn.BatchNorm2d(outer)

    def forward(self, x: Tensor) -> Tensor:
        """(B, inner, H, W) to (B, outer, H / stride, W / stride)."""
        return F.silu(self.bn(self.conv(x)))


class CSPNeXtBlock(nn.Module):  # type: ignore[misc]
    """A 3 x 3 and a separable 5 x 5 convolution, added to what came in or not."""

    def __init__(self, width: int, identity: bool) -> None:
        super().__init__()
        self.conv1 = ConvNorm(width, width, 3)
        parts = {"depthwise_conv": ConvNorm(width, width, 5, groups=width), "pointwise_conv": ConvNorm(width, width)}
        self.conv2 = nn.Sequential(OrderedDict(parts))
        self.identity = identity

    def forward(self, x: Tensor) -> Tensor:
        """(B, width, H, W) to the same."""
        out = self.conv2(self.conv1(x))
        return out + x if self.identity else out


class ChannelAttention(nn.Module):  # type: ignore[misc]
    """Channels weighted by what their means say."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, width, H, W) to the same."""
        return x * F.hardsigmoid(self.fc(x.mean(dim=(2, 3), keepdim=True)))


class CSPLayer(nn.Module):  # type: ignore[misc]
    """Blocks over half of the channels, the others passed by."""

    def __init__(self, inner: int, outer: int, blocks: int, identity: bool, attention: bool) -> None:
        super().__init__()
        half = outer // 2
        self.main_conv = ConvNorm(inner, half)
        self.short_conv = ConvNorm(inner, half)
        self.final_conv = ConvNorm(2 * half, outer)
        self.blocks = nn.Sequential(*(CSPNeXtBlock(half, identity) for _ in range(blocks)))
        if attention:
            self.attention = ChannelAttention(2 * half)

    def forward(self, x: Tensor) -> Tensor:
        """(B, inner, H, W) to (B, outer, H, W)."""
        both = torch.cat([self.blocks(self.main_conv(x)), self.short_conv(x)], dim=1)
        return self.final_conv(self.attention(both) if hasattr(self, "attention") else both)


class SpatialPyramidPooling(nn.Module):  # type: ignore[misc]
    """Spatial pyramid pooling (SPP): max pooling at several kernel sizes, concatenated."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = ConvNorm(width, width // 2)
        self.conv2 = ConvNorm(width // 2 * (1 + len(POOLS)), width)

    def forward(self, x: Tensor) -> Tensor:
        """(B, width, H, W) to the same."""
        x = self.conv1(x)
        return self.conv2(torch.cat([x, *(F.max_pool2d(x, side, 1, side // 2) for side in POOLS)], dim=1))


class CSPNeXt(nn.Module):  # type: ignore[misc]
    """The backbone of both."""

    def __init__(self, size: RTMSize) -> None:
        super().__init__()
        widths, last = size.widths, len(size.blocks)
        half = widths[0] // 2
        self.stem = nn.Sequential(ConvNorm(3, half, 3, 2), ConvNorm(half, half, 3), ConvNorm(half, widths[0], 3))
        for stage, blocks in enumerate(size.blocks, start=1):
            width = widths[stage]
            layers: list[nn.Module] = [ConvNorm(widths[stage - 1], width, 3, 2)]
            if stage == last:
                layers.append(SpatialPyramidPooling(width))
            layers.append(CSPLayer(width, width, blocks, identity=stage < last, attention=True))
            self.add_module(f"stage{stage}", nn.Sequential(*layers))

    def forward(self, x: Tensor) -> list[Tensor]:
        """(B, 3, H, W) to the maps of the stages, at strides 4, 8, 16 and 32."""
        x = self.stem(x)
        maps: list[Tensor] = []
        for stage in range(1, len(STAGE_BLOCKS) + 1):
            x = self.get_submodule(f"stage{stage}")(x)
            maps.append(x)
        return maps


class PathAggregation(nn.Module):  # type: ignore[misc]
    """The detector's neck: coarse maps tell fine ones, then fine ones coarse ones."""

    def __init__(self, size: RTMSize) -> None:
        super().__init__()
        inner, outer = size.widths[-3:], size.widths[-3]
        blocks = max(round(3 * size.deepen), 1)
        self.reduce_layers = nn.ModuleList([ConvNorm(inner[2], inner[1]), ConvNorm(inner[1], inner[0])])
        self.top_down_blocks = nn.ModuleList(
            [CSPLayer(2 * width, width, blocks, identity=False, attention=False) for width in (inner[1], inner[0])]
        )
        self.downsamples = nn.ModuleList([ConvNorm(width, width, 3, 2) for width in inner[:2]])
        self.bottom_up_blocks = nn.ModuleList(
            [CSPLayer(2 * a, b, blocks, identity=False, attention=False) for a, b in pairwise(inner)]
        )
        self.out_convs = nn.ModuleList([ConvNorm(width, outer, 3) for width in inner])

    def forward(self, fine: Tensor, middle: Tensor, coarse: Tensor) -> list[Tensor]:
        """Maps at strides 8, 16 and 32 to three of equal width."""
        tops = [self.reduce_layers[0](coarse)]
        merged = self.top_down_blocks[0](torch.cat([F.interpolate(tops[0], scale_factor=2.0), middle], dim=1))
        tops.append(self.reduce_layers[1](merged))
        out = [self.top_down_blocks[1](torch.cat([F.interpolate(tops[1], scale_factor=2.0), fine], dim=1))]
        for down, block, top in zip(self.downsamples, self.bottom_up_blocks, reversed(tops), strict=True):
            out.append(block(torch.cat([down(out[-1]), top], dim=1)))
        return [conv(x) for conv, x in zip(self.out_convs, out, strict=True)]


class DetectionHead(nn.Module):  # type: ignore[misc]
    """Two stacks of convolutions per grid, shared between grids up to their norms."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.cls_convs, self.reg_convs = (
            nn.ModuleList(nn.Sequential(ConvNorm(width, width, 3), ConvNorm(width, width, 3)) for _ in STRIDES)
            for _ in range(2)
        )
        for stacks in (self.cls_convs, self.reg_convs):
            for stack in stacks[1:]:
                for layer, first in zip(stack, stacks[0], strict=True):
                    layer.conv = first.conv
        self.rtm_cls = nn.ModuleList(nn.Conv2d(width, 1, 1) for _ in STRIDES)
        self.rtm_reg = nn.ModuleList(nn.Conv2d(width, 4, 1) for _ in STRIDES)

    def forward(self, maps: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Return (B, P) logits and (B, P, 4) sides, grid by grid and row by row."""
        logits, sides = [], []
        for level, (x, stride) in enumerate(zip(maps, STRIDES, strict=True)):
            logits.append(self.rtm_cls[level](self.cls_convs[level](x)).flatten(1))
            of_box = self.rtm_reg[level](self.reg_convs[level](x))
            sides.append(torch.exp(of_box).flatten(2).transpose(1, 2) * stride)
        return torch.cat(logits, dim=1), torch.cat(sides, dim=1)


class RTMDet(nn.Module):  # type: ignore[misc]
    """The person detector: one class."""

    def __init__(self, size: RTMSize = MEDIUM) -> None:
        super().__init__()
        self.backbone = CSPNeXt(size)
        self.neck = PathAggregation(size)
        self.bbox_head = DetectionHead(size.widths[-3])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return (B, P) logits and (B, P, 4) distances to the left, upper, right and lower side, in pixels.

        Args:
            x: (B, 3, 640, 640) float32, BGR, normalised.
        """
        answer: tuple[Tensor, Tensor] = self.bbox_head(self.neck(*self.backbone(x)[1:]))
        return answer


class ScaleNorm(nn.Module):  # type: ignore[misc]
    """Tokens brought to one length."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.g = nn.Parameter(torch.ones(1))
        self.scale = width**-0.5

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) to the same."""
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True) * self.scale
        return x / length.clamp(min=SCALE_NORM_EPSILON) * self.g


class Scale(nn.Module):  # type: ignore[misc]
    """A learned factor per channel."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) to the same."""
        return x * self.scale


class GatedAttention(nn.Module):  # type: ignore[misc]
    """One gated attention unit: keypoints look at each other."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = 2 * GAU_WIDTH
        self.ln = ScaleNorm(GAU_WIDTH)
        self.uv = nn.Linear(GAU_WIDTH, 2 * self.hidden + GAU_KEYS, bias=False)
        self.gamma = nn.Parameter(torch.ones(2, GAU_KEYS))
        self.beta = nn.Parameter(torch.zeros(2, GAU_KEYS))
        self.o = nn.Linear(self.hidden, GAU_WIDTH, bias=False)
        self.res_scale = Scale(GAU_WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """(B, keypoints, width) to the same."""
        gate, value, base = F.silu(self.uv(self.ln(x))).split([self.hidden, self.hidden, GAU_KEYS], dim=-1)
        query, key = (base[:, :, None] * self.gamma + self.beta).unbind(dim=2)
        weights = F.relu(query @ key.transpose(1, 2) / GAU_KEYS**0.5).square()
        return self.res_scale(x) + self.o(gate * (weights @ value))


class PoseHead(nn.Module):  # type: ignore[misc]
    """From the last map to a score for each half pixel along x and along y, per keypoint."""

    def __init__(self, width: int) -> None:
        super().__init__()
        columns, rows = POSE_INPUT
        positions = (columns // 32) * (rows // 32)
        self.final_layer = nn.Conv2d(width, KEYPOINTS, 7, padding=3)
        self.mlp = nn.Sequential(ScaleNorm(positions), nn.Linear(positions, GAU_WIDTH, bias=False))
        self.gau = GatedAttention()
        self.cls_x = nn.Linear(GAU_WIDTH, columns * BINS_PER_PIXEL, bias=False)
        self.cls_y = nn.Linear(GAU_WIDTH, rows * BINS_PER_PIXEL, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(B, width, 8, 6) to (B, 17, 384) and (B, 17, 512)."""
        tokens = self.gau(self.mlp(self.final_layer(x).flatten(2)))
        return self.cls_x(tokens), self.cls_y(tokens)


class RTMPose(nn.Module):  # type: ignore[misc]
    """The keypoints of one person in a picture."""

    def __init__(self, size: RTMSize = MEDIUM) -> None:
        super().__init__()
        self.backbone = CSPNeXt(size)
        self.head = PoseHead(size.widths[-1])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return SimCC scores of 17 keypoints from an image: (B, 17, 384) along x and (B, 17, 512) along y.

        Args:
            x: (B, 3, 256, 192) float32, RGB, normalised.
        """
        answer: tuple[Tensor, Tensor] = self.head(self.backbone(x)[-1])
        return answer


def load_rtm(path: Path, network: Net) -> Net:
    """Fill a network from a checkpoint of the model zoo, strictly; float32, evaluation mode.

    Raises:
        SetupError: The file is missing, damaged, misses weights, has others or has them in other shapes.
    """
    name = RTMDET_NAME if isinstance(network, RTMDet) else RTMPOSE_NAME
    weights = read_weights(path, "state_dict", name)
    mend = f"; it is no checkpoint of {type(network).__name__}; fetch it with: vmmetrics weights fetch {name}"
    check_fit(path, network.state_dict(), weights, mend)
    network.load_state_dict(weights)
    network.float().eval().requires_grad_(False)
    return network
