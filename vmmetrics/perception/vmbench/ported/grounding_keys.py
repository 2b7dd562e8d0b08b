"""Names of Grounding DINO's weights: from the publisher's file to the layout of the hub, which transformers loads.

Going through the hub's layout leaves the renaming inside transformers, which differs between its versions, to itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from vmmetrics.errors import SetupError

TRAINING_ONLY = re.compile(r"label_enc\.weight|bert\.embeddings\.position_ids")
"""In the publisher's files, yet in no network since: labels for training, and a counter."""
UNASKED = re.compile(r"bert\.pooler\..*")
"""In the publisher's network, yet it has no part in detecting; transformers leaves it out."""

_ATTENTION = {"in_proj_": "", "out_proj.": "out_proj."}
_SWIN = r"backbone\.0\."
_SWIN_HUB = "model.backbone.conv_encoder.model."

RULES: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    (r"transformer\.level_embed", "model.level_embed", {"": ""}),
    (r"transformer\.tgt_embed\.", "model.query_position_embeddings.", {"": ""}),
    (r"transformer\.enc_output\.", "model.enc_output.", {"": ""}),
    (r"transformer\.enc_output_norm\.", "model.enc_output_norm.", {"": ""}),
    (r"transformer\.enc_out_bbox_embed\.", "model.encoder_output_bbox_embed.", {"": ""}),
    (r"bbox_embed\.(\d+)\.", r"bbox_embed.\1.", {"": ""}),
    (r"transformer\.decoder\.bbox_embed\.(\d+)\.", r"model.decoder.bbox_embed.\1.", {"": ""}),
    (r"transformer\.decoder\.ref_point_head\.", "model.decoder.reference_points_head.", {"": ""}),
    (r"transformer\.decoder\.norm\.", "model.decoder.layer_norm.", {"": ""}),
    (
        r"transformer\.decoder\.layers\.(\d+)\.",
        r"model.decoder.layers.\1.",
        {f"self_attn.{old}": f"self_attn.{new}" for old, new in _ATTENTION.items()}
        | {f"ca_text.{old}": f"encoder_attn_text.{new}" for old, new in _ATTENTION.items()}
        | {
            "cross_attn.": "encoder_attn.",
            "norm1.": "encoder_attn_layer_norm.",
            "norm2.": "self_attn_layer_norm.",
            "norm3.": "final_layer_norm.",
            "catext_norm.": "encoder_attn_text_layer_norm.",
            "linear1.": "fc1.",
            "linear2.": "fc2.",
        },
    ),
    (
        r"transformer\.encoder\.layers\.(\d+)\.",
        r"model.encoder.layers.\1.deformable_layer.",
        {
            "self_attn.": "self_attn.",
            "norm1.": "self_attn_layer_norm.",
            "norm2.": "final_layer_norm.",
            "linear1.": "fc1.",
            "linear2.": "fc2.",
        },
    ),
    (
        r"transformer\.encoder\.text_layers\.(\d+)\.",
        r"model.encoder.layers.\1.text_enhancer_layer.",
        {f"self_attn.{old}": f"self_attn.{new}" for old, new in _ATTENTION.items()}
        | {"norm1.": "layer_norm_before.", "norm2.": "layer_norm_after.", "linear1.": "fc1.", "linear2.": "fc2."},
    ),
    (
        r"transformer\.encoder\.fusion_layers\.(\d+)\.",
        r"model.encoder.layers.\1.fusion_layer.",
        {
            "gamma_v": "vision_param",
            "gamma_l": "text_param",
            "layer_norm_v.": "layer_norm_vision.",
            "layer_norm_l.": "layer_norm_text.",
            "attn.v_proj.": "attn.vision_proj.",
            "attn.l_proj.": "attn.text_proj.",
            "attn.values_v_proj.": "attn.values_vision_proj.",
            "attn.values_l_proj.": "attn.values_text_proj.",
            "attn.out_v_proj.": "attn.out_vision_proj.",
            "attn.out_l_proj.": "attn.out_text_proj.",
        },
    ),
    (r"bert\.", "model.text_backbone.", {"embeddings.": "embeddings.", "encoder.": "encoder."}),
    (r"feat_map\.", "model.text_projection.", {"": ""}),
    (r"input_proj\.(\d+)\.", r"model.input_proj_vision.\1.", {"": ""}),
    (
        _SWIN + r"patch_embed\.",
        _SWIN_HUB + "embeddings.",
        {"proj.": "patch_embeddings.projection.", "norm.": "norm."},
    ),
    (
        _SWIN + r"layers\.(\d+)\.blocks\.(\d+)\.",
        _SWIN_HUB + r"encoder.layers.\1.blocks.\2.",
        {
            "norm1.": "layernorm_before.",
            "norm2.": "layernorm_after.",
            "attn.relative_position_": "attention.self.relative_position_",
            "attn.qkv.": "attention.self.",
            "attn.proj.": "attention.output.dense.",
            "mlp.fc1.": "intermediate.dense.",
            "mlp.fc2.": "output.dense.",
        },
    ),
    (_SWIN + r"layers\.(\d+)\.downsample\.", _SWIN_HUB + r"encoder.layers.\1.downsample.", {"": ""}),
)
"""Start of a name, what takes its place, and how what follows begins before and after."""

FUSED = ("in_proj_", "attn.qkv.")
"""Names with query, key and value in one tensor, stacked in that order."""


def hub_weights(published: Mapping[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Rename the publisher's weights, and take query, key and value apart.

    Args:
        published: The file's entry ``model``, or the file itself where there is none.
        path: The file, for messages.

    Raises:
        SetupError: A weight is not one of Grounding DINO's; the text names it.
    """
    weights: dict[str, Tensor] = {}
    strange = []
    for key, value in published.items():
        name = key.removeprefix("module.")
        if TRAINING_ONLY.fullmatch(name) or UNASKED.fullmatch(name):
            continue
        renamed = _renamed(name)
        if renamed is None:
            strange.append(name)
        elif any(fused in name for fused in FUSED):
            start, kind = renamed.rsplit(".", 1)
            for part, piece in zip(("query", "key", "value"), value.chunk(3), strict=True):
                weights[f"{start}.{part}.{kind}"] = piece.clone()
        else:
            weights[renamed] = value
    if strange:
        shown = ", ".join(strange[:6]) + (f" and {len(strange) - 6} more" if len(strange) > 6 else "")
        raise SetupError(f"{path}: expected the weights of Grounding DINO but found {shown}")
    return weights


def _renamed(name: str) -> str | None:
    """One name in the hub's layout; None where there is no such weight."""
    norm = re.fullmatch(_SWIN + r"norm(\d)\.(weight|bias)", name)
    if norm:  # of the maps handed on, counted from 0 there and from the patches' own on here
        return f"{_SWIN_HUB}hidden_states_norms.stage{int(norm[1]) + 1}.{norm[2]}"
    for start, new_start, follows in RULES:
        match = re.match(start, name)
        if match is None:
            continue
        rest = name[match.end() :]
        for old, new in follows.items():
            if rest.startswith(old):
                return match.expand(new_start) + new + rest[len(old) :]
    return None
