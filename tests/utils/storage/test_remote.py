from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.file_server import FileServer, serving
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.utils.storage import remote, scratch
from vmmetrics.utils.storage.addresses import address_of, masked, safe_name
from vmmetrics.utils.storage.remote import (
    ChangedError,
    RemoteError,
    download,
    files_below,
    looking_up,
    read_bytes,
    state_of,
    upload,
)
from vmmetrics.utils.storage.scratch import Scratch, ScratchError, ScratchFullError
from vmmetrics.utils.storage.state import FileState

UNKNOWN = FileState()
BODY = os.urandom(300_000)
SECRET = "AKIAEXAMPLE" + "SIGNATURE"


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PAUSE", 0.001)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as served:
        served.files["/a.mp4"] = BODY, "one"
        yield served


@pytest.fixture
def store() -> Any:
    return pytest.importorskip("fsspec").filesystem("memory")


@pytest.fixture
def bucket(store: Any) -> Iterator[str]:
    name = f"bucket-{uuid.uuid4().hex}"
    yield f"memory://{name}"
    if store.exists(f"/{name}"):
        store.rm(f"/{name}", recursive=True)


def fetch(uri: str, target: Path, expected: FileState = UNKNOWN) -> tuple[str, FileState]:
    return download(uri, target, expected, lambda _: None)


@pytest.mark.parametrize("faults", [[], [503], ["cut"], ["drop"], [429, "cut", "drop", 0.05]])
def test_what_passes_is_tried_again_and_the_hash_is_of_the_bytes(
    server: FileServer, tmp_path: Path, faults: list[object]
) -> None:
    server.faults["/a.mp4"] = list(faults)
    sha256, state = fetch(f"{server.url}/a.mp4", tmp_path / "a.mp4")
    assert (tmp_path / "a.mp4").read_bytes() == BODY
    assert sha256 == hashlib.sha256(BODY).hexdigest()
    assert (state.bytes, state.etag) == (len(BODY), "one")
    assert server.gets("/a.mp4") == 1 + sum(not isinstance(fault, float) for fault in faults)


def test_what_does_not_pass_says_why_once_and_leaves_nothing(server: FileServer, tmp_path: Path) -> None:
    signed = f"?X-Amz-Signature={SECRET}&X-Amz-Expires=60"
    cases = {"/gone.mp4": (1, "404: there is no such file"), "/a.mp4": (remote.TRIES, r"503 \(5 tries\)")}
    server.faults["/a.mp4"] = [503] * 9
    for path, (tries, reason) in cases.items():
        with pytest.raises(RemoteError, match=reason) as caught:
            fetch(server.url + path + signed, tmp_path / "a.mp4")
        assert SECRET not in str(caught.value)
        assert server.gets(path) == tries
    assert not list(tmp_path.iterdir())


def test_a_server_that_always_cuts_is_given_up_with_the_bytes_that_came(server: FileServer, tmp_path: Path) -> None:
    server.faults["/a.mp4"] = ["cut"] * 9
    with pytest.raises(RemoteError, match=r"150000 of 300000 bytes arrived \(5 tries\)"):
        fetch(f"{server.url}/a.mp4", tmp_path / "a.mp4")


def test_another_tag_or_size_than_the_listed_one_is_a_change(server: FileServer, tmp_path: Path) -> None:
    uri = f"{server.url}/a.mp4"
    listed = state_of(uri)
    assert listed is not None
    fetch(uri, tmp_path / "a.mp4", listed)
    server.files["/a.mp4"] = BODY[::-1], "two"
    with pytest.raises(ChangedError, match=r"changed since it was listed .then 300000 bytes, tag one, now .* tag two"):
        fetch(uri, tmp_path / "b.mp4", listed)
    assert not (tmp_path / "b.mp4").exists()


