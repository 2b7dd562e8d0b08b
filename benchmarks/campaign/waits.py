"""What never comes: requests that hang when a command is stopped, a report's server under floods; and told secrets."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.campaign.faults import end
from benchmarks.campaign.loopback import stay_on_loopback
from benchmarks.campaign.net import KEY, REPLIES, Play, serve
from benchmarks.campaign.results import Campaign
from benchmarks.campaign.runs import fault_of
from tests.bad_inputs import moving_frames, write_video
from tests.reliability.warm import fork_workers
from tests.reliability.watched import Limits, command, fork, processes, run_command, watched

LIMITS = Limits(cpu=40, idle=40, memory=2 << 30, wall=90)
LATEST = 5.0  # seconds from a signal to the end, and from a request to the page
CONNECTIONS = 300
Arguments = list[object]


def run(campaign: Campaign) -> None:
    """Stop each command in each request that hangs, flood the server, and give away secrets to all that take one."""
    stay_on_loopback()
    folder = campaign.scratch
    clips, good, page, suite = (folder / name for name in ("clips", "good", "page", "suite"))
    clips.mkdir()
    write_video(clips / "a.mp4", moving_frames(6))
    for arguments in (
        ["score", clips, "--metrics", "pas", "--out", good],
        ["report", good, "--out", page],
        ["understand", "synthetic", "--out", suite, "--count", "10"],
    ):
        made = run_command(*arguments, before=fork_workers)
        if made.value:
            raise RuntimeError(made.output)
    for kind, flood in FLOODS.items():
        if not campaign.done(key := f"flood: {kind}"):
            ended = watched(partial(_flood, page, flood), LIMITS)
            campaign.add("a report's server", key, ended.trouble or ended.value or "")
    for name, arguments in _asking(folder, suite).items():
        for kind in ("silence", "drip in the status", "drip in the head", "drip in the body"):
            for number in (signal.SIGTERM, signal.SIGINT):
                if not campaign.done(key := f"{name}, {kind}, {number.name}"):
                    campaign.add(
                        "stopped in a request", key, _stopped(arguments, REPLIES[kind], number, folder / "log")
                    )
    for number, address in enumerate(ADDRESSES):
        for name, arguments in _told(folder, clips, suite, address.format(secret=KEY)).items():
            if not campaign.done(key := f"{name}: {number} {address}"):
                ended = run_command(*arguments, limits=LIMITS, before=_without_clouds)
                fault = fault_of(ended) or ("prints the secret" if KEY in ended.output else "")
                kept = [path.name for path in (folder / "out").rglob("*") if path.is_file() and _holds(path)]
                campaign.add("secrets", key, fault or (f"kept in {kept}" if kept else ""), f"exit code {ended.value}")
                shutil.rmtree(folder / "out", ignore_errors=True)


GET = b"GET / HTTP/1.1\r\n"
FLOODS: dict[str, bytes] = {
    "silent": b"",
    "half a line": b"GET ",
    "half a head": GET + b"Host: x\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01",
    "body to come": GET + b"Content-Length: 99999999\r\n\r\n",
    "answers not read": (GET + b"\r\n") * 500,
    "NULs": bytes(60_000),
    "100 headers": GET + b"X: y\r\n" * 100,
}


def _flood(page: Path, data: bytes) -> str:
    """Open hundreds of connections that send the same and then a byte a while; what is wrong with the page then."""
    from vmmetrics.viewer.server import ReportServer

    with ReportServer(page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        flooding = []
        for _ in range(CONNECTIONS):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=LATEST)
            flooding.append(connection)
            _send(connection, data)
        begun = time.monotonic()
        asked = socket.create_connection(("127.0.0.1", server.port), timeout=LATEST)
        host = f"Host: 127.0.0.1:{server.port}\r\n\r\n"
        asked.sendall(f"GET {server.prefix}index.html HTTP/1.1\r\n{host}".encode())
        try:
            status = asked.recv(12)
        except TimeoutError:
            status = b"nothing"
        taken = time.monotonic() - begun
        for connection in flooding:
            _send(connection, b"x")
        server.shutdown()
    return "" if status.endswith(b"200") and taken < LATEST else f"{status!r} after {taken:.1f} s"


def _send(connection: socket.socket, data: bytes) -> None:
    try:
        connection.settimeout(0.05)
        connection.sendall(data)
    except OSError:
        return


def _asking(folder: Path, suite: Path) -> dict[str, Callable[[str], Arguments]]:
    """Commands that ask a server at an address."""
    out, names = folder / "stopped", folder / "urls.txt"

    def listed(url: str) -> Arguments:
        names.write_text("".join(f"{url}/{number}.mp4\n" for number in range(3)))
        return ["score", names, "--metrics", "pas", "--out", out / "list"]

    few = ("--frames", "2 uniform", "--max-size", "64", "--yes", "--data", suite, "--out", out / "asked")
    filtered = ["prompts", "filter", "mini", "--no-embedding", "--yes", "--model", "m", "--out", out / "kept.json"]
    return {
        "score an address": lambda url: ["score", f"{url}/a.mp4", "--metrics", "pas", "--out", out / "address"],
        "score a list": listed,
        "understand run": lambda url: ["understand", "run", "synthetic", *few, "--model", f"endpoint:m@{url}/v1"],
        "prompts filter": lambda url: [*filtered, "--url", f"{url}/v1"],
        "weights fetch": lambda url: ["weights", "fetch", "sam2.1-hiera-large", "--accept-licence", "--mirror", url],
    }


def _stopped(arguments: Callable[[str], Arguments], reply: bytes | Play, number: signal.Signals, log: Path) -> str:
    """Stop a command in its first request; what is wrong with how it ends."""
    shutil.rmtree(log.with_name("stopped"), ignore_errors=True)
    asked = threading.Event()

    def play(connection: socket.socket, request: bytes) -> None:
        asked.set()
        if callable(reply):
            reply(connection, request)

    def work() -> int:
        os.environ.update(VMMETRICS_WEIGHTS=str(log.with_name("weights")), VMMETRICS_ENDPOINT_KEY=KEY)
        fork_workers()
        return command(arguments(f"http://127.0.0.1:{port}"))

    port, stop = serve(play)
    with log.open("wb") as file:
        pid = fork(work, file.fileno())
    came = asked.wait(30)
    time.sleep(0.5)
    begun = time.monotonic()
    os.killpg(pid, number) if number == signal.SIGINT else os.kill(pid, number)
    ended = end(pid, log)
    taken = time.monotonic() - begun
    stop()
    time.sleep(0.2)
    left = processes(pid)
    fault = ended.trouble or (f"{len(left)} processes left" if left else "")
    if taken > LATEST or not came:
        fault = fault or (f"{taken:.1f} s until it ends" if came else "asks nothing")
    return fault or ("" if ended.code in (130, 143) else f"exit code {ended.code}: {ended.output[-150:]}")


ADDRESSES = (
    "s3://AKIAKEY:{secret}@bucket/x",
    "s3://{secret}@bucket/x",
    "gs://user:{secret}@bucket/x",
    "http://user:{secret}@127.0.0.1:9/x",
    "https://user:{secret}@127.0.0.1:9/x",
    "http://127.0.0.1:9/x?token={secret}",
    "http://127.0.0.1:9/x?X-Amz-Signature={secret}&a=b",
    "http://user:{secret}@[::1/x",
    "http://user:{secret}@127.0.0.1:99999/x",
    "http://user:{secret}@",
    "ftp://user:{secret}@127.0.0.1/x",
    "hf://user:{secret}@datasets/x/y",
    "az://user:{secret}@container/x",
    "S3://KEY:{secret}@bucket/x",
    " s3://KEY:{secret}@bucket/x",
    "s3:/KEY:{secret}@bucket/x",
    "memory://user:{secret}@x",
)


def _told(folder: Path, clips: Path, suite: Path, address: str) -> dict[str, Arguments]:
    """Everything that takes an address, given this one."""
    out, options, listed = folder / "out", folder / "options.yaml", folder / "clips.jsonl"
    options.write_text(f"mirror: '{address}'\n")
    listed.write_text(f'{{"clip": "{address}.mp4", "prompt": "a dog runs"}}\n')
    score: Arguments = ["score", clips, "--metrics", "pas", "--out", out]
    few = ("--frames", "2 uniform", "--yes", "--data", suite, "--out", out / "asked", "--limit", "1")
    filtered: Arguments = [
        "prompts",
        "filter",
        "mini",
        "--no-embedding",
        "--yes",
        "--model",
        "m",
        "--out",
        out / "k.json",
    ]
    return {
        "score": ["score", f"{address}.mp4", "--metrics", "pas", "--out", out],
        "score --mirror": [*score, "--mirror", address],
        "score --config": [*score, "--config", options],
        "score --prompts": [*score, "--prompts", address],
        "a list of clips": ["score", listed, "--metrics", "pas", "--out", out],
        "weights fetch": ["weights", "fetch", "sam2.1-hiera-large", "--accept-licence", "--mirror", address],
        "understand run": ["understand", "run", "synthetic", *few, "--model", f"endpoint:m@{address}"],
        "prompts filter": [*filtered, "--url", address],
        "leaderboard": ["leaderboard", address],
        "report": ["report", address, "--out", out / "page"],
    }


def _without_clouds() -> None:
    """No answer from a cloud is waited for, and no key of this machine is sent."""
    from vmmetrics.utils.endpoint import wire
    from vmmetrics.utils.weights import download

    nowhere = "http://127.0.0.1:9"
    os.environ.update(AWS_ENDPOINT_URL=nowhere, STORAGE_EMULATOR_HOST=nowhere, AWS_EC2_METADATA_DISABLED="true")
    os.environ.update(dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "x"), AWS_MAX_ATTEMPTS="1")
    wire.TRIES, wire.LONGEST_PAUSE = 1, 0.0
    download.TRIES, download.PAUSE, download.TIMEOUT = 1, 0.0, 4
    fork_workers()


def _holds(path: Path) -> bool:
    return KEY.encode() in path.read_bytes()
