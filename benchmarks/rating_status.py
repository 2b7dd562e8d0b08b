"""Time of ``vmmetrics rate status`` on a large study: ``python -m benchmarks.rating_status --clips 2000 --votes 20``.

The study has no clips on the disk, and its answers are those of simulated honest raters, ``--items`` a session. Prints
seconds of processor and of the clock, start of the process included.
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vmmetrics.rating.designs import design_of
from vmmetrics.rating.journal import ANSWERS, read_state
from vmmetrics.rating.sessions import digest
from vmmetrics.rating.simulation import SimulatedRater, body_of, qualities
from vmmetrics.rating.study import RECORD, Settings, StudyClip, _Record, read_study
from vmmetrics.rating.trials import Session, Trial
from vmmetrics.utils.schema import plain
from vmmetrics.utils.storage.atomic import write_json
from vmmetrics.utils.storage.journal import encode
from vmmetrics.utils.storage.provenance import now

MODELS = 4


def write(path: Path, clips: int, votes: int, items: int) -> None:
    """Write a study in which every clip has its votes."""
    settings = Settings("acr", "lab", "ours", {"motion": ""}, votes=votes, items=items)
    listed = tuple(
        StudyClip(f"c{n:05d}", f"{n}.mp4", f"{n:064x}", 4.0, (64, 48), 0, f"m{n % MODELS}", f"p{n // MODELS}")
        for n in range(clips)
    )
    write_json(path / RECORD, plain(_Record(settings, listed, {}, created=now())))
    study, rng = read_study(path), np.random.default_rng(0)
    design = design_of(study)
    quality = qualities(design, rng)
    lines = [encode({"kind": "study", "configuration": study.configuration, "at": now()})]
    for _ in range(votes):
        order = [f"c{n:05d}" for n in rng.permutation(clips)]
        for start in range(0, clips, items):
            trials = tuple(Trial("item", key, (key,)) for key in order[start : start + items])
            session = Session(secrets.token_hex(8), secrets.token_hex(6), digest(secrets.token_hex(8)), "", trials)
            fields = {name: getattr(session, name) for name in ("session", "rater", "token", "consent", "trials")}
            lines.append(encode(plain({"kind": "session", **fields, "at": now()})))
            rater = SimulatedRater("honest", quality, design, rng)
            answers = (body_of(session, at, rater, 4.0) for at in range(len(trials)))
            lines += [encode({"kind": "answer", "session": session.session, **one, "at": now()}) for one in answers]
    (path / ANSWERS).write_bytes(b"".join(lines))


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("clips", 2000), ("votes", 20), ("items", 24)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), options.clips, options.votes, options.items)
        say(f"{len(read_state(read_study(Path(folder))).sessions)} sessions")
        for _ in range(3):
            before, begun = os.times(), time.perf_counter()
            command = [sys.executable, "-m", "vmmetrics", "rate", "status", folder, "--format", "json"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            after = os.times()
            used = after.children_user - before.children_user + after.children_system - before.children_system
            say(f"processor {used:.2f} s, clock {time.perf_counter() - begun:.2f} s")


if __name__ == "__main__":
    main()
