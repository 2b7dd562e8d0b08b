"""Text as numbers, without a deep-learning framework: word pieces, sentence embeddings, similarity of many texts."""

from __future__ import annotations
