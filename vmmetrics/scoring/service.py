"""HTTP server of rewards (``vmmetrics serve``): an ASGI application, and its start. Needs the extra ``serve``."""

from __future__ import annotations

import asyncio
import math
import secrets
import signal
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from itertools import count
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from vmmetrics.errors import BusyError, SetupError
from vmmetrics.metrics.registry import registered
from vmmetrics.scoring.engine import Engine
from vmmetrics.scoring.records import index_origins
from vmmetrics.scoring.reward_forms import (
    VERSION,
    Health,
    Offer,
    Problem,
    RewardsRequest,
    ScoreRequest,
    offered,
    openapi,
)
from vmmetrics.scoring.reward_groups import RewardError, ScoredSample
from vmmetrics.scoring.sample_queue import SampleQueue
from vmmetrics.scoring.tasks import Task
from vmmetrics.utils import request_rules
from vmmetrics.utils.request_rules import RefusedError, check_host, check_origin
from vmmetrics.utils.schema import convert, parse_json, plain
from vmmetrics.utils.server import listener
from vmmetrics.video.content import InlineClip

_File = tuple[str, bytes]
_REFUSED_SECONDS = 2.0  # in which a refused body is read: a client reset while it sends sees no reason
_CLOSE = {"Connection": "close"}  # else the server would read the rest of a refused body
_LEFT = 499  # as other servers count requests whose client left


