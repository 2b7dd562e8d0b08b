"""What workers on the nodes of a cluster do in tests."""

from __future__ import annotations

import ctypes
import os
import resource
import time
from pathlib import Path
from typing import Any


class Handler:
    """Does what an item says: ``(what, argument)``; where it was done and the argument are the answer."""

    def configuration(self) -> dict[str, Any]:
        if folder := os.environ.get("SLOW_LOADING"):
            (Path(folder) / str(os.getpid())).touch()
            time.sleep(1.5)
        return {"weights": os.environ.get("FAKE_WEIGHTS", "1")}

    def load(self, item: tuple[str, Any]) -> None:
        pass

    def ahead(self, item: tuple[str, Any]) -> None:
        what, argument = item
        if what == "ahead":
            Path(argument).touch()

    def handle(self, item: tuple[str, Any], note: Any) -> tuple[str, Any]:
        import ray

        what, argument = item
        match what:
            case "sleep":
                time.sleep(0.25)
            case "touch":  # begins, then takes its time
                (Path(argument) / str(os.getpid())).touch()
                time.sleep(1)
            case "ahead":
                return "was ahead", Path(argument).exists()
            case "exit":
                os._exit(7)
            case "segv":
                ctypes.string_at(0)
            case "memory":
                resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
                held = [bytearray(10 << 30)]
                return "never", len(held)
            case "loop":
                note("noted")
                while True:
                    pass
            case "raise":
                raise RuntimeError("something unforeseen")
        return ray.get_runtime_context().get_node_id(), argument


def start() -> Handler:
    return Handler()
