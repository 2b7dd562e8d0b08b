"""The server of a study: what is answered to whom, what is refused, and what survives a kill."""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import rating_load
from tests.rating.made import body, study
from vmmetrics.errors import SetupError
from vmmetrics.rating.address import Address
from vmmetrics.rating.journal import AnswerJournal, read_state

httpx = pytest.importorskip("httpx")
service_module = pytest.importorskip("vmmetrics.rating.service")

OWNER = 9999
PUBLIC = "https://rate.example.org"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Any]:
    with AnswerJournal(study(tmp_path, items=6, votes=9, pay=2.0, ethics="IRB 7")) as journal:
        made = service_module.Service(journal, Address(), OWNER)
        made.sessions._clock = None
        yield made


def ask(service: Any, method: str, path: str, port: int = 8080, cookie: str = "", **options: Any) -> Any:
    headers = {"Cookie": f"rater={cookie}"} if cookie else {}

    async def request() -> Any:
        transport = httpx.ASGITransport(service, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{port}") as client:
            options["headers"] = headers | options.get("headers", {})
            return await client.request(method, path, **options)

    return asyncio.run(asyncio.wait_for(request(), 30))


def base(service: Any) -> str:
    return f"/s/{service.study.keys['raters']}"


def owner(service: Any) -> str:
    return f"/o/{service.study.keys['owner']}"


def begin(service: Any, **more: Any) -> tuple[str, Any]:
    token = secrets.token_hex(16)
    asked = {"token": token, "consent": service.study.consent, "of_age": True}
    return token, ask(service, "POST", f"{base(service)}/begin", json=asked, **more)


def test_a_whole_session(service: Any) -> None:
    page = ask(service, "GET", base(service))
    assert page.status_code == 200 and "script-src 'self'" in page.headers["Content-Security-Policy"]
    assert "unsafe" not in page.headers["Content-Security-Policy"]
    for name in ("rating/page/rate.js", "rating/page/player.js", "viewer/page/core.js", "viewer/page/style.css"):
        assert f"/app/{name}" in page.text or name.endswith((".js", "style.css"))
        assert ask(service, "GET", f"/app/{name}").status_code == 200
    texts = ask(service, "GET", f"{base(service)}/study").json()
    assert texts["texts"]["consent_contact"] == "Contact: lab@example.org IRB 7"
    assert texts["texts"]["consent_flashing"] == ""
    token, begun = begin(service)
    cookie = begun.headers["Set-Cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", f"Path={base(service)}", token))
    view = begun.json()
    session = service.sessions.session(token)
    while view["step"] == "trial":
        clip = ask(service, "GET", f"{base(service)}/clip/{view['trial']['media'][0]}", cookie=token)
        assert clip.content == service.study.media(session.trials[view["number"]].media[0]).read_bytes()
        assert clip.headers["Cache-Control"] == "no-store" and not clip.headers.get("ETag")
        answer = ask(service, "POST", f"{base(service)}/answer", cookie=token, json=body(session, view["number"], 3))
        assert answer.status_code == 200
        view = answer.json()
    assert view["step"] == "done"
    assert read_state(service.study).sessions[session.session].finished


def test_clips_are_sent_in_parts(service: Any) -> None:
    token, begun = begin(service)
    name = begun.json()["trial"]["media"][0]
    part = ask(service, "GET", f"{base(service)}/clip/{name}", cookie=token, headers={"Range": "bytes=0-9"})
    assert part.status_code == 206 and len(part.content) == 10


def test_the_link_resumes_and_any_other_key_does_not(service: Any) -> None:
    token, _ = begin(service)
    resumed = ask(service, "POST", f"{base(service)}/resume", json={"token": token})
    assert resumed.json()["step"] == "trial" and token in resumed.headers["Set-Cookie"]
    assert ask(service, "POST", f"{base(service)}/resume", json={"token": secrets.token_hex(16)}).status_code == 401
    for path in ("answer", "further", "withdraw"):
        assert ask(service, "POST", f"{base(service)}/{path}", json={}, cookie="0" * 32).status_code == 401
    assert ask(service, "GET", f"{base(service)}/state").json()["step"] == "consent"


def test_a_page_that_shows_another_session_changes_nothing(service: Any) -> None:
    first, begun = begin(service)
    second, _ = begin(service)  # in another tab: its key is the cookie now
    shown, other = service.sessions.session(first), service.sessions.session(second)
    assert begun.json()["session"] == shown.session
    for path, sent in (("answer", body(shown, 0, 3)), ("withdraw", {"session": shown.session}), ("further", {})):
        refused = ask(service, "POST", f"{base(service)}/{path}", cookie=second, json=sent)
        assert (refused.status_code, refused.json()["reason"]) == (409, "other_session")
    assert shown.next == other.next == 0 and not other.withdrawn
    assert ask(service, "POST", f"{base(service)}/answer", cookie=second, json=body(other, 0, 3)).status_code == 200


