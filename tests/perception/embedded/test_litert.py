"""LiteRT's own log: its notice is not seen, its errors and everybody else's words are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vmmetrics.utils.weights.manifest import weight_path

NETWORK = weight_path("blazepose-detector")


def in_a_process(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.slow
def test_the_first_network_of_a_process_says_nothing() -> None:
    opening = f"Interpreter(model_path={str(NETWORK)!r}).allocate_tensors()"
    alone = in_a_process(f"from ai_edge_litert.interpreter import Interpreter; {opening}")
    if "INFO" not in alone.stderr:
        pytest.skip("this LiteRT writes no notice")
    ours = in_a_process(
        "from pathlib import Path; from vmmetrics.perception.embedded.litert import open_network\n"
        f"for _ in range(2): open_network(Path({str(NETWORK)!r}), 1)"
    )
    assert (ours.returncode, ours.stdout, ours.stderr) == (0, "", "")


@pytest.mark.parametrize("closed", [False, True])
def test_what_is_no_network_is_an_error_and_other_lines_are_passed_on(closed: bool, tmp_path: Path) -> None:
    broken = tmp_path / "broken.tflite"
    broken.write_bytes(b"no network")
    ran = in_a_process(
        "import os, sys; from pathlib import Path; from vmmetrics.perception.embedded import litert\n"
        f"{'os.close(2)' if closed else ''}\n"
        "try:\n"
        "    with litert._without_notices():\n"
        "        os.write(2, b'INFO: created\\nWARNING: slow\\n') if not " + str(closed) + " else None\n"
        f"        litert.open_network(Path({str(broken)!r}), 1)\n"
        "except ValueError as error: print('refused')\n"
        "os.write(2, b'after\\n') if not " + str(closed) + " else None\n"
    )
    assert (ran.returncode, ran.stdout) == (0, "refused\n")
    lines = ran.stderr.splitlines()
    assert "INFO: created" not in lines
    if not closed:
        assert lines[0] == "WARNING: slow" and lines[-1] == "after"
