"""Prompts in the names that generation scripts give their clips, and where each script is."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import NamedTuple


class NamedPrompt(NamedTuple):
    """A prompt in a file name.

    Attributes:
        text: The prompt, with its blanks restored.
        pattern: Key of the pattern (``"wan"``).
        cut: True if the script keeps no more characters than there are, so that the prompt may have been longer.
    """

    text: str
    pattern: str
    cut: bool = False

    @property
    def source(self) -> str:
        """``"name:wan"``, or ``"name:wan (cut)"``."""
        return f"name:{self.pattern}" + (" (cut)" if self.cut else "")


class NamePattern(NamedTuple):
    """Pattern by which one script names its clips.

    Attributes:
        key: Name of the pattern in ``prompt_source``.
        stem: Regular expression of the whole name without suffix, with a group ``prompt``.
        most: Characters of the prompt that the script keeps; None for all.
        blanks: Characters that the script writes for a blank.
        words: Least number of words; names with fewer are no prompts.
    """

    key: str
    stem: str
    most: int | None = None
    blanks: str = ""
    words: int = 1


_WAN_1 = r"(?:t2v-14B|t2v-1\.3B|i2v-14B|flf2v-14B|vace-14B|vace-1\.3B)_\d+[*x]\d+_\d+"
_WAN_2 = r"(?:t2v-A14B|i2v-A14B|ti2v-5B|s2v-14B|animate-14B)_\d+[*x]\d+"
_LTX_WORDS = r"[^\W\d_]+(?:-[^\W\d_]+)*"  # letters and blanks in lower case, whole words only

PATTERNS = (
    # Wan-Video/Wan2.1 and Wan2.2, generate.py
    NamePattern("wan", rf"(?:{_WAN_1}|{_WAN_2})_\d+_(?P<prompt>.+)_\d{{8}}_\d{{6}}", 50, "_"),
    # Tencent/HunyuanVideo sample_video.py
    NamePattern("hunyuan", r"\d{4}-\d\d-\d\d-\d\d[-:h]\d\d[-:m]\d\ds?_seed\d+_(?P<prompt>.+)", 100),
    # Lightricks/LTX-Video inference.py
    NamePattern("ltx", rf"video_output_\d+_(?P<prompt>{_LTX_WORDS})_\d+_\d+x\d+x\d+_\d+(?:_condition)?", 30, "-"),
    # a-r-r-o-w/finetrainers, validation
    NamePattern("finetrainers", r"(?:validation|final)-\d+-\d+-\d+-(?P<prompt>.+)-\d{10,13}", 25, "-", 3),
    # THUDM/CogVideo finetune/trainer.py, validation
    NamePattern("cogvideox", r"validation-\d+-\d+-(?P<prompt>.+?)(?:-(?=[a-f]*\d)[0-9a-f]{5})?", 25, "-", 3),
    # huggingface/diffusers examples/cogvideo, validation; people say test_video, too
    NamePattern("diffusers", r"(?:validation|test(?=_video_\d+_.{25}$))_video_\d+_(?P<prompt>.+)", 25, "_", 3),
    # Vchitect/VBench, <prompt>-<sample>; Open-Sora writes the same with prompt_as_path; "a dog runs-3"
    NamePattern("vbench", r"(?P<prompt>.*\S)-(?:0|[1-9]\d?)", words=2),
)
"""Every form of name that holds a prompt, the narrowest first."""

_SAT_FOLDER = re.compile(r"\d+_(?P<prompt>.+)")
_SAT_CUT = 120

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_IDEOGRAPHS = re.compile(r"[぀-ヿ㐀-鿿가-힯]")
_LEAST_IDEOGRAPHS = 4  # a sentence without blanks between its words
_STAMPS = re.compile(r"(?<!\d)\d{4}[-._]\d\d(?!\d)|(?<!\d)\d\d[.:_-]\d\d(?!\d)|\d{5,}|\bv\d+\b", re.IGNORECASE)
_SHORT = 4  # words: longer names that begin with one of these are sentences
_DEFAULTS = re.compile(
    r"(?:bildschirm\w*|screen(?:cast|shot| ?capture| ?recording)|whatsapp|signal|telegram|facetime|zoom|teams|"
    r"recording|new|my|untitled|final|test|copy|kopie|copie|output|sample|result|generated|demo|draft|clip|video|movie|"
    r"sequence|timeline|comp|render|project|part|episode|season|chapter|lesson|lecture|camera \d|gopro|dji|img|vid|mov|"
    r"dsc\w*|pxl|mvi|gh\d+|gx\d+|trim|edit|export)\b.*",
    re.IGNORECASE,
)
"""What devices, editors and people call a clip where no prompt is meant."""

_LABELS = re.compile(
    r"baseline\b.*|(?:\w+ )?model(?: \w)?|.*\b\d+(?:\.\d+)?b\b.*|"
    r"(?:wan|hunyuan|ltxv?|cogvideox?|mochi|open-?sora|sora|kling|veo|svd)(?: (?:video|[tiv]+2v|v?\d[\w.]*))+",
    re.IGNORECASE,
)
"""What people call a model or a run of it."""
_SETTINGS = re.compile(r"\b(?:seed|cfg|steps?|epochs?|guidance|scale|shift|iter\w*|ckpt|checkpoint) \d", re.IGNORECASE)


def prompt_in_name(path: PurePath, *, folder: bool = False) -> NamedPrompt | None:
    """Read the prompt in a clip's name, or in that of its folder.

    Args:
        path: The clip's path.
        folder: True if it is a folder of frames, which has no suffix to take off.

    Returns:
        The prompt; None where the name has none of the forms in :data:`PATTERNS`.
    """
    stem = path.name if folder else path.stem
    for pattern in PATTERNS:
        match = re.fullmatch(pattern.stem, stem)
        if match and (prompt := _prompt(pattern, match["prompt"])):
            return prompt
    return _in_folder(path)


def is_prompt_folder(parts: tuple[str, ...]) -> bool:
    """Return True if a clip's first folder is named by its prompt, not by its model: ``3_A_dog_runs/0/000000.mp4``."""
    return len(parts) == 3 and _in_folder(PurePath(*parts)) is not None


