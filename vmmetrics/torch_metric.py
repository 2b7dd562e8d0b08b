"""The suite as a torchmetrics metric (``pip install 'vmmetrics[torchmetrics]'``)."""

from vmmetrics.scoring.torch_metric import VideoMotionScore

__all__ = ["VideoMotionScore"]
