"""Many small pieces of work in one forked process, which is started anew behind one that hangs or dies."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from tests.reliability.watched import Limits, watched


def in_turn(work: Callable[[int], Any], count: int, limits: Limits) -> Iterator[Any]:
    """Call ``work`` with 0, 1, ... in a watched process.

    Args:
        work: Its value must be JSON.
        count: How often.
        limits: Bounds; those on time hold for all the calls of one process together.

    Yields:
        The value of each call in turn, or a str: how the process ended that was at it.
    """
    begin = 0
    while begin < count:
        with tempfile.TemporaryFile() as results:
            ended = watched(lambda results=results, begin=begin: _work(work, begin, count, results.fileno()), limits)
            results.seek(0)
            values = [json.loads(line) for line in results]
        yield from values
        begin += len(values)
        if begin < count:
            yield ended.trouble or f"exit code {ended.code}"
            begin += 1


def _work(work: Callable[[int], Any], begin: int, count: int, descriptor: int) -> int:
    for number in range(begin, count):
        os.write(descriptor, json.dumps(work(number)).encode() + b"\n")
    return 0
