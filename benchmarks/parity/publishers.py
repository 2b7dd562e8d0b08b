"""The publishers' own files of Grounding DINO, SAM and SAM 2.1, as the networks of transformers that the preset loads.

The preset reads the hub's layout alone; this is how tests and parity programs bring upstream's names into it. Files,
and the first digits of their SHA-256:

- https://github.com/IDEA-Research/GroundingDINO/releases/download/v0.1.0-alpha2/groundingdino_swinb_cogcoor.pth
  (46270f7a822e6906), with google-bert/bert-base-uncased at revision 86b5e0934494 beside it;
- https://dl.fbaipublicfiles.com/segment_anything/sam_vit_h_4b8939.pth (a7bf3b02f3ebf126);
- https://dl.fbaipublicfiles.com/segment_anything_2/092824/sam2.1_hiera_large.pt (2647878d5dfa5098).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vmmetrics.errors import SetupError
from vmmetrics.perception.vmbench.checkpoints import listed, misfit, read_checkpoint, read_weights

# SAM and SAM 2.1: rules say what the publisher calls each weight of transformers' networks.

Rules = Sequence[tuple[str, str]]
"""Patterns and replacements, applied in order, from transformers' names to the publisher's; a ``*`` in the outcome
stands for the rows of the weight, which the publisher keeps one by one."""

_HEADS = r"(iou_prediction_head|pred_obj_score_head|output_hypernetworks_mlps\.\d+|object_pointer_proj)"
SHARED_RULES: Rules = (
    (r"^(shared_image_embedding|prompt_encoder\.shared_embedding)\.positional_embedding$", "prompt_encoder.pe_layer."
     "positional_encoding_gaussian_matrix"),
    (r"^prompt_encoder\.mask_embed\.conv1", "prompt_encoder.mask_downscaling.0"),
    (r"^prompt_encoder\.mask_embed\.layer_norm1", "prompt_encoder.mask_downscaling.1"),
    (r"^prompt_encoder\.mask_embed\.conv2", "prompt_encoder.mask_downscaling.3"),
    (r"^prompt_encoder\.mask_embed\.layer_norm2", "prompt_encoder.mask_downscaling.4"),
    (r"^prompt_encoder\.mask_embed\.conv3", "prompt_encoder.mask_downscaling.6"),
    (r"^mask_decoder\.upscale_conv1", "mask_decoder.output_upscaling.0"),
    (r"^mask_decoder\.upscale_layer_norm", "mask_decoder.output_upscaling.1"),
    (r"^mask_decoder\.upscale_conv2", "mask_decoder.output_upscaling.3"),
    (_HEADS + r"\.layers\.0\.", r"\1.layers.1."),
    (_HEADS + r"\.proj_in\.", r"\1.layers.0."),
    (_HEADS + r"\.proj_out\.", r"\1.layers.2."),
    (r"\.layer_norm_final_attn\.", ".norm_final_attn."),
    (r"\.patch_embed\.projection\.", ".patch_embed.proj."),
)  # fmt: skip
"""What SAM and SAM 2 have in common."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one kind of network is built.

    Attributes:
        kind: Its class in transformers.
        options: Of its configuration at the published size.
        rules: From its names to those of the publisher's file.
    """

    kind: str
    options: Mapping[str, Any]
    rules: Rules


def publisher_names(name: str, rules: Rules, rows: int = 1) -> list[str]:
    """Return what the publisher calls a weight, or its rows where it keeps them one by one.

    >>> publisher_names("prompt_encoder.mask_embed.conv2.bias", SHARED_RULES)
    ['prompt_encoder.mask_downscaling.3.bias']
    """
    for pattern, replacement in rules:
        name = re.sub(pattern, replacement, name)
    return [name.replace("*", str(row)) for row in range(rows)] if "*" in name else [name]


def load(recipe: Recipe, path: Path) -> Any:
    """Build the network of a publisher's file, in float32 and evaluation mode.

    Raises:
        SetupError: The file cannot be read, misses weights, has others, or has them in other shapes.
    """
    import transformers

    kind = getattr(transformers, recipe.kind)
    config = kind.config_class(**recipe.options)
    return kind.from_pretrained(
        None, config=config, state_dict=_from_publisher(path, kind, config, recipe.rules)
    ).eval()


def _from_publisher(path: Path, kind: Any, config: Any, rules: Rules) -> dict[str, Tensor]:
    """Read the publisher's file and give its weights transformers' names."""
    with torch.device("meta"):
        expected = kind(config).state_dict()
    found = read_checkpoint(path).weights
    names = {name: publisher_names(name, rules, len(weight)) for name, weight in expected.items()}
    known = {theirs for group in names.values() for theirs in group}
    weights: dict[str, Tensor] = {}
    taken: set[str] = set()
    for name, group in names.items():
        if all(theirs in found for theirs in group):
            once = len(group) == 1 and group[0] not in taken  # what has two places must not share its memory
            weights[name] = found[group[0]] if once else torch.cat([found[theirs] for theirs in group])
            taken.update(group)
    shapes = [
        f"{names[name][0]} as {tuple(weight.shape)} where {tuple(expected[name].shape)} is expected"
        for name, weight in weights.items()
        if weight.shape != expected[name].shape
    ]
    told = misfit(known - found.keys(), found.keys() - known, shapes)
    if told:
        raise SetupError(f"{path}: the weights do not fit: {told}")
    return weights


SAM_RULES = (
    (r"^vision_encoder\.neck\.conv1", "image_encoder.neck.0"),
    (r"^vision_encoder\.neck\.layer_norm1", "image_encoder.neck.1"),
    (r"^vision_encoder\.neck\.conv2", "image_encoder.neck.2"),
    (r"^vision_encoder\.neck\.layer_norm2", "image_encoder.neck.3"),
    (r"^vision_encoder\.layers\.", "image_encoder.blocks."),
    (r"^vision_encoder\.", "image_encoder."),
    *SHARED_RULES,
    (r"^prompt_encoder\.point_embed\.", "prompt_encoder.point_embeddings."),
    (r"\.layer_norm(\d)\.", r".norm\1."),
)


VIT_HUGE = {
    "vision_config": {
        "hidden_size": 1280,
        "num_hidden_layers": 32,
        "num_attention_heads": 16,
        "global_attn_indexes": [7, 15, 23, 31],
    }
}
"""The size of ``sam_vit_h_4b8939.pth``, as far as transformers' default is another."""

