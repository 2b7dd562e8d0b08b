"""Which clusters are connected to; nothing here needs Ray."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from vmmetrics.cli.main import main
from vmmetrics.engines import connection
from vmmetrics.engines.connection import Cluster, Connection, check_cluster
from vmmetrics.errors import SetupError


def test_a_head_elsewhere_without_tokens_is_refused_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for mode in (None, "disabled"):
        monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
        if mode:
            monkeypatch.setenv("RAY_AUTH_MODE", mode)
        with pytest.raises(SetupError, match=r"203\.0\.113\.9:6379 is on another machine.*RAY_AUTH_MODE=token"):
            Connection(Cluster("203.0.113.9:6379"))


@pytest.mark.parametrize("address", ["ray://head:10001", "head", "head:0", "head:99999", ":6379", "http://head:1"])
def test_what_is_no_address_of_a_head_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="Expected an address as auto or HOST:PORT"):
        Cluster(address)


def test_shares_that_cannot_be_are_refused() -> None:
    for takes in ({"gpus": 1.5}, {"cpus": 0}, {"cpus": -1}, {"gpus": float("nan")}, {"retries": 0}):
        with pytest.raises(ValueError, match="Expected"):
            Cluster(**takes)  # type: ignore[arg-type]


def test_where_no_head_answers_that_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "check_installed", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(SetupError, match=rf"No Ray cluster answers at {address} \(Connection refused\): start one"):
        Connection(Cluster(address))


def test_auto_is_resolved_before_anything_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "check_installed", lambda: None)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = f"127.0.0.1:{server.getsockname()[1]}"
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    for detected, message in (
        ("auto", "No Ray cluster runs on this machine: start one"),
        (closed, f"No Ray cluster answers at {closed}"),
        ("203.0.113.9:6379", "is on another machine"),
    ):
        monkeypatch.setattr(connection, "_detected_address", lambda detected=detected: detected)
        with pytest.raises(SetupError, match=message):
            check_cluster(Cluster("auto"))
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


def test_without_ray_the_message_names_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vmmetrics.engines.connection.find_spec", lambda name: None)
    with pytest.raises(SystemExit) as ended:
        main(["score", str(tmp_path), "--engine", "ray"])
    assert ended.value.code == 2
    assert '[ray]"' in capsys.readouterr().err


def test_options_of_ray_need_the_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["score", str(tmp_path), "--gpus-per-job", "0.25"])
    assert ended.value.code == 2
    assert "are for --engine ray" in " ".join(capsys.readouterr().err.split())


def test_ray_is_imported_by_nothing_that_does_not_ask_for_it() -> None:
    code = "import sys, vmmetrics, vmmetrics.scoring.run, vmmetrics.cli.score; print('ray' in sys.modules)"
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert asked.stdout.strip() == "False"


def test_a_node_is_silent_once_it_no_longer_answers_and_never_if_it_never_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_LINK_SECONDS", 0.02)
    monkeypatch.setattr(connection, "_SILENT_SECONDS", 0.1)
    cluster = object.__new__(Connection)
    cluster._closing, cluster._silences, cluster._nodes = threading.Event(), {}, {}
    cluster._silent, cluster._refused = 0.0, 0
    with socket.create_server(("127.0.0.1", 0)) as open_port, socket.create_server(("127.0.0.1", 0)) as other:
        ports = {"answers": open_port.getsockname()[1], "behind NAT": other.getsockname()[1]}
        other.close()
        nodes = [
            {"NodeID": name, "Alive": True, "NodeManagerAddress": "127.0.0.1", "NodeManagerPort": port}
            for name, port in ports.items()
        ]
        cluster._update_nodes(nodes)
        until = time.monotonic() + 10
        while "answers" not in cluster._silences and time.monotonic() < until:
            time.sleep(0.01)
        assert not cluster.silent
    while not cluster.silent and time.monotonic() < until:
        time.sleep(0.01)
    assert set(cluster.silent) == {"answers"} == set(cluster._silences)
    cluster._update_nodes([])  # it left
    while cluster._silences and time.monotonic() < until:
        time.sleep(0.01)
    assert not cluster._silences
    cluster._closing.set()