def test_another_participant_at_the_same_browser_is_asked_for_consent(service: Any) -> None:
    token = secrets.token_hex(16)
    asked = {"token": token, "consent": service.study.consent, "of_age": True, "parameters": {"PROLIFIC_PID": "p1"}}
    ask(service, "POST", f"{base(service)}/begin", json=asked)
    steps = {
        link: ask(service, "GET", f"{base(service)}/state{link}", cookie=token).json()["step"]
        for link in ("", "?PROLIFIC_PID=p1", "?PROLIFIC_PID=p2", "?rapidata_user=p1")
    }
    assert list(steps.values()) == ["trial", "trial", "consent", "consent"]


def test_a_rater_reaches_nothing_of_the_owner_or_of_another(service: Any) -> None:
    token, begun = begin(service)
    other, _ = begin(service)
    name = begun.json()["trial"]["media"][0]
    assert ask(service, "GET", f"{base(service)}/clip/{name}", cookie=token).status_code == 200
    assert ask(service, "GET", f"{base(service)}/clip/{name}", cookie=other).status_code == 404
    assert ask(service, "GET", f"{base(service)}/clip/{name}").status_code == 404
    for path in (owner(service), f"{owner(service)}/figures", f"/o/{service.study.keys['raters']}", "/", "/study.json"):
        assert ask(service, "GET", path, cookie=token).status_code == 404  # at the raters' port
    for path in (f"/o/{service.study.keys['raters']}", f"/o/{token}/figures", base(service), f"{base(service)}/state"):
        assert ask(service, "GET", path, OWNER, cookie=token).status_code == 404
    assert ask(service, "GET", owner(service), OWNER).status_code == 200
    figures = ask(service, "GET", f"{owner(service)}/figures", OWNER).json()
    assert (figures["open"], figures["pay"], figures["votes_wanted"]) == (2, 2.0, 9)
    for field in ("Forwarded", "X-Forwarded-For"):
        assert ask(service, "GET", owner(service), OWNER, headers={field: "1.2.3.4"}).status_code == 403


def test_the_owners_figures_are_made_again_only_when_something_changed(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "_OWNER_PAUSE", 0)
    made = []
    monkeypatch.setattr(service_module, "summary", lambda results: {"open": results.open_sessions, "n": made.append(1)})
    for _ in range(3):
        ask(service, "GET", f"{owner(service)}/figures", OWNER)
    assert len(made) == 1
    begin(service)
    for _ in range(2):  # a session is open, and may lapse
        assert ask(service, "GET", f"{owner(service)}/figures", OWNER).json()["open"] == 1
    assert len(made) == 3


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Origin": "http://127.0.0.1:8080", "Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
def test_what_other_sites_send_is_refused(headers: dict[str, str], status: int, service: Any) -> None:
    asked = {"token": "0" * 32, "consent": service.study.consent, "of_age": True}
    content = json.dumps(asked).encode()
    given = {"Content-Type": "application/json"} | headers
    assert ask(service, "POST", f"{base(service)}/begin", content=content, headers=given).status_code == status
    assert len(service.sessions.state.sessions) == (status == 200)


def test_bodies_and_numbers_of_requests_are_bounded(service: Any) -> None:
    path = f"{base(service)}/begin"
    large = b'{"token":"' + b"0" * 20_000 + b'"}'
    kind = {"Content-Type": "application/json"}
    assert ask(service, "POST", path, content=large, headers=kind).status_code == 413

    async def chunks() -> Any:
        for _ in range(30):
            yield b"0" * 1000

    assert ask(service, "POST", path, content=chunks(), headers=kind).status_code == 413
    for content, status in ((b"{", 400), (b"[1]", 422), (b'{"token":1}', 422), (b'{"a":' * 3000, 400)):
        assert ask(service, "POST", path, content=content, headers=kind).status_code == status
    token, _ = begin(service)
    statuses = [ask(service, "GET", f"{base(service)}/state", cookie=token).status_code for _ in range(302)]
    assert statuses[0] == 200 and statuses[-1] == 429
    assert begin(service)[1].status_code == 200  # others go on


@pytest.mark.parametrize(
    "path", ["/app/../study.py", "/app/rating/page/texts.toml", "/app/rating/page/rate.html", "/app/%2e%2e/keys.json"]
)
def test_no_path_leads_to_other_files(path: str, service: Any) -> None:
    assert ask(service, "GET", path).status_code == 404


def test_a_wrong_key_is_no_study(service: Any) -> None:
    for path in ("/s/wrong", "/s/wrong/study", "/s/wrong/state", f"/s/{'ä' * 22}", "/s//study"):
        assert ask(service, "GET", path).status_code == 404


def test_behind_a_proxy_names_and_origins_are_the_public_ones(tmp_path: Path) -> None:
    with AnswerJournal(study(tmp_path)) as journal:
        made = service_module.Service(journal, Address("0.0.0.0", public=PUBLIC), OWNER)  # noqa: S104
        name = {"Host": "rate.example.org"}
        assert ask(made, "GET", base(made), headers=name).status_code == 200
        begun = begin(made, headers=name | {"Origin": PUBLIC})[1]
        assert begun.status_code == 200 and "Secure" in begun.headers["Set-Cookie"]
        assert begin(made, headers=name | {"Origin": "http://rate.example.org"})[1].status_code == 403
        assert ask(made, "GET", owner(made), OWNER, headers=name).status_code == 421