SAM = Recipe("SamModel", VIT_HUGE, SAM_RULES)

SAM2_RULES = (
    *SHARED_RULES,
    (r"^prompt_encoder\.point_embed\.", "prompt_encoder.point_embeddings.*."),
    (r"^vision_encoder\.backbone\.", "image_encoder.trunk."),
    (r"^vision_encoder\.neck\.convs\.(\d+)\.", r"image_encoder.neck.convs.\1.conv."),
    (r"\.mlp\.proj_in\.", ".mlp.layers.0."),
    (r"\.mlp\.proj_out\.", ".mlp.layers.1."),
    (r"\.o_proj\.", ".out_proj."),
    *(
        (rf"\.mask_downsampler\.layers\.{layer}\.{part}\.", f".mask_downsampler.encoder.{3 * layer + offset}.")
        for layer in range(4)
        for offset, part in enumerate(("conv", "layer_norm"))
    ),
    (r"\.mask_downsampler\.final_conv\.", ".mask_downsampler.encoder.12."),
    (r"^memory_encoder\.feature_projection\.", "memory_encoder.pix_feat_proj."),
    (r"^memory_encoder\.projection\.", "memory_encoder.out_proj."),
    (r"^memory_encoder\.memory_fuser\.", "memory_encoder.fuser."),
    (r"\.depthwise_conv\.", ".dwconv."),
    (r"\.pointwise_conv(\d)\.", r".pwconv\1."),
    (r"^(memory_encoder\.fuser\.layers\.\d+)\.scale$", r"\1.gamma"),
    (r"\.layer_norm(\d?)\.", r".norm\1."),
    (r"^(prompt_encoder|mask_decoder)\.", r"sam_\1."),
    (r"^object_pointer_proj\.", "obj_ptr_proj."),
    (r"^temporal_positional_encoding_projection_layer\.", "obj_ptr_tpos_proj."),
    (r"^memory_temporal_positional_encoding$", "maskmem_tpos_enc"),
    (r"^no_memory_embedding$", "no_mem_embed"),
    (r"^no_memory_positional_encoding$", "no_mem_pos_enc"),
    (r"^no_object_pointer$", "no_obj_ptr"),
    (r"^occlusion_spatial_embedding_parameter$", "no_obj_embed_spatial"),
)  # fmt: skip


HIERA_LARGE = {
    "vision_config": {
        "model_type": "sam2_vision_model",
        "backbone_channel_list": [1152, 576, 288, 144],
        "backbone_config": {
            "model_type": "sam2_hiera_det_model",
            "hidden_size": 144,
            "num_attention_heads": 2,
            "blocks_per_stage": [2, 6, 36, 4],
            "embed_dim_per_stage": [144, 288, 576, 1152],
            "num_attention_heads_per_stage": [2, 4, 8, 16],
            "window_size_per_stage": [8, 4, 16, 8],
            "global_attention_blocks": [23, 33, 43],
        },
    }
}
"""The size of ``sam2.1_hiera_large.pt``, as far as transformers' default is another."""

SAM2 = Recipe("Sam2VideoModel", HIERA_LARGE, SAM2_RULES)


# Grounding DINO: from the publisher's names to the layout of the hub, which transformers loads. That leaves the
# renaming inside transformers, which differs between its versions, to itself.

FILE_NAME, TOKENIZER_NAME = "groundingdino_swinb_cogcoor.pth", "bert-base-uncased"
"""The publisher's checkpoint, and the tokenizer that goes with it."""

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
        raise SetupError(f"{path}: expected the weights of Grounding DINO but found {listed(strange)}")
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


def grounding_dino(path: Path, config: Any = None) -> Any:
    """Build the network of the publisher's file; ``config`` is a ``GroundingDinoConfig`` of another size than Swin-B.

    Raises:
        SetupError: The file cannot be read, or a weight is not one of Grounding DINO's.
    """
    from transformers import GroundingDinoForObjectDetection as kind  # noqa: N813

    weights = hub_weights(grounding_weights(path), path)
    net = kind.from_pretrained(None, config=config or swin_b_config(), state_dict=weights, dtype=torch.float32)
    net.model.text_backbone.set_attn_implementation("sdpa")
    return net.eval().requires_grad_(False)


def grounding_weights(path: Path) -> dict[str, Tensor]:
    """Read the publisher's file.

    Raises:
        SetupError: It is not there, or cannot be read.
    """
    if not path.is_file():
        raise SetupError(f"{path}: no such checkpoint; the text of {__name__} says where {FILE_NAME} is")
    return read_weights(path, "model", "grounding-dino-base")


def bert_beside(file: Path) -> Path:
    """Return where bert-base-uncased is, or belongs, that a file of the publisher's goes with."""
    near, far = file.parent / TOKENIZER_NAME, file.parent.parent / TOKENIZER_NAME
    return far if far.is_dir() and not near.is_dir() else near


def swin_b_config() -> Any:
    """Architecture of the publisher's Swin-B file."""
    import transformers

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
