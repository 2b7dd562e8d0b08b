"""Coverage-guided fuzzing of every reader; an exception that is not ours is a crash, and so is a hang.

With atheris (``pip install atheris``) inputs are chosen by the branches that they reach in our code; without it,
Hypothesis changes good ones blindly. Each target works in a process of its own, which is started anew where it dies.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from benchmarks.campaign.fuzz_targets import TARGETS, target
from benchmarks.campaign.results import Campaign

HANG_SECONDS = 25
MEMORY_MIB = 6144
MOST_DEATHS = 20
MEMORY = Path("/dev/shm")  # noqa: S108  (files that are written thousands of times a minute)
ROOT = Path(__file__).resolve().parents[2]


def run(campaign: Campaign) -> None:
    """Give every target its share of the time, in rounds, so that a run that is cut short has tried all."""
    guide = "atheris" if find_spec("atheris") else "Hypothesis"
    seconds = max(5, round(60 * campaign.minutes / len(TARGETS)))
    for name in TARGETS:
        key = f"{name}, {campaign.minutes:g} minutes, seed {campaign.seed}"
        if not campaign.done(key):
            executions, faults = _fuzz(campaign.out / "fuzz" / name, name, seconds, campaign.seed)
            for fault in faults:
                campaign.add(f"{guide}: {name}", f"{key}: {fault}", fault)
            campaign.add(f"{guide}: {name}", key, executions=executions, seconds=seconds)


def _fuzz(folder: Path, name: str, seconds: int, seed: int) -> tuple[int, list[str]]:
    """Run one target for a while; how many inputs it read, and what is wrong."""
    corpus, crashes = folder / "corpus", folder / "crashes"
    for place in (corpus, crashes):
        place.mkdir(parents=True, exist_ok=True)
    count = folder / "executions"
    count.write_text("")
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as scratch:
        ends = _start_again_and_again(folder, name, seconds, seed, scratch)
    faults = [path.read_text().splitlines()[0] for path in sorted(crashes.glob("*.txt"))]
    artifacts = [
        path.name for path in folder.iterdir() if path.name.startswith(("crash-", "timeout-", "oom-", "leak-"))
    ]
    executions = sum(int(line) for line in count.read_text().split())
    return executions, faults + artifacts + ([] if artifacts else sorted(set(ends)))


def _start_again_and_again(folder: Path, name: str, seconds: int, seed: int, scratch: str) -> list[str]:
    """Run the process of a target until the time is over; how it ended where it died."""
    until, begin = time.monotonic() + seconds, seed
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "scoring")])
    environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": scratch}
    ends: list[str] = []
    while (left := until - time.monotonic()) > 1 and len(ends) < MOST_DEATHS:
        begin += 1
        arguments = [sys.executable, "-m", "benchmarks.campaign.fuzz", name, str(folder), str(int(left)), str(begin)]
        with (folder / "log").open("ab") as log:
            ended = subprocess.run(arguments, stdout=log, stderr=log, env=environment, cwd=folder, check=False)
        if ended.returncode:
            ends.append(f"the process ends with {ended.returncode}")
    return ends


def guarded(call: Callable[[bytes], None], crashes: Path) -> Callable[[bytes], None]:
    """A target that writes what it crashes on, once for each place in the code, and goes on."""
    from vmmetrics.errors import VMMetricsError

    def read(data: bytes) -> None:
        try:
            call(data)
        except VMMetricsError:
            return
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            ours = next((f for f in reversed(frames) if "/vmmetrics/" in f.filename), frames[-1])
            place = f"{type(error).__name__} at {Path(ours.filename).name}:{ours.lineno}"
            name = crashes / hashlib.sha256(place.encode()).hexdigest()[:12]
            if not name.with_suffix(".txt").exists():
                name.with_suffix(".input").write_bytes(data)
                text = f"{place}: {str(error)[:200]!r}\n{traceback.format_exc()}"
                name.with_suffix(".txt").write_text(text, errors="backslashreplace")

    return read


def main() -> None:
    """Work on one target: ``TARGET FOLDER SECONDS SEED``."""
    name, place, seconds, seed = sys.argv[1:]
    folder = Path(place)
    work = _with_atheris if find_spec("atheris") else _with_hypothesis
    work(name, folder, int(seconds), int(seed))


def _with_atheris(name: str, folder: Path, seconds: int, seed: int) -> NoReturn:
    import atheris

    with atheris.instrument_imports(include=["vmmetrics"]):
        fuzzed = target(name)
        for data in fuzzed.seeds:  # what a reader imports when it is called is instrumented here, too
            guarded(fuzzed.call, folder / "crashes")(data)
    _write_seeds(folder / "corpus", fuzzed.seeds)
    read, executions = guarded(fuzzed.call, folder / "crashes"), 0
    begun = time.monotonic()

    def one(data: bytes) -> None:
        nonlocal executions
        read(data)
        executions += 1
        if time.monotonic() - begun > seconds:
            with (folder / "executions").open("a") as file:
                file.write(f"{executions}\n")
            os._exit(0)

    options = [f"-seed={seed}", f"-max_total_time={seconds + 5}", f"-timeout={HANG_SECONDS}", "-max_len=65536"]
    options += [f"-rss_limit_mb={MEMORY_MIB}", f"-artifact_prefix={folder}/", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *options, str(folder / "corpus")], one)
    atheris.Fuzz()
    raise SystemExit


def _write_seeds(corpus: Path, seeds: tuple[bytes, ...]) -> None:
    for data in seeds:
        (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)


def _with_hypothesis(name: str, folder: Path, seconds: int, seed: int) -> None:
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis import strategies as st

    fuzzed = target(name)
    read, executions = guarded(fuzzed.call, folder / "crashes"), 0
    begun = time.monotonic()
    change = st.tuples(st.integers(0, 1 << 16), st.integers(0, 20), st.binary(max_size=20))

    @seeded(seed)
    @settings(max_examples=10**9, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(fuzzed.seeds), st.lists(change, max_size=8))
    def one(good: bytes, changes: list[tuple[int, int, bytes]]) -> None:
        nonlocal executions
        data = bytearray(good)
        for start, length, inserted in changes:
            begin = start % (len(data) + 1)
            data[begin : begin + length] = inserted
        read(bytes(data))
        executions += 1
        if time.monotonic() - begun > seconds:
            with (folder / "executions").open("a") as file:
                file.write(f"{executions}\n")
            os._exit(0)

    one()


if __name__ == "__main__":
    main()
