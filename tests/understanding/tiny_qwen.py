"""A folder with a Qwen2.5-VL of a few ten thousand random weights, a tokenizer of letters and its processor."""

from __future__ import annotations

from pathlib import Path

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif c['type'] == 'video' %}<|vision_start|><|video_pad|><|vision_end|>"
    "{% else %}{{ c['text'] }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
    "<|video_pad|>",
]  # fmt: skip


def write(folder: Path) -> None:
    import torch
    import transformers as t
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    letters = [chr(code) for code in range(32, 127)]
    words = {word: number for number, word in enumerate([*letters, "\n", "<unk>", *SPECIAL])}
    by_letter = Tokenizer(models.WordLevel(words, unk_token="<unk>"))  # noqa: S106
    by_letter.pre_tokenizer = pre_tokenizers.Split(Regex("[\\s\\S]"), "isolated")
    by_letter.decoder = decoders.Fuse()
    tokenizer = t.PreTrainedTokenizerFast(
        tokenizer_object=by_letter,
        unk_token="<unk>",  # noqa: S106
        eos_token="<|im_end|>",  # noqa: S106
        pad_token="<|endoftext|>",  # noqa: S106
        additional_special_tokens=[*SPECIAL[3:], "<|im_start|>"],
    )
    pixels = {"shortest_edge": 28 * 28, "longest_edge": 28 * 28 * 4}
    t.Qwen2_5_VLProcessor(
        image_processor=t.Qwen2VLImageProcessor(size=pixels),
        video_processor=t.Qwen2VLVideoProcessor(size=pixels),
        tokenizer=tokenizer,
        chat_template=TEMPLATE,
    ).save_pretrained(folder)
    ids = {
        f"{name}_token_id": words[word]
        for name, word in (
            ("image", "<|image_pad|>"), ("video", "<|video_pad|>"),
            ("vision_start", "<|vision_start|>"), ("vision_end", "<|vision_end|>"),
        )
    }  # fmt: skip
    config = t.Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(words), "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2,
            "num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 4096,
            "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0},
            "eos_token_id": words["<|im_end|>"], "pad_token_id": words["<|endoftext|>"], "bos_token_id": None,
        },
        vision_config={
            "depth": 2, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "out_hidden_size": 32,
            "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2, "window_size": 56,
            "fullatt_block_indexes": [1],
        },
        **ids,
    )  # fmt: skip
    torch.manual_seed(0)
    t.Qwen2_5_VLForConditionalGeneration(config).save_pretrained(folder)
