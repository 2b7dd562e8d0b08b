from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from vmmetrics.utils.storage.lock import ByteLocks, claim_byte

HOLD = """
import sys, time
from pathlib import Path
from vmmetrics.utils.storage.lock import ByteLocks
locks = ByteLocks(Path(sys.argv[1]))
print(locks.try_acquire(int(sys.argv[2])), flush=True)
time.sleep(60)
"""


def test_a_lock_keeps_other_processes_out_until_its_holder_dies(tmp_path: Path) -> None:
    path, byte = tmp_path / "lock", claim_byte("some/clip.mp4")
    holder = subprocess.Popen([sys.executable, "-c", HOLD, path, str(byte)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == "True"
    locks = ByteLocks(path)
    assert not locks.try_acquire(byte)
    assert locks.try_acquire(claim_byte("another/clip.mp4"))
    holder.kill()
    holder.wait()
    assert locks.try_acquire(byte)
    locks.close()


def test_a_held_lock_is_not_given_twice(tmp_path: Path) -> None:
    locks = ByteLocks(tmp_path / "lock")
    assert locks.try_acquire(5)
    assert not locks.try_acquire(5)
    locks.release(5)
    with locks.holding(5):
        assert not locks.try_acquire(5)
    assert locks.try_acquire(5)
    locks.close()
