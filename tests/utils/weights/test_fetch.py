from __future__ import annotations

import json
import shutil
import sys
import threading
from hashlib import sha256
from pathlib import Path

import pytest
from small_checkpoints import BODY, Heard, Publish, file, safetensors
from weights_server import Server

from vmmetrics.errors import SetupError
from vmmetrics.utils.storage.lock import ByteLocks
from vmmetrics.utils.weights import fetch as module
from vmmetrics.utils.weights.fetch import fetch
from vmmetrics.utils.weights.folder import LOCK, inspect, resolve

OTHER = BODY[::-1]


def leftovers(home: Path) -> list[str]:
    return sorted(p.name for p in home.rglob("*") if ".part" in p.name)


def test_a_file_is_fetched_checked_and_recorded(server: Server, home: Path, publish: Publish, heard: Heard) -> None:
    server.put("/x/a.bin", BODY, cuts=[50_000])
    publish("one", file("a.bin", BODY, url=f"{server.url}/x/a.bin"))
    assert [found.path for found in fetch(["one"], heard.listener)] == [home / "one" / "a.bin"]
    assert resolve(["one"])["one"].read_bytes() == BODY
    lock = json.loads((home / "one" / LOCK).read_text())
    assert lock["files"]["a.bin"]["sha256"] == sha256(BODY).hexdigest()
    assert heard.progress[-1] == ("one/a.bin", len(BODY), len(BODY))
    assert not leftovers(home)


def test_what_is_there_and_whole_is_left_alone(server: Server, home: Path, publish: Publish, heard: Heard) -> None:
    server.put("/a.bin", BODY)
    publish("one", file("a.bin", BODY, url=f"{server.url}/a.bin"))
    fetch(["one"], heard.listener)
    fetch(["one"], heard.listener, offline=True)
    assert len(server.asked) == 1


@pytest.mark.parametrize("cuts", [[], [1000]])
def test_wrong_bytes_are_not_kept(server: Server, home: Path, publish: Publish, heard: Heard, cuts: list[int]) -> None:
    server.put("/a.bin", OTHER, cuts=cuts)
    publish("one", file("a.bin", BODY, url=f"{server.url}/a.bin"))
    with pytest.raises(
        SetupError, match=r"one: a\.bin: .*gave a file that has SHA-256 .* is published.*It was deleted"
    ):
        fetch(["one"], heard.listener)
    assert not (home / "one" / "a.bin").exists()
    assert not leftovers(home)


def test_a_file_of_another_size_or_a_web_page(server: Server, home: Path, publish: Publish, heard: Heard) -> None:
    publish("one", file("a.bin", bytes=7, url=f"{server.url}/a.bin"))
    server.put("/a.bin", BODY)
    with pytest.raises(SetupError, match="102400 bytes but 7 were expected"):
        fetch(["one"], heard.listener)
    server.put("/a.bin", b"<html>log in</html>")
    with pytest.raises(SetupError, match="web page"):
        fetch(["one"], heard.listener)
    assert not (home / "one" / "a.bin").exists()


def test_a_damaged_file_is_replaced(server: Server, home: Path, publish: Publish, heard: Heard) -> None:
    server.put("/a.bin", BODY)
    entry = publish("one", file("a.bin", url=f"{server.url}/a.bin"))
    fetch(["one"], heard.listener)
    (home / "one" / "a.bin").write_bytes(BODY[:100])
    with pytest.raises(SetupError, match="vmmetrics weights fetch one"):
        resolve(["one"])["one"]
    fetch(["one"], heard.listener)
    assert resolve(["one"])["one"].read_bytes() == BODY
    assert inspect(entry, effort="all").whole


