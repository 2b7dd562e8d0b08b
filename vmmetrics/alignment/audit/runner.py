"""Caller of a scorer under audit: a script of its own, run in a process of its own, by any Python with numpy.

It reads a JSON object a line from standard input and answers each with one line: first the specification of the
target, then calls. What the target prints goes to ``output.log``. Nothing of vmmetrics is imported, unless the target
takes a :class:`~vmmetrics.clip.Clip` or is a metric of it.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import hashlib
import http.client
import importlib
import inspect
import json
import os
import resource
import signal
import subprocess
import sys
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

BATCHES = ("paths", "videos", "tensors", "folder")
"""Ways of taking clips in which one call scores several."""
_MOST_ANSWER = 1 << 24  # bytes of an answer by HTTP
_TEXT = 400  # characters of an error


class RefusedError(Exception):
    """An answer that is no score; the text says why."""


class MalformedError(RefusedError):
    """An answer that is not one score a clip."""


def text_of(error: BaseException) -> str:
    """Return kind and first words of an exception."""
    return f"{type(error).__name__}: {error}"[:_TEXT]


def scores_of(value: Any) -> dict[str, Any]:
    """Return ``{"scores": {name: number}}`` or ``{"missing": why}`` of what a target returned for a clip.

    What stands beside ``score`` is about it, or about the clip: frames read, scores of frames, a time.
    """
    if value is None:
        return {"missing": "no score"}
    if isinstance(value, Mapping):
        named = {"score": value["score"]} if "score" in value else value
        scores = {str(name): _number(part) for name, part in named.items() if part is not None}
        return {"scores": scores} if scores else {"missing": "no score"}
    return {"scores": {"": _number(value)}}


def _number(value: Any) -> float:
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "fiub":
        raise MalformedError(f"no number but {type(value).__name__} {str(value)[:80]!r}")
    return float(array.reshape(()))


# What the target is handed: an item of a call names a file, an array or both.


def _array(item: Mapping[str, Any]) -> Any:
    array = np.load(item["array"], allow_pickle=False)
    ways: dict[str, Callable[[Any], Any]] = {"fortran": np.asfortranarray, "strided": _strided, "read-only": _read_only}
    return ways.get(item.get("memory", ""), np.ascontiguousarray)(array)


def _strided(array: Any) -> Any:
    wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


def _read_only(array: Any) -> Any:
    array.setflags(write=False)
    return array


def handed(route: str, item: Mapping[str, Any]) -> Any:
    """Return what the target is handed for one clip."""
    if route in ("path", "paths", "folder"):
        return item["path"]
    array = _array(item)
    if item.get("raw"):
        return list(array) if item["raw"] == "list" else array
    if route == "list":
        return list(array)
    if route == "clip":
        from vmmetrics.clip import Clip

        times = np.asarray(item["times"], np.float64)
        return Clip(array, times, float(item["fps"]), prompt=item.get("prompt"))
    if route in ("floats", "videos", "tensors"):
        array = array.astype(np.float32) / np.float32(255)
    if route in ("videos", "tensors"):
        array = np.ascontiguousarray(array.transpose(0, 3, 1, 2))
    return array


class FunctionTarget:
    """A function, ``module:name``."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        module, _, name = spec["text"].partition(":")
        self._paths = spec["paths"]
        function: Any = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
        self._function: Callable[..., Any] = function
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):
            parameters = {}  # type: ignore[assignment]
        keys = {"fps", "prompt", "prompts", "reference", "references"}
        self.named = sorted(keys & set(parameters))
        self.defaults = {
            key: repr(of.default)
            for key in self.named
            if (of := parameters[key]).default is not inspect.Parameter.empty
        }

    def describe(self) -> dict[str, Any]:
        """Return named parameters, their defaults, and a hash of the modules of the user's folder that are loaded."""
        files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
        own = sorted(file for file in files if any(file.startswith(folder) for folder in self._paths))
        digest = hashlib.sha256(b"".join(Path(file).read_bytes() for file in own if Path(file).is_file()))
        return {"named": self.named, "defaults": self.defaults, "sha256": digest.hexdigest()}

    def _keywords(self, items: Sequence[Mapping[str, Any]], omit: Sequence[str], batch: bool) -> dict[str, Any]:
        given = {}
        for key in self.named:
            of = key.removesuffix("s") if key != "fps" else key
            values = [item.get(of) for item in items]
            if of in omit or (key != "fps" and values == [None] * len(values)):
                continue
            given[key] = values if key != of else values[0]
            if key == "fps" and batch and len(set(values)) > 1:
                given[key] = values
        return given

    def call(self, route: str, items: Sequence[Mapping[str, Any]], omit: Sequence[str]) -> list[dict[str, Any]]:
        """Return an answer for each item."""
        if route not in BATCHES:
            return [self._one(route, item, omit) for item in items]
        clips: Any = [handed(route, item) for item in items]
        if route in ("videos", "tensors"):
            clips = np.stack(clips)
        if route == "tensors":
            import torch

            clips = torch.from_numpy(clips)
        returned = self._function(clips, **self._keywords(items, omit, batch=True))
        if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], Mapping):
            returned = returned[0]  # (rewards, metadata), as flow_grpo has it
        if isinstance(returned, Mapping):
            columns = {str(name): _column(values, len(items)) for name, values in returned.items()}
            returned = [{name: column[n] for name, column in columns.items()} for n in range(len(items))]
        return [answered(partial(lambda of: of, value)) for value in _column(returned, len(items))]

    def _one(self, route: str, item: Mapping[str, Any], omit: Sequence[str]) -> dict[str, Any]:
        given = handed(route, item)
        before = given.tobytes() if isinstance(given, np.ndarray) else None
        answer = answered(lambda: self._function(given, **self._keywords([item], omit, batch=False)))
        if before is not None and given.tobytes() != before:
            answer["mutated"] = True
        return answer


