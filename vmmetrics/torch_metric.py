"""The suite as a torchmetrics metric (extra ``torchmetrics``)."""

from vmmetrics.scoring.torch_metric import VideoMotionScore

__all__ = ["VideoMotionScore"]
