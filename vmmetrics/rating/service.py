"""HTTP server of a study (``vmmetrics rate serve``): the raters' page, and the owner's on a port of its own.

The owner's page is answered on the loopback address alone, by another port than the raters'; so a rater's key reaches
none of it, whatever proxy stands before the raters' port. Needs the extra ``serve``.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from vmmetrics.errors import SetupError
from vmmetrics.rating.address import Address
from vmmetrics.rating.export import summary
from vmmetrics.rating.journal import ANSWERS, AnswerJournal, read_state
from vmmetrics.rating.page import study_page
from vmmetrics.rating.results import Results
from vmmetrics.rating.sessions import Consent, RaterSessions, RefusedStepError
from vmmetrics.utils.request_rules import HOST, NAMES, RefusedError, body_size, check_host, check_origin, headers
from vmmetrics.utils.schema import convert, parse_json, plain
from vmmetrics.utils.storage.journal import Line

MAX_BYTES = 16_384
"""Bytes of a body; an answer has about 800."""
COOKIE = "rater"
_ASSETS = {
    "rating/page": ("rate.js", "transport.js", "rate.css", "owner.js", "player.js", "marks.js"),
    "viewer/page": ("core.js", "style.css"),
}
_KINDS = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src blob:; connect-src 'self'"
)
_BURST, _BURST_SECONDS = 300, 10.0  # requests of one rater in so many seconds; a trial takes 4
_STATUS = {"unknown": 401, "invalid": 422, "consent": 403, "early": 425}
_OWNER_PAUSE = 10  # times as long as they took figures of the owner's page are kept
_STOP_SECONDS = 10


class Service:
    """ASGI application of a study.

    Args:
        journal: Its answers, open.
        address: Where raters reach it.
        owner_port: Port at which the owner's page is answered.

    Attributes:
        fault: Reason why nothing is written any more, or None.
    """

    def __init__(self, journal: AnswerJournal, address: Address, owner_port: int) -> None:
        self.journal, self.study = journal, journal.study
        self.sessions = RaterSessions(journal)
        self.fault: SetupError | None = None
        self._address, self._owner_port = address, owner_port
        self._keys, self._headers = self.study.keys, headers(_POLICY)
        self._recent: dict[str, deque[float]] = {}
        self._pending: list[tuple[list[Line], asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None
        self._figures: tuple[float, int, dict[str, Any]] = -1.0, -1, {}  # until when, of what size, and they
        self._figuring = asyncio.Lock()
        self._assets = {
            f"{folder}/{name}": files(f"vmmetrics.{folder.partition('/')[0]}").joinpath("page", name).read_bytes()
            for folder, names in _ASSETS.items() for name in names
        }  # fmt: skip
        self._pages = {name: files("vmmetrics.rating").joinpath("page", f"{name}.html").read_bytes() for name in
                       ("rate", "owner")}  # fmt: skip
        self._raters = Starlette(
            routes=[
                Route("/app/{path:path}", self._asset),
                Route("/s/{key}", self._page),
                Route("/s/{key}/study", self._texts),
                Route("/s/{key}/state", self._state),
                Route("/s/{key}/clip/{name}", self._clip),
                *(
                    Route(f"/s/{{key}}/{name}", step, methods=["POST"])
                    for name, step in (
                        ("begin", self._begin), ("resume", self._resume), ("answer", self._answer),
                        ("further", self._further), ("withdraw", self._withdraw),
                    )
                ),
            ],
            exception_handlers=_HANDLERS,
        )  # fmt: skip
        self._owner = Starlette(
            routes=[
                Route("/app/{path:path}", self._asset),
                Route("/o/{key}", self._owner_page),
                Route("/o/{key}/figures", self._owner_figures),
            ],
            exception_handlers=_HANDLERS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        of_owner = (scope.get("server") or ("", 0))[1] == self._owner_port
        try:
            self._check(Headers(scope=scope), scope["method"], of_owner)
        except RefusedError as refused:
            await PlainTextResponse(refused.status.phrase, refused.status, {"Connection": "close"})(
                scope, receive, with_headers
            )
            return
        await (self._owner if of_owner else self._raters)(scope, receive, with_headers)

    def _check(self, given: Headers, method: str, of_owner: bool) -> None:
        """Refuse other hosts' names, what pages of other sites send, and bodies that are large or no JSON."""
        public = "" if of_owner else self._address.public
        host = check_host(given.getlist("Host"), names=NAMES if of_owner else self._address.names)
        if of_owner and any(name in given for name in ("Forwarded", "X-Forwarded-For", "X-Real-IP")):
            raise RefusedError(HTTPStatus.FORBIDDEN)  # a proxy was pointed at the owner's port
        if method == "POST":
            scheme = "https" if public or self._address.certificate is not None else "http"
            named = urlsplit(public).netloc.lower().removesuffix(":443")  # as browsers write it
            check_origin(given.get("Origin"), named or host, scheme)
            if given.get("Sec-Fetch-Site") not in (None, "same-origin"):
                raise RefusedError(HTTPStatus.FORBIDDEN)
            if given.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
                raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
            if body_size(given.get("Content-Length")) > MAX_BYTES:
                raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

    # What raters ask.

    async def _asset(self, request: Request) -> Response:
        path = request.path_params["path"]
        if path not in self._assets:
            raise HTTPException(404)
        return Response(self._assets[path], media_type=_KINDS[path[path.rindex(".") :]])

    async def _page(self, request: Request) -> Response:
        self._check_key(request, "raters")
        return Response(self._pages["rate"], media_type="text/html; charset=utf-8")

    async def _texts(self, request: Request) -> Response:
        """Answer with what every rater sees: texts, questions, scale; nothing of a clip."""
        self._check_key(request, "raters")
        return JSONResponse(study_page(self.sessions.design))

    async def _state(self, request: Request) -> Response:
        token = self._token(request)
        await self._written([])
        return JSONResponse(self.sessions.view(token, request.query_params))

    async def _begin(self, request: Request) -> Response:
        self._check_key(request, "raters")
        self._limit("begin")
        asked = convert(Consent, await _body(request))
        try:
            lines = self.sessions.begin(asked)
        except SetupError as error:  # the disk takes no participant, and will take no answers
            self.fault = error
            raise
        await self._written(lines)
        return self._with_cookie(JSONResponse(self.sessions.view(asked.token)), asked.token)

    async def _resume(self, request: Request) -> Response:
        """Give the key of a rater's link to the browser that brings it."""
        self._check_key(request, "raters")
        self._limit("resume")
        token = str((await _body(request)).get("token"))
        if self.sessions.session(token) is None:
            raise RefusedStepError("unknown")
        await self._written([])
        return self._with_cookie(JSONResponse(self.sessions.view(token)), token)

    async def _answer(self, request: Request) -> Response:
        token, body = await self._sent(request)
        await self._written(self.sessions.answer(token, body))
        return JSONResponse(self.sessions.view(token))

    async def _further(self, request: Request) -> Response:
        token, _ = await self._sent(request)
        await self._written(self.sessions.further(token))
        return JSONResponse(self.sessions.view(token))

    async def _withdraw(self, request: Request) -> Response:
        token, _ = await self._sent(request)
        await self._written(self.sessions.withdraw(token))
        return JSONResponse(self.sessions.view(token))

    async def _clip(self, request: Request) -> Response:
        identity = self.sessions.clip(self._token(request), request.path_params["name"])
        if identity is None:
            raise HTTPException(404)
        return FileResponse(self.study.media(identity), media_type="video/mp4", headers=_UNTOLD)

    def _check_key(self, request: Request, which: str) -> None:
        key = str(request.path_params["key"]).encode("utf-8", "replace")
        if not secrets.compare_digest(key, self._keys[which].encode()):
            raise HTTPException(404)

    def _token(self, request: Request) -> str:
        """Return the rater's key in the cookie."""
        self._check_key(request, "raters")
        token = request.cookies.get(COOKIE, "")
        self._limit(token or "nobody")
        return token

    async def _sent(self, request: Request) -> tuple[str, dict[str, Any]]:
        """Return the rater's key and what the page sends, of the session that it shows."""
        token, body = self._token(request), await _body(request)
        self.sessions.check_shown(token, body.get("session"))
        return token, body

    def _limit(self, who: str) -> None:
        """Refuse more requests of one rater than a page sends; of those without a key together."""
        moment = asyncio.get_running_loop().time()
        if len(self._recent) > 10_000:
            self._recent.clear()
        recent = self._recent.setdefault(who, deque(maxlen=_BURST))
        if len(recent) == _BURST and moment - recent[0] < _BURST_SECONDS:
            raise HTTPException(429, headers={"Retry-After": "5"})
        recent.append(moment)

    def _with_cookie(self, response: Response, token: str) -> Response:
        secure = bool(self._address.public)
        response.set_cookie(
            COOKIE, token, max_age=30 * 86_400, path=f"/s/{self._keys['raters']}", secure=secure, httponly=True,
            samesite="strict",
        )  # fmt: skip
        return response

    # Answers to the disk: those that come while others are written go together.

    async def _written(self, lines: list[Line]) -> None:
        """Return once lines are on the disk, and all before them: an answer that is sent again may still be on its way.

        Raises:
            SetupError: They never will be.
        """
        if self.fault is not None:
            raise self.fault
        idle = self._writer is None or self._writer.done()
        if idle and not lines:
            return
        done = asyncio.get_running_loop().create_future()
        self._pending.append((lines, done))
        if idle:
            self._writer = asyncio.create_task(self._write())
        await asyncio.shield(done)

    async def _write(self) -> None:
        while self._pending:
            batch, self._pending = self._pending, []
            try:
                await asyncio.to_thread(self.journal.write, [line for lines, _ in batch for line in lines])
            except (SetupError, OSError, ValueError) as error:  # the state has answers that the disk lacks
                self.fault = error if isinstance(error, SetupError) else SetupError(str(error))
            for _, done in batch:
                if not done.done():
                    if self.fault is None:
                        done.set_result(None)
                    else:
                        done.set_exception(self.fault)

    # What the owner asks.

    async def _owner_page(self, request: Request) -> Response:
        self._check_key(request, "owner")
        return Response(self._pages["owner"], media_type="text/html; charset=utf-8")

    async def _owner_figures(self, request: Request) -> Response:
        self._check_key(request, "owner")
        async with self._figuring:
            moment = asyncio.get_running_loop().time()
            until, of_size, figures = self._figures
            size = path.stat().st_size if (path := self.study.path / ANSWERS).exists() else 0
            if moment > until and (size != of_size or figures["open"]):  # sessions lapse without a line
                # from the disk: answers go on meanwhile
                figures = await asyncio.to_thread(lambda: summary(Results.of(self.study, read_state(self.study))))
                ended = asyncio.get_running_loop().time()
                self._figures = ended + _OWNER_PAUSE * (ended - moment), size, figures
        settings = self.study.settings
        pay = {"pay": settings.pay, "currency": settings.currency}
        return JSONResponse(plain(figures | pay | {"design": settings.design, "path": self.study.path.name}))


