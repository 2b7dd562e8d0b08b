"""Sentence embeddings; they live in :mod:`vmmetrics.text.embedding`."""

from __future__ import annotations

from vmmetrics.text.embedding import embed, embedding_identity

__all__ = ["embed", "embedding_identity"]