class Service:
    """ASGI application that scores samples: ``POST /score``, ``GET /health``, ``/rewards``, ``/metrics``.

    Args:
        engine: Scores; closed with the service.
        metrics: What it scores.
        label: Preset and protocol, in words.
        queue: Samples that may wait; more are refused (429).
        deadline: Seconds for a request, its body included (504).
        max_bytes: Bytes of a body (413).
        key: Key that requests must bring, but for ``/health``; None takes requests to names of this machine alone.
        roots: Folders below which clips may be named by path.

    Attributes:
        stopping: True refuses what has not been accepted yet (503).
    """

    def __init__(
        self,
        engine: Engine,
        metrics: tuple[str, ...],
        label: str,
        *,
        queue: int = 256,
        deadline: float = 300.0,
        max_bytes: int = 2**28,
        key: str | None = None,
        roots: Sequence[Path] = (),
    ) -> None:
        self.stopping, self.deadline = False, deadline
        self._queue = SampleQueue(engine, queue)
        known = registered()
        origins = index_origins({key: known[key].describe() for key in metrics})
        self._metrics, self._label = metrics, "; ".join([label, *origins.values()])
        self._rewards = offered(metrics)
        self._max_bytes, self._key = max_bytes, key
        self._roots = [root.resolve() for root in roots]
        self._numbers = count(1)
        self._answers: Counter[int] = Counter()
        self._scored, self._failed, self._seconds = 0, 0, 0.0
        self._headers = request_rules.headers("default-src 'none'")
        self._description = openapi()
        self._app = Starlette(
            routes=[
                Route("/score", self._score, methods=["POST"]),
                Route("/health", self._health),
                Route("/rewards", lambda _: JSONResponse(plain(Offer(list(self._rewards))))),
                Route("/metrics", self._counts),
                Route("/openapi.json", lambda _: JSONResponse(self._description)),
            ],
            exception_handlers={
                HTTPException: lambda _, error: _problem(error.status_code, error.detail, error.headers),
                BusyError: lambda _, error: _problem(429, str(error), {"Retry-After": str(self._retry_after)}),
                SetupError: lambda _, error: _problem(503, str(error)),
                RewardError: lambda _, error: _problem(422, str(error)),
                Exception: lambda *_: _problem(500, "a fault of the server; its log has more"),
            },
        )

    @property
    def end(self) -> SetupError | None:
        """Reason why nothing is scored any more, or None."""
        return self._queue.end

    def close(self) -> None:
        """Stop at once."""
        self._queue.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        status: int | None = None

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._answers[status] += 1
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        try:
            if scope["type"] == "http":
                self._check(Headers(scope=scope), scope["path"])
        except RefusedError as refused:
            await _drain(receive)
            headers = {"WWW-Authenticate": "Bearer"} if refused.status == HTTPStatus.UNAUTHORIZED else {}
            await _problem(refused.status, refused.status.phrase, headers | _CLOSE)(scope, receive, counted)
        else:
            try:
                await self._app(scope, receive, counted)
            except asyncio.CancelledError:  # how the proxies of Ray Serve may tell that a client left
                if status is None:
                    self._answers[_LEFT] += 1
                raise

    def _check(self, headers: Headers, path: str) -> None:
        """Refuse what has no key where there is one, and what pages of other sites make a browser send."""
        if self._key is None:
            check_origin(headers.get("Origin"), check_host(headers.getlist("Host")))
        elif path != "/health":
            kind, _, key = headers.get("Authorization", "").partition(" ")
            if kind.lower() != "bearer" or not secrets.compare_digest(key.strip().encode(), self._key.encode()):
                raise RefusedError(HTTPStatus.UNAUTHORIZED)

    async def _score(self, request: Request) -> Response:
        futures: list[asyncio.Future[ScoredSample]] = []
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.deadline):
                asked, tasks = await self._read(request)
                if self.stopping:
                    raise HTTPException(503, "the server stops")
                if len(tasks) > self._queue.size:
                    raise HTTPException(413, f"at most {self._queue.size} samples a request, but got {len(tasks)}")
                futures += map(asyncio.wrap_future, self._queue.put(tasks))
                samples = await _unless_left(request.receive, futures)
        except TimeoutError:
            done = sum(future.done() and not future.cancelled() for future in futures)
            text = f"{done} of {len(futures)} samples were scored within {self.deadline:g} s; send fewer"
            raise HTTPException(504, text if futures else f"no request came within {self.deadline:g} s") from None
        except ClientDisconnect:  # nobody reads why; the status is counted
            raise HTTPException(_LEFT, "the client left") from None
        failed = sum(one.record.error is not None for one in samples)
        self._scored, self._failed = self._scored + len(samples) - failed, self._failed + failed
        self._seconds += time.monotonic() - began
        return JSONResponse(plain(asked.answer(samples)))

    async def _read(self, request: Request) -> tuple[ScoreRequest | RewardsRequest, list[Task]]:
        """Return a request and its samples; what is wrong with the whole of it is an HTTP error."""
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > self._max_bytes:
                body.clear()
                await _drain(request.receive)
                raise HTTPException(413, f"expected a body up to {self._max_bytes} bytes", _CLOSE)
        kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        try:
            if kind == "multipart/form-data":
                form = self._form(request, bytes(body))  # in a loop of its own: parsing holds up the others
                return await asyncio.to_thread(lambda: self._tasks(*asyncio.run(form)))
            if kind == "application/json":
                return await asyncio.to_thread(self._tasks, bytes(body))
        except ValueError as error:
            raise HTTPException(422, str(error)) from error
        raise HTTPException(415, "expected application/json or multipart/form-data")

    async def _form(self, request: Request, body: bytes) -> tuple[dict[str, Any], list[_File]]:
        """Return a multipart body as the plain form, and its files."""

        async def whole() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async with Request(request.scope, whole).form(max_files=self._queue.size) as form:
            clips = form.getlist("clip")
            files = [(one.filename or "", await one.read()) for one in clips if isinstance(one, UploadFile)]
            texts = {name: [one for one in form.getlist(name) if isinstance(one, str)] for name in form}
        if not files or len(files) != len(clips):
            raise ValueError("clip: expected files")
        value: dict[str, Any] = {"clips": [{} for _ in files]}
        for name in ("prompt", "group"):
            given = texts.get(name, [])
            if len(given) not in (0, len(files)):
                raise ValueError(f"{name}: expected none, or one for each of {len(files)} clips, but got {len(given)}")
            for clip, text in zip(value["clips"], given, strict=False):
                clip[name] = text
        for name in ("fps", "weights", "missing", "collapsed"):
            for text in texts.get(name, ()):
                value[name] = parse_json(text) if name in ("fps", "weights") else text
        return value, files

    def _tasks(
        self, body: bytes | dict[str, Any], files: Sequence[_File] = ()
    ) -> tuple[ScoreRequest | RewardsRequest, list[Task]]:
        """Return a request and its samples, from JSON or from the plain form with its files.

        Raises:
            ValueError: A value is wrong.
        """
        if isinstance(body, bytes):
            try:
                body = parse_json(body)
            except ValueError as error:
                raise HTTPException(400, f"not JSON: {error}") from error
        asked: ScoreRequest | RewardsRequest
        if isinstance(body, dict) and "clips" in body:
            asked = convert(RewardsRequest, body)
        else:
            asked = convert(ScoreRequest, body)
        asked.check(self._rewards)
        tasks = []
        for number, (text, path, prompt) in enumerate(asked.media):
            task = Task(f"sample-{next(self._numbers):06d}", None, None, self._metrics, prompt or None, fps=asked.fps)
            if files:
                name, content = files[number]
                task = replace(task, clip=f"{task.clip}: {Path(name).name}", in_memory=InlineClip(content))
            elif path is not None and text is None:
                opened, root = self._opened(path)
                task = replace(task, clip=f"{task.clip}: {opened.name}", path=opened, root=root)
            elif text is not None and path is None:
                task = replace(task, in_memory=InlineClip(b64decode(text, validate=True)))
            else:
                raise ValueError(f"sample {number}: expected a video, either in base64 or as a path")
            tasks.append(task)
        return asked, tasks

    def _opened(self, text: str) -> tuple[Path, Path]:
        """Return a path, links resolved, and the folder that opens it."""
        path = Path(text).resolve()
        for root in self._roots:
            if path.is_relative_to(root):
                return path, root
        raise HTTPException(403, "the path is not below a folder given by --root")

    @property
    def _retry_after(self) -> int:
        """Seconds until there may be room, from those of the requests so far."""
        return max(1, math.ceil(self._seconds / max(1, self._answers[200])))

    async def _health(self, _: Request) -> Response:
        status = "stopping" if self.stopping else "ok" if self.end is None else str(self.end)
        ready = {key: ["ready" if status == "ok" else "stopped"] for key in self._rewards}
        return JSONResponse(plain(Health(status, ready, VERSION, self._label)), 200 if status == "ok" else 503)

    async def _counts(self, _: Request) -> Response:
        """Return counts as Prometheus reads them."""
        answers = [(f'{{status="{status}"}}', number) for status, number in sorted(self._answers.items())]
        samples = [('{result="scored"}', self._scored), ('{result="failed"}', self._failed)]
        lines = []
        for name, kind, text, rows in (
            ("requests_total", "counter", "Answers by status.", answers),
            ("samples_total", "counter", "Samples answered.", samples),
            ("request_seconds_total", "counter", "Seconds of answered requests.", [("", self._seconds)]),
            ("queue_samples", "gauge", "Samples that wait.", [("", len(self._queue))]),
        ):
            lines += [f"# HELP vmmetrics_{name} {text}", f"# TYPE vmmetrics_{name} {kind}"]
            lines += [f"vmmetrics_{name}{labels} {value}" for labels, value in rows]
        return PlainTextResponse("\n".join([*lines, ""]), headers={"Content-Type": "text/plain; version=0.0.4"})


