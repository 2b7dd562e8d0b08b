"""Fusion of video frames in a picture encoder: MotionBench's study, as wrappers of a ViT.

Every wrapper takes frames (B, N, C, height, width) and gives a language model's decoder (B, N / k, l, D) visual tokens:
k frames became one group, P patches became l tokens of width D. What differs is where the frames of a group meet:

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

from vmmetrics.errors import SetupError, install

try:
    import torch as _torch  # noqa: F401 - asked for once here, so that the modules below need not
except ModuleNotFoundError as error:
    raise SetupError(f"{error.name} is missing; install it with: {install('fusion')}") from error

from vmmetrics.understanding.fusion.paradigms import PARADIGMS, FusedEncoder, fuse

__all__ = ["PARADIGMS", "FusedEncoder", "fuse"]