def test_a_publisher_who_changes_a_file_is_noticed(server: Server, home: Path, publish: Publish, heard: Heard) -> None:
    server.put("/a.bin", BODY)
    publish("one", file("a.bin", url=f"{server.url}/a.bin"))
    fetch(["one"], heard.listener)
    (home / "one" / "a.bin").unlink()
    server.put("/a.bin", OTHER)
    with pytest.raises(SetupError, match="when it was first fetched"):
        fetch(["one"], heard.listener)


def test_a_fetch_broken_off_is_not_whole(server: Server, home: Path, publish: Publish, heard: Heard) -> None:
    """A pattern is met by the first of its files; what the publisher listed is not."""
    publish("many", file("*.bin"), hub="org/repo")
    known = {"bytes": len(BODY), "sha256": sha256(BODY).hexdigest()}
    server.put(f"/many/{LOCK}", json.dumps({"files": {"a.bin": known, "b.bin": known}}).encode())
    server.put("/many/a.bin", BODY)
    with pytest.raises(SetupError, match="404"):
        fetch(["many"], heard.listener, mirror=server.url)
    with pytest.raises(SetupError, match=r"b\.bin not found"):
        resolve(["many"])["many"]


def test_the_disk_is_looked_at_before_anything_comes(
    server: Server, home: Path, publish: Publish, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.put("/a.bin", BODY)
    publish("one", file("a.bin", about=3_000_000_000, url=f"{server.url}/a.bin"))
    publish("two", file("a.bin", bytes=2_000_000_000, url=f"{server.url}/a.bin"))
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**12, 0, 4_100_000_000))
    with pytest.raises(SetupError, match=r"need 5\.1 GB but .* has 4\.1 GB left: 1\.0 GB short"):
        fetch(["small"], heard.listener)
    assert not server.asked


