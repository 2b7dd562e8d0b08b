"""Models that answer: behind an endpoint, on this machine, from a file, or by guessing."""

from vmmetrics.understanding.models.protocol import Model, Said
from vmmetrics.understanding.models.specs import ModelSettings, open_model

__all__ = ["Model", "ModelSettings", "Said", "open_model"]