def test_a_file_replaced_while_it_is_read_is_a_change(
    store: Any, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(BODY, f"{bucket}/a.mp4")
    states = iter([FileState(len(BODY), 0, "one"), FileState(len(BODY), 0, "two")])
    monkeypatch.setattr(remote, "state_of_info", lambda _: next(states))
    with pytest.raises(ChangedError, match="replaced while it was read"):
        fetch(f"{bucket}/a.mp4", tmp_path / "a.mp4")
    assert not list(tmp_path.iterdir())


class ContentLengthError(Exception):
    """As aiohttp says that a body was cut off: with the code of a request that the server refused."""

    code = 400


@pytest.mark.parametrize(
    ("error", "tries"),
    [(ContentLengthError(), 2), (TimeoutError(), 2), (PermissionError(13, "Forbidden"), 1), (FileNotFoundError(), 1)],
)
def test_which_errors_of_a_store_are_tried_again(
    store: Any, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, tries: int
) -> None:
    upload(BODY, f"{bucket}/a.mp4")
    used = remote._filesystem("memory")
    opened, calls = used.open, []

    def open_or_fail(*args: Any, **options: Any) -> Any:
        calls.append(args)
        if len(calls) == 1:
            raise error
        return opened(*args, **options)

    monkeypatch.setattr(used, "open", open_or_fail)
    if tries == 1:
        with pytest.raises(RemoteError):
            fetch(f"{bucket}/a.mp4", tmp_path / "a.mp4")
    else:
        assert fetch(f"{bucket}/a.mp4", tmp_path / "a.mp4")[0] == hashlib.sha256(BODY).hexdigest()
    assert len(calls) == tries


def test_a_user_in_an_address_becomes_a_header(server: FileServer, tmp_path: Path) -> None:
    fetch(server.url.replace("//", "//me:pass%20word@") + "/a.mp4", tmp_path / "a.mp4")
    assert server.authorization == ["Basic bWU6cGFzcyB3b3Jk"]  # base64 of "me:pass word"


def test_what_may_be_shown_of_addresses() -> None:
    signed = f"https://me:{SECRET}@host/a.mp4?X-Amz-Credential={SECRET}&X-Amz-Signature={SECRET}"
    assert safe_name(signed) == "https://host/a.mp4"
    assert safe_name(signed + "&id=1") == safe_name("https://host/a.mp4?id=1&X-Amz-Signature=2")
    assert safe_name("https://host/get?id=1") != safe_name("https://host/get?id=2")
    assert SECRET not in safe_name(f"https://host/get?unknown={SECRET}")
    assert masked(f"curl '{signed}' failed") == "curl 'https://***@host/a.mp4?***' failed"
    assert masked("s3://bucket/what?.mp4 and a@b.c") == "s3://bucket/what?.mp4 and a@b.c"


@pytest.mark.parametrize(
    "given",
    [
        "HTTPS://host/a?X-Amz-Signature=SECRET", "https:/host/a?X-Amz-Signature=SECRET", "https://me:p@SECRET@host/a",
        "https:/me:SECRET@host/a", "s3://me:p@SECRET@b/x", "s3:/me:SECRET@b/x", "https://me:p'SECRET@host/a",
        "https://host/a?token=SECRET",
    ],
)  # fmt: skip
def test_no_way_of_writing_an_address_lets_its_secret_through(given: str) -> None:
    assert "SECRET" not in masked(f"failed: {given}") and "SECRET" not in masked(f"--mirror={given}")
    assert "SECRET" not in safe_name(address_of(given) or "")


def test_queries_tell_clips_apart_unless_they_sign() -> None:
    asked = ["token=a", "token=b", "st=1", "sp=1", "policy=1", "expires=1", "X-Amz-Date=1", "sig=1&v=1", "sig=1&v=2"]
    assert len({safe_name(f"http://h/v?{query}") for query in asked} | {"http://h/v"}) == len(asked) + 1
    for one, other in (
        ("X-Amz-Signature=a&X-Amz-Date=1", "X-Amz-Signature=b&X-Amz-Date=2"),
        ("sig=a&se=1&sp=r", "sig=b&se=2&sp=r"),
        ("Signature=a&Expires=1&Key-Pair-Id=k", "Expires=2&Signature=b&Key-Pair-Id=k"),
    ):
        assert safe_name(f"https://h/v?{one}") == safe_name(f"https://h/v?{other}") == "https://h/v"
    assert address_of("s3:/bucket/a.mp4") == "s3://bucket/a.mp4"  # as pathlib leaves it
    assert [address_of(path) for path in ("clips/a.mp4", "/a", "C:/a.mp4", "a:b")] == [None] * 4


def test_an_unknown_scheme_and_a_missing_package_say_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SetupError, match=r"Expected an address with s3, .* but got ftp://"):
        remote.check_address("ftp://host/a.mp4")
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    remote._filesystem.cache_clear()
    with pytest.raises(SetupError, match=r"^s3:// needs s3fs: pip install .*\[remote\]"):
        remote.check_address("s3://bucket/clips")


