"""A folder with a LLaVA of a few thousand random weights, a tokenizer of letters and a processor."""

from __future__ import annotations

from pathlib import Path

TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {% for c in m['content'] %}{% if c['type'] == 'image' %}<image>"
    "{% else %}{{ c['text'] }}{% endif %}{% endfor %}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)


def write(folder: Path) -> None:
    import torch
    import transformers as t
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    letters = [chr(code) for code in range(32, 127)]
    words = {word: number for number, word in enumerate([*letters, "\n", "<unk>", "<s>", "</s>", "<pad>", "<image>"])}
    by_letter = Tokenizer(models.WordLevel(words, unk_token="<unk>"))  # noqa: S106
    by_letter.pre_tokenizer = pre_tokenizers.Split(Regex("[\\s\\S]"), "isolated")
    by_letter.decoder = decoders.Fuse()
    special = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    tokenizer = t.PreTrainedTokenizerFast(tokenizer_object=by_letter, additional_special_tokens=["<image>"], **special)
    images = t.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    t.LlavaProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        patch_size=16,
        vision_feature_select_strategy="default",
        chat_template=TEMPLATE,
        num_additional_image_tokens=1,
    ).save_pretrained(folder)
    small = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2}
    vision = t.CLIPVisionConfig(num_hidden_layers=2, image_size=32, patch_size=16, projection_dim=16, **small)
    ids = {f"{name}_token_id": words[special[f"{name}_token"]] for name in ("bos", "eos", "pad")}
    text = t.LlamaConfig(
        vocab_size=len(words), num_hidden_layers=1, num_key_value_heads=2, max_position_embeddings=8192, **small, **ids
    )
    torch.manual_seed(0)
    config = t.LlavaConfig(vision_config=vision, text_config=text, image_token_index=words["<image>"])
    t.LlavaForConditionalGeneration(config).save_pretrained(folder)