_UNTOLD = {"Content-Disposition": "inline", "ETag": "", "Last-Modified": ""}  # of the file, these tell clips apart


async def _body(request: Request) -> dict[str, Any]:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BYTES:
            raise HTTPException(413)
    try:
        value = parse_json(bytes(body))
    except ValueError as error:
        raise HTTPException(400) from error
    if not isinstance(value, dict):
        raise HTTPException(422)
    return value


def _problem(status: int, reason: str, more: Any = None) -> Response:
    return JSONResponse({"reason": reason}, status, headers=more)


async def _of_http(_: Request, error: HTTPException) -> Response:
    return _problem(error.status_code, HTTPStatus(error.status_code).phrase, error.headers)


async def _of_step(_: Request, error: Exception) -> Response:
    return _problem(_STATUS.get(str(error), 409), str(error))


async def _of_value(_: Request, error: Exception) -> Response:
    return _problem(422, str(error))


async def _of_disk(_: Request, error: Exception) -> Response:  # noqa: ARG001
    return _problem(503, "disk")


_HANDLERS: Any = {
    HTTPException: _of_http, RefusedStepError: _of_step, ValueError: _of_value, SetupError: _of_disk,
}  # fmt: skip


def run(journal: AnswerJournal, address: Address, announce: Callable[[str, str], None]) -> None:
    """Serve a study until SIGINT or SIGTERM; answers on their way are written first.

    Args:
        journal: Its answers, open; closed at the end.
        address: Where.
        announce: Receives the raters' link and the owner's.

    Raises:
        SetupError: A port is taken, or answers cannot be written any more.
    """
    import uvicorn

    from vmmetrics.utils.server import listener

    address.check()
    with (
        journal,
        listener(address.host, address.port) as open_to_raters,
        listener(HOST, address.owner_port) as open_to_owner,
    ):
        service = Service(journal, address, open_to_owner.getsockname()[1])

        class Server(uvicorn.Server):
            async def on_tick(self, counter: int) -> bool:
                return await super().on_tick(counter) or service.fault is not None

        config = uvicorn.Config(
            service, log_level="warning", access_log=False, lifespan="off", ws="none", server_header=False,
            proxy_headers=False, date_header=False, timeout_graceful_shutdown=_STOP_SECONDS, limit_concurrency=2000,
            ssl_certfile=address.certificate, ssl_keyfile=address.key,
        )  # fmt: skip
        scheme = "http" if address.certificate is None else "https"
        host = f"[{address.host}]" if ":" in address.host else address.host
        base = address.public.rstrip("/") or f"{scheme}://{host}:{open_to_raters.getsockname()[1]}"
        owner = f"{scheme}://{HOST}:{open_to_owner.getsockname()[1]}"
        announce(f"{base}/s/{service.study.keys['raters']}", f"{owner}/o/{service.study.keys['owner']}")
        Server(config).run(sockets=[open_to_raters, open_to_owner])
        if service.fault is not None:
            raise service.fault
