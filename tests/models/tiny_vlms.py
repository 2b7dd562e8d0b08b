"""Folders with video language models of a few ten thousand random weights: Qwen2.5-VL, Qwen3-VL and InternVL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}IMAGE{% elif c['type'] == 'video' %}VIDEO"
    "{% else %}{{ c['text'] }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
    "<|video_pad|>", "<img>", "</img>", "<IMG_CONTEXT>", "<video>",
)  # fmt: skip
LETTERS = [chr(code) for code in range(32, 127)]
WORDS = {word: number for number, word in enumerate([*LETTERS, "\n", "<unk>", *SPECIAL])}
QWEN = {
    "image_token_id": WORDS["<|image_pad|>"], "video_token_id": WORDS["<|video_pad|>"],
    "vision_start_token_id": WORDS["<|vision_start|>"], "vision_end_token_id": WORDS["<|vision_end|>"],
}  # fmt: skip
TEXT: dict[str, Any] = {
    "vocab_size": len(WORDS), "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 3,
    "num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 4096,
    "eos_token_id": WORDS["<|im_end|>"], "pad_token_id": WORDS["<|endoftext|>"], "bos_token_id": None,
}  # fmt: skip
ROPE = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}
VISION = {
    "depth": 2, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "out_hidden_size": 32,
    "spatial_merge_size": 2, "temporal_patch_size": 2,
}  # fmt: skip


def _tokenizer() -> Any:
    import transformers as t
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    by_letter = Tokenizer(models.WordLevel(WORDS, unk_token="<unk>"))  # noqa: S106
    by_letter.pre_tokenizer = pre_tokenizers.Split(Regex("[\\s\\S]"), "isolated")
    by_letter.decoder = decoders.Fuse()
    special = {"unk_token": "<unk>", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    more = [word for word in SPECIAL if word not in special.values()]
    return t.PreTrainedTokenizerFast(tokenizer_object=by_letter, additional_special_tokens=more, **special)


def _template(image: str, video: str) -> str:
    return TEMPLATE.replace("IMAGE", image).replace("VIDEO", video)


def _qwen_template() -> str:
    return _template(*(f"<|vision_start|><|{kind}_pad|><|vision_end|>" for kind in ("image", "video")))


def _save(folder: Path, processor: Any, kind: Any, config: Any) -> Path:
    import torch

    processor.save_pretrained(folder)
    torch.manual_seed(0)
    kind(config).save_pretrained(folder)
    return folder


def qwen25(folder: Path) -> Path:
    import transformers as t

    size = {"shortest_edge": 28 * 28, "longest_edge": 28 * 28 * 4}
    processor = t.Qwen2_5_VLProcessor(
        image_processor=t.Qwen2VLImageProcessor(size=size),
        video_processor=t.Qwen2VLVideoProcessor(size=size),
        tokenizer=_tokenizer(),
        chat_template=_qwen_template(),
    )
    vision = {**VISION, "patch_size": 14, "window_size": 56, "fullatt_block_indexes": [1]}
    config = t.Qwen2_5_VLConfig(text_config={**TEXT, "rope_parameters": ROPE}, vision_config=vision, **QWEN)
    return _save(folder, processor, t.Qwen2_5_VLForConditionalGeneration, config)


def qwen3(folder: Path) -> Path:
    import transformers as t

    processor = t.Qwen3VLProcessor(
        image_processor=t.Qwen2VLImageProcessor(
            size={"shortest_edge": 32**2, "longest_edge": 4 * 32**2}, patch_size=16
        ),
        video_processor=t.Qwen3VLVideoProcessor(size={"shortest_edge": 2 * 32**2, "longest_edge": 64 * 32**2}),
        tokenizer=_tokenizer(),
        chat_template=_qwen_template(),
    )
    text = {**TEXT, "head_dim": 16, "rope_parameters": {**ROPE, "mrope_interleaved": True}}
    vision = {**VISION, "patch_size": 16, "deepstack_visual_indexes": [0, 1], "num_position_embeddings": 64}
    config = t.Qwen3VLConfig(text_config=text, vision_config=vision, **QWEN)
    return _save(folder, processor, t.Qwen3VLForConditionalGeneration, config)


def internvl(folder: Path) -> Path:
    import transformers as t

    tokenizer, size = _tokenizer(), {"height": 56, "width": 56}
    names = {"start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>"}
    for name, word in {**names, "video_token": "<video>"}.items():
        setattr(tokenizer, name, word)
        setattr(tokenizer, f"{name}_id", WORDS[word])
        tokenizer.init_kwargs[name] = word
    processor = t.InternVLProcessor(
        image_processor=t.GotOcr2ImageProcessor(size=size, crop_to_patches=False),
        video_processor=t.InternVLVideoProcessor(size=size),
        tokenizer=tokenizer,
        image_seq_length=4,
        chat_template=_template("<IMG_CONTEXT>\n", "<video>\n"),
    )
    vision = {
        "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "image_size": [56, 56], "patch_size": [14, 14],
    }  # fmt: skip
    config = t.InternVLConfig(
        vision_config=vision,
        text_config={**TEXT, "model_type": "qwen2"},
        image_token_id=WORDS["<IMG_CONTEXT>"],
        image_seq_length=4,
    )
    return _save(folder, processor, t.InternVLForConditionalGeneration, config)
