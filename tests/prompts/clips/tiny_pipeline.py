"""A text-to-video pipeline of random weights, made from settings alone: Wan's, shrunk. ``tiny_pipeline.py FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

WORDS = ("a", "the", "horse", "runs", "water", "flows", "over", "rocks", "in", "yard", "train", ".")


def build(folder: Path) -> Path:
    """Write the pipeline to ``folder``; five frames of 32 × 32 take it a fraction of a second."""
    import torch
    from diffusers import AutoencoderKLWan, FlowMatchEulerDiscreteScheduler, WanPipeline, WanTransformer3DModel
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, UMT5Config, UMT5EncoderModel

    torch.manual_seed(0)
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    vocabulary = {word: number for number, word in enumerate((*special.values(), *WORDS))}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token=special["unk_token"]))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    pipeline = WanPipeline(
        tokenizer=PreTrainedTokenizerFast(tokenizer_object=words, **special),
        text_encoder=UMT5EncoderModel(
            UMT5Config(vocab_size=len(vocabulary), d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
        ),
        vae=AutoencoderKLWan(
            base_dim=3, z_dim=16, dim_mult=[1, 1, 1, 1], num_res_blocks=1, temperal_downsample=[False, True, True]
        ),
        transformer=WanTransformer3DModel(
            patch_size=(1, 2, 2), num_attention_heads=2, attention_head_dim=12, in_channels=16, out_channels=16,
            text_dim=16, freq_dim=32, ffn_dim=16, num_layers=1, cross_attn_norm=True, rope_max_seq_len=32,
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(shift=7.0),
    )  # fmt: skip
    pipeline.save_pretrained(folder, safe_serialization=True)
    return folder


if __name__ == "__main__":
    build(Path(sys.argv[1]))
