"""Print the help of a command and of every command below it, found in the help itself."""

from __future__ import annotations

import re
import subprocess
import sys


def walk(words: list[str], below: bool = True) -> None:
    print(f"##### {' '.join(words)}", flush=True)
    command = [sys.executable, "-m", "vmmetrics", *words, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr, f"exit {done.returncode}", flush=True)
    _, found, commands = done.stdout.partition("─ Commands ")
    names = re.findall(r"^│ ([a-z][a-z-]*) ", commands, re.MULTILINE) if found else []
    groups = ("prompts", "understand", "cas", "weights")
    for name in names if below else []:
        walk([*words, name], below=name not in groups)


walk(sys.argv[1:])