def _column(values: Any, count: int) -> list[Any]:
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    if isinstance(values, Mapping) or not hasattr(values, "__len__"):
        raise MalformedError(f"no list of {count} scores but {type(values).__name__}")
    if len(values) != count:
        raise MalformedError(f"{len(values)} scores for {count} clips")
    return list(values)


def answered(compute: Callable[[], Any]) -> dict[str, Any]:
    """Return the answer of a computation: scores, why there is none, or its error."""
    try:
        return scores_of(compute())
    except Exception as error:  # whatever the target raises is its answer
        return {"error": text_of(error)}


class CommandTarget:
    """A command line, given as its words; ``{clip}``, ``{folder}``, ``{prompt}``, ``{fps}`` stand for arguments."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._words, self._key = spec["words"], spec.get("key")
        self._calls = 0

    def describe(self) -> dict[str, Any]:
        """Return which of prompt and rate the command is given."""
        return {"named": [key for key in ("fps", "prompt") if f"{{{key}}}" in " ".join(self._words)], "defaults": {}}

    def _output(self, values: Mapping[str, str]) -> Any:
        if "{prompt}" in self._words and values.get("prompt", "").startswith("-"):
            raise RefusedError("the command would take this prompt for an option; write --prompt={prompt}")
        words = [filled(word, values) for word in self._words]
        self._calls += 1
        log = Path(f"command-{self._calls}.out")
        with log.open("wb") as out, Path("output.log").open("ab") as err:
            code = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=False).returncode  # noqa: S603
        text = _tail(log)
        log.unlink()
        if code:
            why = text.strip().splitlines()[-1:] or _tail(Path("output.log")).strip().splitlines()[-1:]
            raise RefusedError(f"exit code {code}: {why[0][:_TEXT] if why else 'no output'}")
        return parsed(text, self._key)

    def call(self, route: str, items: Sequence[Mapping[str, Any]], omit: Sequence[str]) -> list[dict[str, Any]]:
        """Return an answer for each item."""
        items = [{**item, **dict.fromkeys(omit)} for item in items]
        if route != "folder":
            return [answered(partial(self._output, {**_words_of(item), "clip": item["path"]})) for item in items]
        paths = [Path(item["path"]) for item in items]
        returned = self._output({**_words_of(items[0]), "folder": str(paths[0].parent)})
        if not isinstance(returned, Mapping):
            raise MalformedError("no object of file names and numbers")
        names = {Path(str(name)).name: value for name, value in returned.items()}
        stems = {Path(name).stem: value for name, value in names.items()}
        stems |= names  # as it may name "a.b.mp4" "a.b"
        return [answered(partial(names.get, path.name, stems.get(path.stem))) for path in paths]


def _words_of(item: Mapping[str, Any]) -> dict[str, str]:
    return {key: "" if item.get(key) is None else str(item[key]) for key in ("prompt", "fps")}


def filled(word: str, values: Mapping[str, str]) -> str:
    """Return a word with placeholders replaced, each once: what stands in a value is not read again."""
    parts: list[str] = []
    rest = word
    while True:
        places = [(rest.find(f"{{{key}}}"), key) for key in values if f"{{{key}}}" in rest]
        if not places:
            return "".join([*parts, rest])
        at, key = min(places)
        parts += [rest[:at], values[key]]
        rest = rest[at + len(key) + 2 :]


def _tail(path: Path, most: int = 1 << 20) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - most))
        return file.read().decode("utf-8", "replace")


def parsed(text: str, key: str | None) -> Any:
    """Return the number, or the object of numbers, that a text ends with.

    Raises:
        RefusedError: There is none.
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    candidates = [text.strip(), *lines[-1:]]
    for candidate in candidates:
        try:
            value = json.loads(candidate)
        except ValueError:
            continue
        return _looked_up(value, key)
    if lines and key is None:
        try:
            return float(lines[-1].split()[-1])
        except ValueError:
            pass
    raise RefusedError(
        f"expected a number or JSON at the end of the output but got {lines[-1][:80]!r}" if lines else "no output"
    )


