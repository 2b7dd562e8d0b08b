"""How often a 0 among ratings is asked about: where it stands for no rating, and where it is the end of the scale.

    python -m benchmarks.rating_codes [--tables 200]

Made-up tables of 60 clips: a clip's quality and each rater's noise are normal (1 and 0.5), scaled to 1 to k or 0 to k
and cut at its ends. On 1 to k a share of the cells, drawn by a seed, is 0. Printed: percent of tables refused.
"""

from __future__ import annotations

import argparse

import numpy as np

from vmmetrics.alignment.readers.read import read_judgements
from vmmetrics.errors import SetupError
from vmmetrics.types import FloatArray

TOPS, RATERS, SHARES, MEANS = (4, 5, 7, 10, 100), (1, 4, 12), (0.02, 0.05, 0.1, 0.17), (0.0, 0.7)


def ratings_of(quality: FloatArray, low: int, high: int, raters: int, rng: np.random.Generator) -> FloatArray:
    """Return (N, R) whole ratings from low to high."""
    seen = quality[:, None] + 0.5 * rng.normal(size=(len(quality), raters))
    rated: FloatArray = np.clip(np.round(low + (high - low) * (seen + 2) / 4), low, high)
    return rated


def is_refused(ratings: FloatArray) -> bool:
    """Return True if a table of these ratings is refused."""
    columns = {f"smoothness_{rater}": column.tolist() for rater, column in enumerate(ratings.T, 1)}
    columns = columns if len(columns) > 1 else {"smoothness": columns["smoothness_1"]}
    try:
        read_judgements({"clip": [f"{n}.mp4" for n in range(len(ratings))], **columns}, ())
    except SetupError:
        return True
    return False


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    tables = parser.parse_args().tables
    rng = np.random.default_rng(34)
    for top in TOPS:
        for raters in RATERS:
            coded = []
            for share in SHARES:
                refused = 0
                for _ in range(tables):
                    ratings = ratings_of(rng.normal(size=60), 1, top, raters, rng)
                    ratings[rng.permutation(ratings.size).reshape(ratings.shape) < share * ratings.size] = 0
                    refused += is_refused(ratings)
                coded.append(f"{share:.0%}: {refused / tables:.0%}")
            healthy = []
            for mean in MEANS:
                made = [ratings_of(rng.normal(size=60) + mean, 0, top, raters, rng) for _ in range(tables)]
                zeros = np.mean([(ratings == 0).mean() for ratings in made])
                healthy.append(f"{zeros:.1%} zeros: {np.mean([is_refused(ratings) for ratings in made]):.0%}")
            print(f"k {top}, {raters} raters; 1 to k, 0 is no rating: {', '.join(coded)}; 0 to k: {', '.join(healthy)}")


if __name__ == "__main__":
    main()
