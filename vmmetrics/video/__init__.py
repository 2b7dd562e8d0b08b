"""Reading of clips (files, folders of frames, arrays) and of their prompts."""

from vmmetrics.video.discover import CLIP_SUFFIXES, Source, discover
from vmmetrics.video.prompts import PromptOf, Prompts
from vmmetrics.video.reader import ASSUME_FPS, read_batch, read_clip, sample_clip

__all__ = [
    "ASSUME_FPS", "CLIP_SUFFIXES", "PromptOf", "Prompts", "Source",
    "discover", "read_batch", "read_clip", "sample_clip",
]  # fmt: skip