def test_offline_never_asks_and_says_everything(
    server: Server, home: Path, publish: Publish, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish("one", file("m.bin", url=f"{server.url}/m.bin"))
    publish("two", file("a.bin"), file("*.json"), hub="org/repo", revision="abc", must_accept=True, notice="no")
    for setting in ({"VMMETRICS_OFFLINE": "1"}, {"HF_HUB_OFFLINE": "yes"}, {}):
        with monkeypatch.context() as environment:
            for name, value in setting.items():
                environment.setenv(name, value)
            with pytest.raises(SetupError) as found:
                fetch(["small"], heard.listener, offline=not setting)
        said = str(found.value)
        for part in (f"{server.url}/m.bin", "https://huggingface.co/org/repo/tree/abc", "--from-folder"):
            assert part in said
        for line in (f"into {home / 'one'}: m.bin", f"into {home / 'two'}: *.json, a.bin"):
            assert line in [text.strip() for text in said.splitlines()]
    assert not server.asked
    assert not heard.notices


def test_a_licence_is_agreed_to_before_anything_comes(
    server: Server, home: Path, publish: Publish, heard: Heard
) -> None:
    server.put("/a.bin", BODY)
    publish("free", file("a.bin", BODY, url=f"{server.url}/a.bin"))
    publish(
        "own", file("a.bin", BODY, url=f"{server.url}/a.bin"), licence="CC-BY-NC-4.0", notice="Not for sale.",
        must_accept=True,
    )  # fmt: skip
    with pytest.raises(SetupError, match=r"own: Not for sale\. .*--accept-licence"):
        fetch(["small"], Heard(agrees=False).listener)
    assert not server.asked
    fetch(["small"], heard.listener)
    fetch(["small"], heard.listener)  # said once
    assert heard.notices == ["Not for sale."]


def test_a_folder_copied_by_hand(home: Path, publish: Publish, heard: Heard, tmp_path: Path) -> None:
    many = publish("many", file("model.safetensors"), file("config.json"), hub="org/repo", revision="abc")
    publish("one", file("m.bin", BODY, url="https://host/sdk/m.bin"))
    model = safetensors()
    for number, place in enumerate(("many", "org/repo", "repo", "models--org--repo/snapshots/abc")):
        copies = tmp_path / f"copies{number}"
        (copies / place).mkdir(parents=True)
        (copies / place / "model.safetensors").write_bytes(model)
        (copies / place / "config.json").write_bytes(b"{}")
        (copies / "m.bin").write_bytes(BODY)
        (copies / "config.json").write_bytes(b'{"of": "somebody else"}')
        fetch(["small"], heard.listener, copies=copies)
        assert (resolve(["many"])["many"] / "config.json").read_bytes() == b"{}"
        assert resolve(["one"])["one"].read_bytes() == BODY
        assert inspect(many, effort="all").whole
        shutil.rmtree(home)


def test_the_folder_of_one_checkpoint(home: Path, publish: Publish, heard: Heard, tmp_path: Path) -> None:
    publish("many", file("model.safetensors"), file("config.json"), hub="org/repo")
    (tmp_path / "model.safetensors").write_bytes(safetensors())
    with pytest.raises(SetupError, match=r"config\.json not found"):
        fetch(["many"], heard.listener, copies=tmp_path)
    (tmp_path / "config.json").write_bytes(b"{}")
    fetch(["many"], heard.listener, copies=tmp_path)
    assert resolve(["many"])["many"] == home / "many"


def test_copies_are_checked_too(home: Path, publish: Publish, heard: Heard, tmp_path: Path) -> None:
    publish("one", file("a.bin", BODY, url="https://host/a.bin"))
    (tmp_path / "a.bin").write_bytes(OTHER)
    with pytest.raises(SetupError, match="is published"):
        fetch(["one"], heard.listener, copies=tmp_path)
    assert (tmp_path / "a.bin").read_bytes() == OTHER
    assert not (home / "one" / "a.bin").exists()
    with pytest.raises(SetupError, match="is not a folder"):
        fetch(["one"], heard.listener, copies=tmp_path / "nowhere")


def test_a_web_server_with_a_weights_folder(
    server: Server, home: Path, publish: Publish, heard: Heard, tmp_path: Path
) -> None:
    publish("many", file("*.safetensors"), file("config.json"), hub="org/repo")
    publish("one", file("m.bin", url="https://nowhere.invalid/m.bin"))
    source = tmp_path / "colleague"
    (source / "many").mkdir(parents=True)
    (source / "one").mkdir()
    (source / "many" / "a.safetensors").write_bytes(safetensors())
    (source / "many" / "config.json").write_bytes(b"{}")
    (source / "one" / "m.bin").write_bytes(BODY)
    resolve(["many"], source)
    resolve(["one"], source)
    for path in source.rglob("*"):
        if path.is_file():
            server.put(f"/w/{path.relative_to(source).as_posix()}", path.read_bytes())
    fetch(["small"], heard.listener, mirror=f"{server.url}/w/")
    assert (resolve(["many"])["many"] / "a.safetensors").read_bytes() == safetensors()
    assert resolve(["one"])["one"].read_bytes() == BODY


def test_a_mirror_whose_files_are_not_those_it_lists(
    server: Server, home: Path, publish: Publish, heard: Heard
) -> None:
    publish("many", file("*.bin"), hub="org/repo")
    lock = {"files": {"a.bin": {"bytes": len(BODY), "sha256": sha256(BODY).hexdigest(), "mtime_ns": 0}}}
    server.put(f"/many/{LOCK}", json.dumps(lock).encode())
    server.put("/many/a.bin", OTHER)
    with pytest.raises(SetupError, match="announced"):
        fetch(["many"], heard.listener, mirror=server.url)
    lock["files"] = {"../../a.bin": lock["files"]["a.bin"]}
    server.put(f"/many/{LOCK}", json.dumps(lock).encode())
    with pytest.raises(SetupError, match=r"has no file \*\.bin"):
        fetch(["many"], heard.listener, mirror=server.url)
    server.put(f"/many/{LOCK}", b"[]")
    with pytest.raises(SetupError, match="not a record"):
        fetch(["many"], heard.listener, mirror=server.url)


@pytest.mark.parametrize(
    "listing",
    [
        b"[" * 1_000_000,
        b'{"files": {"a.bin": {"bytes": 1e999, "sha256": "0"}}}',
        b'{"files": {"a.bin": {"bytes": -1, "sha256": "0"}}}',
        b'{"files": {"a.bin": {"bytes": true, "sha256": "0"}}}',
        b'{"files": {"a.bin": {"bytes": ' + b"9" * 5000 + b', "sha256": "0"}}}',
        b'{"files": {"a.bin": {"bytes": ' + b"9" * 400 + b', "sha256": "0"}}}',
        b'{"files": {"\\u001b]0;PWN.bin": {"bytes": 1, "sha256": "0"}}}',
        b'{"files": 3}',
        b"\xff",
        b" " * 10_000_001,
    ],
    ids=lambda listing: f"{listing[:50]!r}",
)
def test_a_listing_that_is_none_is_a_message_on_one_line(
    server: Server, home: Path, publish: Publish, heard: Heard, listing: bytes
) -> None:
    publish("many", file("*.bin"), hub="org/repo")
    server.put(f"/many/{LOCK}", listing)
    with pytest.raises(SetupError) as caught:
        fetch(["many"], heard.listener, mirror=server.url)
    assert str(caught.value).isprintable() and len(server.asked) == 1


@pytest.mark.parametrize("known", ["published", "listed", "about", "nothing"])
def test_no_more_is_fetched_than_a_file_can_have(
    server: Server, home: Path, publish: Publish, heard: Heard, monkeypatch: pytest.MonkeyPatch, known: str
) -> None:
    monkeypatch.setattr(module, "_UNSTATED", 100)
    monkeypatch.setattr(module, "_PAGE", 1000)
    size = {"published": {"bytes": 10}, "about": {"about": 10}}.get(known, {})
    publish("many", file("*.bin" if known == "listed" else "a.bin", **size), hub="org/repo")
    server.put(f"/many/{LOCK}", b'{"files": {"a.bin": {"bytes": 10, "sha256": "0"}}}')
    server.put("/many/a.bin", bytes(2000))
    most = {"published": 1010, "listed": 1010, "about": 1120, "nothing": 1100}[known]
    with pytest.raises(SetupError, match=f"more than the {most} bytes"):
        fetch(["many"], heard.listener, mirror=server.url)
    assert not leftovers(home)


def test_the_hub_needs_its_package(home: Path, publish: Publish, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    publish("many", file("a.bin"), hub="org/repo")
    with pytest.raises(SetupError, match=r"needs huggingface_hub: pip install .*\[vmbench\]"):
        fetch(["many"], heard.listener)


def test_two_processes_fetch_one_after_the_other(
    server: Server, home: Path, publish: Publish, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locks are between processes: the other one is played by answers of the lock."""
    server.put("/a.bin", BODY)
    publish("one", file("a.bin", BODY, url=f"{server.url}/a.bin"))
    answers = [False, False, True]
    acquire = ByteLocks.try_acquire
    monkeypatch.setattr(ByteLocks, "try_acquire", lambda self, byte: answers.pop(0) and acquire(self, byte))
    fetch(["one"], heard.listener)
    assert any("another process" in said for said in heard.said)
    assert resolve(["one"])["one"].read_bytes() == BODY


def test_threads_of_a_server_do_not_disturb(server: Server, home: Path, publish: Publish) -> None:
    """Several checkpoints at once, as when two presets are prepared side by side."""
    for name in "abc":
        server.put(f"/{name}.bin", BODY)
        publish(name, file(f"{name}.bin", BODY, url=f"{server.url}/{name}.bin"))
    threads = [threading.Thread(target=fetch, args=([name], Heard().listener)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(path.read_bytes() == BODY for path in resolve("abc").values())