def _looked_up(value: Any, key: str | None) -> Any:
    for part in key.split(".") if key else ():
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise RefusedError(f"no {key} in the answer: {text_of(error)}") from error
    return value


class HttpTarget:
    """An address that takes a JSON body by POST; by default UniRL's form, ``{"requests": [...]}``."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._url, self._body, self._key = urllib.parse.urlsplit(spec["text"]), spec.get("body"), spec.get("key")
        self._timeout = float(spec["timeout"])

    def describe(self) -> dict[str, Any]:
        """Return that prompts are passed."""
        return {"named": ["prompt"], "defaults": {}}

    def _post(self, body: bytes) -> Any:
        kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._url.hostname or "", self._url.port, timeout=self._timeout)
        try:
            path = urllib.parse.urlunsplit(("", "", self._url.path or "/", self._url.query, ""))
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read(_MOST_ANSWER + 1)
        finally:
            connection.close()
        if answer.status != http.client.OK:
            raise RefusedError(f"HTTP {answer.status}: {content[:_TEXT].decode('utf-8', 'replace')}")
        if len(content) > _MOST_ANSWER:
            raise RefusedError(f"an answer of more than {_MOST_ANSWER} bytes")
        return json.loads(content)

    def _one(self, item: Mapping[str, Any]) -> Any:
        if self._body is None:
            return self._many([item])[0]
        values = {"prompt": json.dumps(item.get("prompt") or "")[1:-1], "fps": json.dumps(item.get("fps")),
                  "clip": json.dumps(item["path"])[1:-1]}  # fmt: skip
        if "{video_b64}" in self._body:
            values["video_b64"] = base64.b64encode(Path(item["path"]).read_bytes()).decode()
        return _looked_up(self._post(filled(self._body, values).encode()), self._key)

    def _many(self, items: Sequence[Mapping[str, Any]]) -> list[Any]:
        requests = [
            {"history": [{"text": item.get("prompt") or "", "video_path": item["path"]}], "required_rewards": []}
            for item in items
        ]
        answer = self._post(json.dumps({"requests": requests}).encode())
        if not isinstance(answer, Mapping) or len(answer.get("results") or ()) != len(items):
            raise RefusedError("no list of results, one a request")
        values = []
        for result, errors in zip(answer["results"], answer.get("errors") or [{}] * len(items), strict=True):
            flat: dict[str, Any] = {}
            for name, of in (result or {}).items():
                parts = (
                    {f"{name}.{part}": score for part, score in of.items()} if isinstance(of, Mapping) else {name: of}
                )
                flat |= {key: score for key, score in parts.items() if score is not None}
            values.append(flat or RefusedError(str(errors)[:_TEXT]))
        return values

    def call(self, route: str, items: Sequence[Mapping[str, Any]], omit: Sequence[str]) -> list[dict[str, Any]]:
        """Return an answer for each item."""
        items = [{**item, **dict.fromkeys(omit)} for item in items]
        values = self._many(items) if route == "paths" else None

        def one(number: int) -> Any:
            value = values[number] if values is not None else self._one(items[number])
            if isinstance(value, RefusedError):
                raise value
            return value

        return [answered(partial(one, n)) for n in range(len(items))]


def metric_target(spec: Mapping[str, Any]) -> Any:
    """Return metrics and baselines of vmmetrics as a target, by the module that loads them."""
    return importlib.import_module(spec["loader"]).MetricTarget(spec)


TARGETS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "function": FunctionTarget, "command": CommandTarget, "http": HttpTarget, "metric": metric_target,
}  # fmt: skip


# The process: its limits, its channel, and one call after another.


def limit(memory: int, file_size: int) -> None:
    """Bound data and files of this process and those it starts, in bytes, and end with the parent."""
    for name, most in (("RLIMIT_DATA", memory), ("RLIMIT_FSIZE", file_size), ("RLIMIT_CORE", 0)):
        with contextlib.suppress(ValueError, OSError):  # macOS bounds no data
            resource.setrlimit(getattr(resource, name), (most, most))
    if sys.platform == "linux":
        _end_with_parent(signal.SIGKILL)


def watch() -> None:
    """Start a process that ends this one's group once this one is gone: children outlive a parent that is killed."""
    group = os.getpid()
    if sys.platform != "linux" or os.getpgrp() != group or os.fork():
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    _end_with_parent(signal.SIGTERM)
    if os.getppid() == group:
        signal.sigwait({signal.SIGTERM})
    os.killpg(group, signal.SIGKILL)