def _in_folder(path: PurePath) -> NamedPrompt | None:
    """Read the prompt from CogVideo's ``sat/sample_video.py``: a folder per prompt, in it one per sample."""
    sample = path.parent
    match = _SAT_FOLDER.fullmatch(sample.parent.name)
    if match is None or not sample.name.isdecimal() or not re.fullmatch(r"\d{6}", path.stem):
        return None
    prompt = match["prompt"]
    text = _plain(prompt, "_")
    return NamedPrompt(text, "cogvideox", len(prompt) >= _SAT_CUT) if _WORD.search(text) else None


def _prompt(pattern: NamePattern, prompt: str) -> NamedPrompt | None:
    text = _plain(prompt, pattern.blanks)
    words = _WORD.findall(text)
    if len(words) < pattern.words and len(_IDEOGRAPHS.findall(text)) < _LEAST_IDEOGRAPHS:
        return None
    if pattern.key == "vbench" and not _is_sentence(text):
        return None
    if not words:
        return None
    if pattern.key == "ltx":  # keeps whole words: one of usual length would have fitted into what is left
        return NamedPrompt(text, "ltx", sum(map(len, words)) > (pattern.most or 0) // 2)
    return NamedPrompt(text, pattern.key, pattern.most is not None and len(prompt) >= pattern.most)


def _plain(prompt: str, blanks: str) -> str:
    if blanks:
        prompt = re.sub(f"[{re.escape(blanks)}]+", " ", prompt)
    return " ".join(prompt.split())


def _is_sentence(text: str) -> bool:
    """Tell words of a prompt from dates, versions, settings, and what devices, editors and people call a file."""
    if _STAMPS.search(text) or _SETTINGS.search(text):
        return False
    if len(text.split()) <= _SHORT and (_DEFAULTS.fullmatch(text) or _LABELS.fullmatch(text)):
        return False
    return " " in text or len(_IDEOGRAPHS.findall(text)) >= _LEAST_IDEOGRAPHS
