"""What workers do in the tests of the pool."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.utils.progress import loading, part, tell_share


class Obedient:
    """Does what an item says; its number is the answer."""

    def load(self, item: tuple[Any, ...]) -> None:
        if item[0] == "load slowly":
            time.sleep(item[1])
        if item[0] == "load in parts":
            for _ in range(2):
                with loading():
                    pass
        if item[0] == "die while loading" and len(list(Path(item[1]).iterdir())) < item[2]:
            (Path(item[1]) / str(os.getpid())).touch()
            os._exit(7)
        if item[0] == "load never":
            raise SetupError("no models")

    def handle(self, item: tuple[str, Any], note: Callable[[Any], None]) -> Any:
        match item[0]:
            case "hang":
                note(item[1])
                tell_share(0.5)
                time.sleep(3600)
            case "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "leave a child":
                child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
                note(child.pid)
                time.sleep(3600)
            case "die":
                os._exit(7)
            case "leave a child and die":
                note(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"]).pid)
                os._exit(7)
            case "answer at length":
                return b"0" * item[1]
            case "load on first use":
                with loading():
                    time.sleep(item[1])
            case "work in parts":
                for _ in range(3):
                    with part(0.0, 1.0):
                        time.sleep(item[1])
            case "raise":
                raise RuntimeError("something unforeseen")
            case "answer what cannot be sent":
                return lambda: None
            case "pid":
                return os.getpid()
            case "nothing is set up":
                raise SetupError("a key is missing")
        return item[1]