def _end_with_parent(by: signal.Signals) -> None:
    ctypes.CDLL(None).prctl(1, by)  # PR_SET_PDEATHSIG


def main() -> None:
    """Answer line after line until standard input ends."""
    source = os.fdopen(os.dup(0), "rb")
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")  # halves of surrogate pairs
    log = os.open("output.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for own, other in ((0, nothing), (1, log), (2, log)):
        os.dup2(own if own == other else other, own)
    spec = json.loads(source.readline())
    limit(spec["memory"], spec["file_size"])
    watch()
    sys.path[:] = [*spec["paths"], *sys.path[1:]]  # without the folder of this script
    try:
        target = TARGETS[spec["kind"]](spec)
    except BaseException as error:
        _send(channel, {"setup": text_of(error)})
        return
    _send(channel, {"ready": target.describe()})
    for line in source:
        call = json.loads(line)
        try:
            answers = target.call(call["route"], call["items"], call.get("omit", ()))
            answer: dict[str, Any] = {"answers": [_labelled(of, spec["label"]) for of in answers]}
        except Exception as error:
            answer = {"error": text_of(error)}
        if os.fstat(log).st_size > spec["file_size"] // 2:
            os.ftruncate(log, 0)  # what one call printed leaves room for the next
        _send(channel, answer)


def _labelled(answer: dict[str, Any], label: str) -> dict[str, Any]:
    """Return an answer whose one number, which has no name, is called by the label."""
    scores = answer.get("scores", {})
    return {**answer, "scores": {name or label: value for name, value in scores.items()}} if scores else answer


def _send(channel: IO[str], answer: Mapping[str, Any]) -> None:
    channel.write(json.dumps(answer, default=str, ensure_ascii=False) + "\n")
    channel.flush()


if __name__ == "__main__":
    main()
