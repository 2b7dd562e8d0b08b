"""Replies on disk, each under the hash of everything it depends on."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vmmetrics.checkpoints import weights_home
from vmmetrics.endpoint.messages import Reply, Turn, tokens
from vmmetrics.errors import cannot
from vmmetrics.run.atomic import write_json
from vmmetrics.utils.schema import parse_json


def default_folder(name: str = "replies") -> Path:
    """Folder of kept replies, beside the folder of weights."""
    return weights_home().parent / name


def key_of(*dependencies: Any, turns: Sequence[Turn]) -> str:
    """Hash of a conversation and of whatever else its reply depends on.

    Args:
        dependencies: Ready for JSON: settings, shape, seed.
        turns: What was said.
    """
    said = [[turn.role, turn.text, [hashlib.sha256(p).hexdigest() for p in _seen(turn)]] for turn in turns]
    return hashlib.sha256(json.dumps([*dependencies, said], sort_keys=True).encode()).hexdigest()


def _seen(turn: Turn) -> tuple[bytes, ...]:
    return turn.pictures if turn.video is None else (*turn.pictures, turn.video.kind.encode(), turn.video.data)


class ReplyCache:
    """Keeps replies; for several threads and processes. A file is whole or not there, whenever a process is killed.

    Args:
        folder: Where; made when the first reply is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writing = threading.Lock()

    def get(self, key: str) -> Reply | None:
        """The reply kept under a key; None where there is none, or where its file is damaged."""
        try:
            return _reply(parse_json((self.folder / f"{key}.json").read_bytes()))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply.

        Raises:
            SetupError: The folder cannot be written.
        """
        try:
            with self._writing:  # the temporary name is one per process
                self.folder.mkdir(parents=True, exist_ok=True)
                write_json(self.folder / f"{key}.json", asdict(reply))
        except OSError as error:
            raise cannot("write", f"replies to {self.folder}", error) from error


def _reply(kept: Mapping[str, Any]) -> Reply:
    counts = {name: tokens(kept.get(name)) for name in ("input_tokens", "output_tokens")}
    return Reply(str(kept["text"]), bool(kept["refused"]), bool(kept["cut"]), **counts)
