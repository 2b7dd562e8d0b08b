from __future__ import annotations

import json
import os
import re
import struct
from hashlib import sha256
from pathlib import Path

import pytest
from small_checkpoints import BODY, Publish, file, safetensors

from vmmetrics.errors import SetupError
from vmmetrics.utils.weights import folder as module
from vmmetrics.utils.weights.folder import LOCK, Effort, inspect, resolve, weights_home


def put(home: Path, name: str, body: bytes) -> Path:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return path


def altered(path: Path, *, keep_time: bool = False) -> None:
    """Another byte in the middle, the size kept."""
    status = path.stat()
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 1
    path.write_bytes(bytes(body))
    shift = 0 if keep_time else 10**9
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + shift))


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that were hashed."""
    names: list[str] = []
    original = module.sha256_of
    monkeypatch.setattr(module, "sha256_of", lambda path: names.append(path.name) or original(path))
    return names


def test_a_single_file_and_a_folder(home: Path, publish: Publish) -> None:
    publish("one", file("a.bin", BODY))
    publish("many", file("a.bin", BODY), file("config.json"))
    put(home, "one/a.bin", BODY)
    put(home, "many/a.bin", BODY)
    put(home, "many/config.json", b"{}")
    assert resolve(["one"])["one"] == home / "one" / "a.bin"
    assert resolve(["many"])["many"] == home / "many"


def test_what_is_missing_is_named_with_place_and_command(home: Path, publish: Publish) -> None:
    publish("many", file("a.bin", BODY), file("config.json"), file("*.txt"), file("extra.json", optional=True))
    put(home, "many/a.bin", BODY)
    with pytest.raises(SetupError) as found:
        resolve(["many"])["many"]
    said = str(found.value)
    assert "*.txt, config.json not found" in said
    assert str(home / "many") in said
    assert said.endswith("vmmetrics weights fetch many")


def test_several_are_complained_of_at_once(home: Path, publish: Publish) -> None:
    publish("one", file("a.bin", BODY))
    publish("two", file("b.bin", BODY))
    publish("three", file("c.bin"))
    put(home, "three/c.bin", BODY)
    put(home, "two/b.bin", b"short")
    with pytest.raises(SetupError, match=r"(?s)a\.bin not found.*b\.bin has 5 bytes.*weights fetch one two$"):
        resolve(["one", "two", "three"])
    assert resolve(["three"]) == {"three": home / "three" / "c.bin"}


@pytest.mark.parametrize("published", [True, False])
def test_a_file_cut_off_is_named(home: Path, publish: Publish, published: bool) -> None:
    body = safetensors()
    publish("one", file("a.safetensors", body) if published else file("a.safetensors"))
    put(home, "one/a.safetensors", body[:-1])
    with pytest.raises(SetupError, match=r"a\.safetensors has \d+ bytes.*cut off.*vmmetrics weights fetch one"):
        resolve(["one"])["one"]


def test_an_altered_file_is_named_even_with_its_size(home: Path, publish: Publish) -> None:
    publish("one", file("a.bin", BODY))
    altered(put(home, "one/a.bin", BODY))
    with pytest.raises(SetupError, match=r"a\.bin has SHA-256 .* is published"):
        resolve(["one"])["one"]


def test_the_first_digits_of_a_hash_are_a_check(home: Path, publish: Publish) -> None:
    publish("one", file("a.bin", sha256=sha256(BODY).hexdigest()[:8]))
    path = put(home, "one/a.bin", BODY)
    assert resolve(["one"])["one"] == path
    altered(path)
    with pytest.raises(SetupError, match="is published"):
        resolve(["one"])["one"]


def test_trust_on_first_use(home: Path, publish: Publish) -> None:
    """Nothing is published of this file: what it was at first is what it has to stay."""
    publish("one", file("a.bin"))
    path = put(home, "one/a.bin", BODY)
    resolve(["one"])["one"]
    recorded = json.loads((home / "one" / LOCK).read_text())["files"]["a.bin"]
    assert recorded == {
        "bytes": len(BODY), "mtime_ns": path.stat().st_mtime_ns, "sha256": sha256(BODY).hexdigest(),
    }  # fmt: skip
    altered(path)
    with pytest.raises(SetupError, match="when it was first fetched"):
        resolve(["one"])["one"]


def test_an_unchanged_file_is_hashed_once(home: Path, publish: Publish, hashed: list[str]) -> None:
    publish("one", file("a.bin", BODY))
    put(home, "one/a.bin", BODY)
    for _ in range(3):
        resolve(["one"])["one"]
    assert hashed == ["a.bin"]


def test_a_touched_file_is_hashed_again_and_then_known(home: Path, publish: Publish, hashed: list[str]) -> None:
    publish("one", file("a.bin"))
    path = put(home, "one/a.bin", BODY)
    resolve(["one"])["one"]
    os.utime(path, ns=(0, 10**18))
    resolve(["one"])["one"]
    resolve(["one"])["one"]
    assert hashed == ["a.bin"] * 2


def test_verifying_finds_what_hid_behind_size_and_time(home: Path, publish: Publish) -> None:
    entry = publish("one", file("a.bin"))
    path = put(home, "one/a.bin", BODY)
    resolve(["one"])["one"]
    altered(path, keep_time=True)
    assert inspect(entry).whole  # nothing to see from outside
    assert "a.bin" in inspect(entry, effort="all").faults
    assert "a.bin" in inspect(entry).faults  # and from then on it is doubted


def test_an_error_of_the_system_without_words_is_told(
    home: Path, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError

    entry = publish("one", file("a.bin"))
    put(home, "one/a.bin", BODY)
    monkeypatch.setattr(module, "_check", fails)
    with pytest.raises(SetupError, match=f"^Cannot read {re.escape(str(home / 'one'))}: OSError$"):
        inspect(entry)


def test_sizes_alone_hash_nothing(home: Path, publish: Publish, hashed: list[str]) -> None:
    entry = publish("one", file("a.bin", BODY))
    put(home, "one/a.bin", BODY)
    assert inspect(entry, effort="sizes").whole
    assert not hashed
    assert not (home / "one" / LOCK).exists()


@pytest.mark.parametrize("effort", ["sizes", "changed", "all"])
def test_shards_that_an_index_names_have_to_be_there(home: Path, publish: Publish, effort: Effort) -> None:
    entry = publish("one", file("*-of-*"), file("*.index.json"))
    put(home, "one/m-1-of-2.safetensors", safetensors())
    index = {"weight_map": {"w": "m-1-of-2.safetensors", "v": "m-2-of-2.safetensors"}}
    put(home, "one/m.index.json", json.dumps(index).encode())
    assert inspect(entry, effort=effort).missing == ("m-2-of-2.safetensors",)
    put(home, "one/m-2-of-2.safetensors", safetensors())
    assert inspect(entry, effort=effort).whole


def test_a_recorded_file_that_is_gone_is_missed(home: Path, publish: Publish) -> None:
    publish("one", file("*.bin"))
    put(home, "one/a.bin", BODY)
    gone = put(home, "one/b.bin", BODY)
    resolve(["one"])["one"]
    gone.unlink()
    with pytest.raises(SetupError, match=r"b\.bin not found"):
        resolve(["one"])["one"]


def test_what_is_still_on_its_way_is_not_there(home: Path, publish: Publish) -> None:
    entry = publish("one", file("*.bin*"))
    put(home, "one/a.bin.part", BODY)
    put(home, "one/a.bin.part.etag", b"1")
    put(home, "one/.cache/a.bin", BODY)
    assert inspect(entry).missing == ("*.bin*",)


def header(text: bytes) -> bytes:
    """A safetensors file that has only a header."""
    return struct.pack("<Q", len(text)) + text


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("a.bin", b"", "is empty"),
        ("a.pth", b"<!DOCTYPE html><html>", "web page"),
        ("a.bin", b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "LFS pointer"),
        ("a.pt", b"PK\x03\x04" + BODY, "is cut off"),
        ("a.safetensors", BODY, "not a safetensors file"),
        ("a.safetensors", safetensors() + b"x", "altered"),
        ("a.safetensors", safetensors()[:20], "inside its header"),
        ("config.json", b'{"a": ', "not JSON"),
        ("config.json", b"[" * 100_000, "not JSON"),
        ("a.safetensors", header(b"[" * 100_000), "not a safetensors file"),
        ("a.safetensors", header(b'{"w": {"data_offsets": [0, "x"]}}'), "not a safetensors file"),
        ("a.safetensors", header(b'{"w": {"data_offsets": [0, 1e999]}}'), "not a safetensors file"),
    ],
)
def test_files_whose_form_is_wrong(home: Path, publish: Publish, name: str, body: bytes, said: str) -> None:
    publish("one", file(name))
    put(home, f"one/{name}", body)
    with pytest.raises(SetupError, match=said):
        resolve(["one"])["one"]


def test_real_formats_are_whole(home: Path, publish: Publish) -> None:
    torch = pytest.importorskip("torch")
    save = pytest.importorskip("safetensors.torch").save_file
    (home / "one").mkdir(parents=True)
    torch.save({"w": torch.arange(1000)}, home / "one" / "new.pt")
    torch.save({"w": torch.arange(1000)}, home / "one" / "old.pth", _use_new_zipfile_serialization=False)
    save({"w": torch.arange(1000), "v": torch.zeros(3, 4)}, home / "one" / "a.safetensors")
    entry = publish("one", *(file(n) for n in ("new.pt", "old.pth", "a.safetensors")))
    assert inspect(entry).whole
    for name in ("new.pt", "a.safetensors"):
        path = home / "one" / name
        path.write_bytes(path.read_bytes()[:-50])
    (home / "one" / LOCK).unlink()
    assert set(inspect(entry).faults) == {"new.pt", "a.safetensors"}


def test_a_record_that_was_tampered_with_leads_nowhere(home: Path, publish: Publish) -> None:
    publish("one", file("a.bin", BODY))
    put(home, "one/a.bin", BODY)
    put(home, f"one/{LOCK}", json.dumps({"files": {"../x": {"bytes": 1, "mtime_ns": 1, "sha256": "0"}}}).encode())
    assert resolve(["one"])["one"].name == "a.bin"
    put(home, f"one/{LOCK}", b"\xff not json")
    assert resolve(["one"])["one"].name == "a.bin"


@pytest.mark.parametrize(
    "lock",
    [
        b"[" * 100_000,
        b'{"files": {"a.bin": {"bytes": 1e999, "mtime_ns": 0, "sha256": "0"}}}',
        b'{"files": {}, "listed": 3}',
    ],
)
def test_a_record_that_is_none_is_made_anew(home: Path, publish: Publish, lock: bytes) -> None:
    publish("one", file("a.bin", BODY))
    put(home, "one/a.bin", BODY)
    put(home, f"one/{LOCK}", lock)
    assert resolve(["one"])["one"].read_bytes() == BODY


@pytest.mark.parametrize("names", [b'{"x": 3}', b'{"x": ["a.bin"]}', b'{"x": "../a.bin"}', b"[" * 100_000])
def test_an_index_that_names_no_files_adds_none(home: Path, publish: Publish, names: bytes) -> None:
    entry = publish("one", file("*.bin"), file("*.index.json"))
    put(home, "one/a.bin", BODY)
    put(home, "one/a.index.json", b'{"weight_map": ' + names + b"}")
    assert inspect(entry).missing == ()


def test_a_folder_that_cannot_be_written_still_serves(home: Path, publish: Publish, hashed: list[str]) -> None:
    publish("one", file("a.bin"))
    put(home, "one/a.bin", BODY)
    (home / "one" / LOCK).mkdir()  # no file can be put in its place
    resolve(["one"])["one"]
    resolve(["one"])["one"]
    assert hashed == ["a.bin"] * 2


def test_the_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VMMETRICS_WEIGHTS", str(tmp_path / "mine"))
    assert weights_home() == tmp_path / "mine"
    monkeypatch.delenv("VMMETRICS_WEIGHTS")
    monkeypatch.setattr(module.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert weights_home() == tmp_path / "vmmetrics" / "weights"
