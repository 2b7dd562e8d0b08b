"""Baselines against the libraries that are known for them; writes what tests/baselines holds ours to.

    python -m benchmarks.baselines_parity tests/alignment/baselines/oracle.npz brisque_svm.txt normalize.pickle

Needs scikit-image (SSIM), opencv-contrib-python-headless in the place of opencv-python-headless (features of BRISQUE)
and libsvm-official with two files of the image-quality wheel (its regression): none of them a dependency.
"""

from __future__ import annotations

import itertools
import pickle
import sys
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray


def pictures(frames: int = 4, height: int = 150, width: int = 170) -> NDArray[np.uint8]:
    """(T, H, W) uint8: a texture with the spectrum of natural scenes that drifts, brightens and grows noisy."""
    rng = np.random.default_rng(5)
    y, x = np.fft.fftfreq(256)[:, None], np.fft.rfftfreq(256)[None]
    spectrum = np.fft.rfft2(rng.normal(size=(256, 256))) / np.maximum(np.hypot(x, y), 1 / 256) ** 1.7
    texture = np.fft.irfft2(spectrum)
    texture = 120 + 45 * (texture - texture.mean()) / texture.std()
    views = [texture[t : t + height, t : t + width] + 4 * t for t in range(frames)]
    noisy = [view + rng.normal(0, t, view.shape) for t, view in enumerate(views)]
    return np.clip(np.stack(noisy), 0, 255).astype(np.uint8)


def _main() -> None:
    from skimage.metrics import structural_similarity

    out, svm, ranges = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    frames = pictures()
    ssim = [
        structural_similarity(a, b, gaussian_weights=True, sigma=1.5, use_sample_covariance=False)
        for a, b in itertools.pairwise(frames)
    ]
    features = np.stack([cv2.quality.QualityBRISQUE_computeFeatures(frame).ravel() for frame in frames])
    np.savez_compressed(out, frames=frames, ssim=ssim, features=features, brisque=_predict(features, svm, ranges))
    print(f"SSIM {np.round(ssim, 4)}, BRISQUE {np.round(np.load(out)['brisque'], 2)}: written to {out}")


def _predict(features: NDArray[np.float32], svm: str, ranges: Path) -> list[float]:
    from libsvm import svmutil

    limits = pickle.loads(ranges.read_bytes())  # noqa: S301  (of a wheel that was installed to be run)
    low, high = np.array(limits["min_"]), np.array(limits["max_"])
    model = svmutil.svm_load_model(svm)
    rows = [(2 * (row - low) / (high - low) - 1).tolist() for row in features]
    return list(svmutil.svm_predict([0] * len(rows), rows, model, "-q")[0])


if __name__ == "__main__":
    _main()