async def _drain(receive: Receive) -> None:
    """Read what is left of a body that is refused, for a while."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_REFUSED_SECONDS):
            while (await receive()).get("more_body"):
                pass


async def _unless_left(receive: Receive, futures: Sequence[asyncio.Future[ScoredSample]]) -> list[ScoredSample]:
    """Return the samples of a request whose body was read; they are cancelled where its client leaves.

    Raises:
        ClientDisconnect: It left.
    """

    async def leave() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    samples, left = asyncio.gather(*futures), asyncio.ensure_future(leave())
    waited: set[asyncio.Future[Any]] = {samples, left}
    try:
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if not samples.done():
            raise ClientDisconnect
        return samples.result()
    finally:
        for future in futures:  # of which one may have failed
            future.cancel()
        left.cancel()


def _problem(status: int, detail: str, headers: Any = None) -> Response:
    return JSONResponse(plain(Problem(detail)), status, headers=headers)


def run(service: Service, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM: what was accepted is answered, the rest refused; a second SIGINT ends it at once.

    Args:
        service: What to serve; closed at the end.
        host: Address to listen on.
        port: Port; 0 takes a free one.
        announce: Receives the URL.

    Raises:
        SetupError: The address is taken, or there is none, or nothing can be scored any more.
    """
    import uvicorn

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: Any) -> None:
            if service.stopping and sig == signal.SIGINT:
                raise KeyboardInterrupt
            service.stopping = True
            super().handle_exit(sig, frame)

        async def on_tick(self, counter: int) -> bool:
            return await super().on_tick(counter) or service.end is not None

    try:
        with listener(host, port) as taken:
            config = uvicorn.Config(
                service, log_level="warning", access_log=False, lifespan="off", ws="none", server_header=False,
                proxy_headers=False, timeout_graceful_shutdown=math.ceil(service.deadline) + 1,
            )  # fmt: skip
            announce(f"http://{f'[{host}]' if ':' in host else host}:{taken.getsockname()[1]}")
            Server(config).run(sockets=[taken])
        if service.end is not None:
            raise service.end
    finally:
        service.close()