@pytest.mark.parametrize("public", ["https://Rate.Example.org", f"{PUBLIC}:443", f"{PUBLIC}/"])
def test_a_public_address_may_be_written_in_any_way(public: str, tmp_path: Path) -> None:
    with AnswerJournal(study(tmp_path)) as journal:
        made = service_module.Service(journal, Address(public=public), OWNER)
        assert begin(made, headers={"Host": "rate.example.org", "Origin": PUBLIC})[1].status_code == 200


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ({"host": "0.0.0.0"}, "other machines"),  # noqa: S104
        ({"public": "http://rate.example.org"}, "https"),
        ({"public": "https://rate.example.org/x?y"}, "such as"),
        ({"certificate": Path("c.pem")}, "go together"),
    ],
)
def test_others_are_not_served_in_the_clear(address: dict[str, Any], said: str) -> None:
    with pytest.raises(SetupError, match=said):
        Address(**address).check()
    Address("0.0.0.0", public=PUBLIC).check()  # noqa: S104


def test_a_full_disk_is_said_and_nothing_more_is_taken(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    token, _ = begin(service)
    session = service.sessions.session(token)

    def full(_: Any) -> None:
        raise SetupError("no space left")

    monkeypatch.setattr(service.journal, "write", full)
    for at in (0, 1):
        answer = ask(service, "POST", f"{base(service)}/answer", cookie=token, json=body(session, at, 3))
        assert answer.status_code == 503
    assert "no space" in str(service.fault)
    assert read_state(service.study).sessions[session.session].next == 0


def test_a_disk_that_takes_no_participant_ends_the_server(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("vmmetrics.rating.sessions.append_private", full)
    asked = {"token": "0" * 32, "consent": service.study.consent, "of_age": True, "parameters": {"PROLIFIC_PID": "p1"}}
    assert ask(service, "POST", f"{base(service)}/begin", json=asked).status_code == 503
    assert "No space" in str(service.fault)
    assert not service.sessions.state.sessions


def test_answers_at_once_are_written_together(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = [begin(service)[0] for _ in range(8)]
    written: list[int] = []
    write = service.journal.write

    def counted(lines: Any) -> None:
        written.append(len(lines))
        write(lines)

    monkeypatch.setattr(service.journal, "write", counted)

    async def all_at_once() -> list[int]:
        transport = httpx.ASGITransport(service)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as client:
            sent = [
                client.post(f"{base(service)}/answer", headers={"Cookie": f"rater={token}"},
                            json=body(service.sessions.session(token), 0, 3))
                for token in tokens
            ]  # fmt: skip
            return [answer.status_code for answer in await asyncio.gather(*sent)]

    assert asyncio.run(all_at_once()) == [200] * 8
    assert sum(written) == 8 and len(written) < 8
    assert all(session.next == 1 for session in read_state(service.study).sessions.values())


def test_an_answer_sent_again_waits_for_the_first_to_be_on_the_disk(service: Any, monkeypatch: Any) -> None:
    token, _ = begin(service)
    answer = body(service.sessions.session(token), 0, 3)
    on_disk, write, release = [], service.journal.write, threading.Event()

    def slowly(lines: Any) -> None:
        release.wait(10)
        write(lines)
        on_disk.append(True)

    monkeypatch.setattr(service.journal, "write", slowly)

    async def twice() -> list[bool]:
        transport = httpx.ASGITransport(service)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as client:
            path, headers = f"{base(service)}/answer", {"Cookie": f"rater={token}"}
            asked = [client.post(path, headers=headers, json=answer) for _ in range(2)]
            asked.append(client.get(f"{base(service)}/state", headers=headers))
            asked.append(client.post(f"{base(service)}/resume", json={"token": token}))
            sent = [asyncio.create_task(one) for one in asked]
            await asyncio.wait(sent, timeout=0.3)
            early = [one.done() for one in sent]
            release.set()
            await asyncio.gather(*sent)
            return early

    assert asyncio.run(twice()) == [False] * 4
    assert on_disk and read_state(service.study).sessions[service.sessions.session(token).session].next == 1


@pytest.mark.slow
def test_killed_at_random_it_loses_and_doubles_nothing(tmp_path: Path) -> None:
    made = rating_load.make_study(tmp_path, 12, items=8)
    load = rating_load.run(made, raters=4, sessions=8, kills=3, leave=0.05)
    assert (load.sessions, load.lost, load.doubled, load.unknown) == (8, 0, 0, 0)
    assert load.answers == sum(len(session.trials) for session in read_state(made).sessions.values()) >= 8 * 8
    assert load.resumed > 0
    assert load.kills > 0