def test_a_store_is_listed_and_names_that_lead_elsewhere_are_passed_over(store: Any, bucket: str) -> None:
    for name in ("x/a.mp4", "x/y/b.mp4", "c.txt"):
        upload(b"abc", f"{bucket}/{name}")
    store.store[f"{store._strip_protocol(bucket)}/x/../../secret.mp4"] = store.store[
        f"{store._strip_protocol(bucket)}/c.txt"
    ]
    assert {name: state.bytes for name, state in files_below(bucket)} == {"x/a.mp4": 3, "x/y/b.mp4": 3, "c.txt": 3}
    assert read_bytes(f"{bucket}/c.txt", 2) == b"abc"  # one more than asked for shows that there is more
    with pytest.raises(FileExistsError):
        upload(b"other", f"{bucket}/c.txt", once=True)
    assert read_bytes(f"{bucket}/c.txt", 9) == b"abc"


def test_scratch_is_bounded_over_several_files_and_swept(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "WAIT_SECONDS", 0.3)
    place = Scratch(str(tmp_path), 2 * len(BODY) + 10)
    left = tmp_path / f".clips.{_host()}-999999999.partial"
    left.mkdir()
    (left / "0.mp4").write_bytes(bytes(1000))
    place.sweep()
    assert not left.exists()
    uri = f"{server.url}/a.mp4"
    first, second = place.fetch(uri, FileState()), place.fetch(uri, FileState())
    assert first.path.read_bytes() == second.path.read_bytes() == BODY
    with pytest.raises(ScratchFullError, match=r"full: [0-9.]+ MiB of [0-9.]+ MiB are taken, and no room became free"):
        place.fetch(uri, FileState())
    first.remove()
    third = place.fetch(uri, FileState())
    assert third.path.suffix == ".mp4"
    too_large = r"has 0\.[0-9]+ MiB and the scratch folder may hold 0\.00095 MiB; raise --scratch"
    with pytest.raises(ClipError, match=too_large):
        Scratch(str(tmp_path), 1000).fetch(uri, FileState())
    place.discard()
    assert not list(tmp_path.glob(".*"))


def test_a_full_disk_has_its_message(server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(scratch, "WAIT_SECONDS", 0.0)
    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    start = time.monotonic()
    with pytest.raises(ScratchFullError, match=r"full: No space left on device.*make room"):
        Scratch(str(tmp_path)).fetch(f"{server.url}/a.mp4", FileState())
    assert time.monotonic() - start < 5
    assert server.gets("/a.mp4") == 1  # not tried again: no other try makes room


def _host() -> str:
    from vmmetrics.utils.storage.atomic import _HOST

    return _HOST


def test_a_folder_that_cannot_be_used_is_no_fault_of_the_clip(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ScratchError, match=r"Cannot write to .*file/scratch: .*see --scratch"):
        Scratch(str(tmp_path / "file" / "scratch")).fetch(f"{server.url}/a.mp4", FileState())


@contextmanager
def silent() -> Iterator[tuple[str, list[socket.socket]]]:
    """Yield the address of a server that takes connections and says nothing, and those that it took."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        taken: list[socket.socket] = []

        def take() -> None:
            with suppress(OSError):
                while True:
                    taken.append(listening.accept()[0])

        threading.Thread(target=take, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/a.mp4", taken
        listening.shutdown(socket.SHUT_RDWR)
        for connection in taken:
            connection.close()


def test_the_look_up_of_a_silent_server_is_bounded() -> None:
    start = time.monotonic()
    with silent() as (address, taken), pytest.raises(RemoteError, match="too slow"), looking_up(0.5):
        state_of(address)
    assert time.monotonic() - start < 2 and len(taken) == 1


def test_the_look_up_in_a_silent_store_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    asyn = pytest.importorskip("fsspec.asyn")

    class Silent(asyn.AsyncFileSystem):  # type: ignore[misc,name-defined]
        async def _info(self, path: str) -> None:
            await asyncio.sleep(3600)

    monkeypatch.setattr(remote, "_store", lambda uri: (Silent(), uri))
    start = time.monotonic()
    with pytest.raises(RemoteError, match="TimeoutError"), looking_up(0.5):
        state_of("s3://bucket/a.mp4")
    assert time.monotonic() - start < 2


def test_a_secret_in_the_words_of_a_library_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ValueError(f'Invalid bucket name "AKIAKEY:{SECRET}": must match, {SECRET}')

    monkeypatch.setattr(remote, "_store", lambda _: (SimpleNamespace(info=refuse), ""))
    with pytest.raises(RemoteError) as failed:
        state_of(f"s3://AKIAKEY:{SECRET}@bucket/x")
    assert SECRET not in str(failed.value) and "AKIAKEY" not in str(failed.value)
    assert 'Invalid bucket name "***": must match, ***' in str(failed.value)
