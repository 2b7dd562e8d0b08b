"""Prompts in every form people keep them in."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from vmmetrics.clip import Subject
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.utils.display.markup import csv_text
from vmmetrics.video import Prompts, Source, discover
from vmmetrics.video.prompt_lists import read_list


def source(root: Path, name: str) -> Source:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x")
    return Source(file, name, None, root)


def test_vmbench_layout(tmp_path: Path) -> None:
    entries = [
        {
            "prompt": "A black horse gallops over a meadow.", "subject": "a black horse", "subject_noun": "horse",
            "place": "a meadow", "action": "gallop", "index": 1,
        },
        {"prompt": "Two cats play.", "subject": "two cats", "subject_noun": "cats", "index": "0012"},
    ]  # fmt: skip
    (tmp_path / "prompts.json").write_text(json.dumps(entries))
    for prompts in (Prompts(None, tmp_path), Prompts(tmp_path / "prompts.json", tmp_path)):
        found = prompts.lookup(source(tmp_path, "0001.mp4"))
        assert found[:3] == ("A black horse gallops over a meadow.", Subject("horse", "a black horse", "list"), "list")
        assert prompts.lookup(source(tmp_path, "0012.mp4")).prompt == "Two cats play."
        assert prompts.lookup(source(tmp_path, "model/0012.mp4")).prompt == "Two cats play."
        assert prompts.lookup(source(tmp_path, "0003.mp4")) == (None, None, "none", {}, None)
    assert len(prompts) == 2
    assert prompts.unmatched(["0001.mp4"]) == ["0012"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.csv", 'clip,prompt\na.mp4,"a dog, wet, runs"\nm/b.mp4,a cat\n'),
        ("p.csv", '\ufeffVideo Path,Caption\na.mp4,"a dog, wet, runs"\nm/b.mp4,a cat\n'),
        ("p.tsv", "file\ttext\na.mp4\ta dog, wet, runs\nm/b.mp4\ta cat\n"),
        ("p.jsonl", '{"clip": "a.mp4", "prompt": "a dog, wet, runs"}\n\n{"clip": "m/b.mp4", "prompt": "a cat"}\n'),
        ("p.json", '[{"video": "a.mp4", "prompt": "a dog, wet, runs"}, {"video": "m/b.mp4", "prompt": "a cat"}]'),
        ("p.json", '{"a.mp4": "a dog, wet, runs", "m/b.mp4": {"prompt": "a cat"}}'),
        ("p.csv", 'clip,prompt\na,"a dog, wet, runs"\nm/b,a cat\n'),
        ("p.csv", 'clip,prompt\n./a.mp4,"a dog, wet, runs"\n/data/x/m/b.mp4,a cat\n'),
    ],
)
def test_forms_of_lists(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    prompts = Prompts(tmp_path / name, tmp_path)
    first = prompts.lookup(source(tmp_path, "a.mp4"))
    assert first[:3] == ("a dog, wet, runs", Subject("dog", "a dog", "rule"), "list")
    assert prompts.lookup(source(tmp_path, "m/b.mp4")).prompt == "a cat"
    assert prompts.unmatched([]) != []


def test_path_tells_equal_names_apart(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("clip,prompt\nm1/a.mp4,a dog\nm2/a.mp4,a cat\n")
    prompts = Prompts(tmp_path / "p.csv", tmp_path)
    assert prompts.lookup(source(tmp_path, "m1/a.mp4")).prompt == "a dog"
    assert prompts.lookup(source(tmp_path, "m2/a.mp4")).prompt == "a cat"
    assert prompts.lookup(source(tmp_path, "m3/a.mp4")).prompt is None


def test_contradiction_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("clip,prompt\na.mp4,a dog\na.mp4,a cat\n")
    with pytest.raises(SetupError, match=r"p\.csv, line 3: a\.mp4 has another prompt in p\.csv, line 2"):
        Prompts(tmp_path / "p.csv", tmp_path)
    (tmp_path / "p.csv").write_text("clip,prompt\na.mp4,a dog\na.mp4,a dog\n")
    assert Prompts(tmp_path / "p.csv").lookup(source(tmp_path, "a.mp4")).prompt == "a dog"


def test_list_beside_the_clips_of_each_model(tmp_path: Path) -> None:
    (tmp_path / "m1").mkdir()
    (tmp_path / "m1" / "prompts.csv").write_text("clip,prompt\na.mp4,a dog\n")
    (tmp_path / "prompts.csv").write_text("clip,prompt\nm2/a.mp4,a cat\n")
    prompts = Prompts(None, tmp_path)
    assert prompts.lookup(source(tmp_path, "m1/a.mp4")).prompt == "a dog"
    assert prompts.lookup(source(tmp_path, "m2/a.mp4")).prompt == "a cat"


def test_samples_of_the_repository() -> None:
    root = Path(__file__).parents[1] / "data" / "samples"
    sources = discover([root])
    prompts = Prompts(None, root)
    with (root / "prompts.csv").open() as file:
        expected = {row["clip"]: row["prompt"] for row in csv.DictReader(file)}
    assert {s.name: prompts.lookup(s).prompt for s in sources} == expected


def test_sidecar(tmp_path: Path) -> None:
    clip = source(tmp_path, "a.mp4")
    (tmp_path / "a.txt").write_text("  a dog\n runs \n", "utf-8")
    assert Prompts(None, tmp_path).lookup(clip)[:3] == ("a dog runs", Subject("dog", "a dog", "rule"), "sidecar")
    (tmp_path / "frames").mkdir()
    (tmp_path / "frames.txt").write_text("a cat")
    assert Prompts().lookup(Source(tmp_path / "frames", "frames", None, tmp_path)).prompt == "a cat"
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ClipError, match=r"a\.txt beside the clip"):
        Prompts(None, tmp_path).lookup(clip)
    (tmp_path / "a.txt").write_text("x" * 70_000)
    with pytest.raises(ClipError, match="too long"):
        Prompts(None, tmp_path).lookup(clip)


def test_the_object_beside_a_clip_as_mochi_writes_it(tmp_path: Path) -> None:
    clip = source(tmp_path, "output_1730000000.mp4")
    made = {"height": 480, "prompt": "\nA hand picks up\na lemon.\n", "negative_prompt": "", "seed": 1}
    (tmp_path / "output_1730000000.json").write_text(json.dumps(made, indent=4))
    found = Prompts(None, tmp_path).lookup(clip)
    assert (found.prompt, found.source) == ("A hand picks up a lemon.", "sidecar")
    for other in ("[1, 2]", "{not json", '{"prompt": 3}', '{"prompt": "x"' + " " * 70_000 + "}"):
        (tmp_path / "output_1730000000.json").write_text(other)
        assert Prompts(None, tmp_path).lookup(clip).source == "none"


METADATA = {
    "metadata.csv": "file_name,text,model,fps\nm/a.mp4,a dog runs,wan,16\nm/b.mp4,,hunyuan,16\n",
    "metadata.jsonl": '{"file_name": "m/a.mp4", "caption": "a dog runs", "model": "wan", "objects": [1, 2]}\n'
    '{"file_name": "m/b.mp4", "caption": null, "model": "hunyuan"}\n',
    "metadata.parquet": "",
}


@pytest.mark.parametrize("name", METADATA)
def test_the_metadata_of_a_data_set_give_prompts_and_models(tmp_path: Path, name: str) -> None:
    if name.endswith(".parquet"):
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        rows = {"file_name": ["m/a.mp4", "m/b.mp4"], "prompt": ["a dog runs", None], "model": ["wan", "hunyuan"]}
        pq.write_table(pa.table({**rows, "thumbnail": [b"x", b"y"]}), tmp_path / name)
    else:
        (tmp_path / name).write_text(METADATA[name])
    prompts = Prompts(None, tmp_path)
    first, second = (prompts.lookup(source(tmp_path, f"m/{stem}.mp4")) for stem in "ab")
    assert (first.prompt, first.source, first.model) == ("a dog runs", "list", "wan")
    assert (second.prompt, second.source, second.model) == (None, "none", "hunyuan")
    (tmp_path / "prompts.csv").write_text("clip,prompt\nm/a.mp4,a cat\n")  # a list of prompts comes first
    found = Prompts(None, tmp_path).lookup(source(tmp_path, "m/a.mp4"))
    assert (found.prompt, found.model) == ("a cat", "wan")


@pytest.mark.parametrize(
    "content", [b"camera,lens\nsony,50\n", b"\xff\xfe\x00", b"[" * 10_000, b"", b"file_name\n", b"a\tb\n1\t2\t3\n"]
)
@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_other_files_called_metadata_are_left_alone(tmp_path: Path, suffix: str, content: bytes) -> None:
    clip = source(tmp_path, "a dog runs-0.mp4")
    (tmp_path / f"metadata.{suffix}").write_bytes(content)
    assert Prompts(None, tmp_path).lookup(clip).source == "name:vbench"


@pytest.mark.parametrize(
    "rows",
    [
        [
            {"file_name": "a.mp4", "text": "a dog"},
            {"file_name": "a.mp4", "text": "a cat"},
        ],  # captions by several people
        [
            {"file_name": ["a.mp4"], "text": "x"},
            {"file_name": "a.mp4", "text": "a dog", "tags": ["x"], "model": {"a": 1}},
        ],
        [{"file_name": {}}, {"file_name": "a.mp4", "prompt": ["x"], "caption": "a dog"}],
    ],
)
def test_odd_rows_of_metadata_do_not_stop_a_run(tmp_path: Path, rows: list[object]) -> None:
    (tmp_path / "metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = Prompts(None, tmp_path).lookup(source(tmp_path, "a.mp4"))
    assert (found.prompt, found.source, found.model) == ("a dog", "list", None)


def test_a_list_in_parquet(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"clip": ["a.mp4"], "prompt": ["a dog runs"]}), tmp_path / "list.parquet")
    assert Prompts(tmp_path / "list.parquet").lookup(source(tmp_path, "a.mp4")).prompt == "a dog runs"


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("a dog runs-3.mp4", "a dog runs"),
        ("a well-lit room-0.gif", "a well-lit room"),
        ("clip-3.mp4", None),
        ("a dog.mp4", None),
    ],
)
def test_prompt_in_the_name(tmp_path: Path, name: str, prompt: str | None) -> None:
    found = Prompts(None, tmp_path).lookup(source(tmp_path, name))
    assert (found.prompt, found.source) == (prompt, "name:vbench" if prompt else "none")


def test_list_given_comes_before_the_rest(tmp_path: Path) -> None:
    clip = source(tmp_path, "a cat sits-1.mp4")
    (tmp_path / "given.csv").write_text("clip,prompt\na cat sits-1.mp4,a dog\n")
    prompts = Prompts(tmp_path / "given.csv", tmp_path)
    assert prompts.lookup(clip).prompt == "a dog"
    assert prompts.lookup(source(tmp_path, "a cow sits-1.mp4")).source == "name:vbench"


def test_subject_given_holds_for_all(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("clip,prompt,subject_noun\na.mp4,a dog runs,dog\n")
    prompts = Prompts(tmp_path / "p.csv", tmp_path, subject="the red ball")
    for name in ("a.mp4", "b.mp4"):
        assert prompts.lookup(source(tmp_path, name)).subject == Subject("ball", "the red ball", "option")


def test_subject_alone(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("clip,subject\na.mp4,two grey seals\n")
    found = Prompts(tmp_path / "p.csv", tmp_path).lookup(source(tmp_path, "a.mp4"))
    assert found[:3] == (None, Subject("seals", "two grey seals", "list"), "list")


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("p.json", b"{not json", "not readable as JSON"),
        ("p.json", b'["a dog", "a cat"]', "entry 1: expected an object"),
        ("p.json", b"[" * 100_000, "not readable as JSON"),
        ("p.json", b'[{"prompt": "a dog"}]', "entry 1: expected a column clip"),
        ("p.json", b'[{"clip": "a.mp4"}]', "expected a prompt or a subject"),
        ("p.json", b'[{"clip": "a.mp4", "prompt": ["x"]}]', "expected text in prompt but got list"),
        ("p.csv", b"clip,prompt\na.mp4,a dog, wet\n", "line 2: 3 cells but 2 columns"),
        ("p.csv", b"clip,prompt\na.mp4,\xff\xfe\n", "expected UTF-8"),
        ("p.xlsx", b"PK", "expected UTF-8|expected a prompt list"),
    ],
)
def test_lists_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, match: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SetupError, match=match):
        Prompts(tmp_path / name)


@pytest.mark.parametrize("prompt", ["'Tis the season", "'-ish colours", "'@home", "''quoted''"])
def test_apostrophes_in_the_table_of_somebody_else_are_theirs(tmp_path: Path, prompt: str) -> None:
    (tmp_path / "list.csv").write_text(f"clip,prompt\na.mp4,{prompt}\n")
    (entry,) = read_list(tmp_path / "list.csv")
    assert entry.prompt == prompt


def test_the_guard_of_our_own_table_is_taken_off(tmp_path: Path) -> None:
    rows = [("clip", "prompt", "sha256"), ("=a.mp4", "'@home", "0"), ("b.mp4", "-ish", "1")]
    (tmp_path / "scores.csv").write_text(csv_text(rows))
    assert [(e.clip, e.prompt) for e in read_list(tmp_path / "scores.csv")] == [("=a.mp4", "'@home"), ("b.mp4", "-ish")]


def test_missing_list(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="Cannot read the prompt list"):
        Prompts(tmp_path / "nowhere.csv")


def test_nothing_outside_is_read(tmp_path: Path) -> None:
    root = tmp_path / "root"
    clip = source(root, "a.mp4")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "secret.csv").write_text("clip,prompt\na.mp4,secret\n")
    (root / "a.txt").symlink_to(tmp_path / "secret.txt")
    (root / "prompts.csv").symlink_to(tmp_path / "secret.csv")
    assert Prompts(None, root).lookup(clip).prompt is None
    (tmp_path / "prompts.csv").write_text("clip,prompt\na.mp4,above\n")
    assert Prompts(None, root).lookup(clip).prompt is None
    given = tmp_path / "given.csv"
    given.write_text("clip,prompt\n../../etc/passwd,x\n/etc/shadow,y\n")
    prompts = Prompts(given, root)
    assert prompts.lookup(clip).prompt is None


def test_a_prompt_beyond_all_bounds_is_refused_and_not_cut(tmp_path: Path) -> None:
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps({"a.mp4": "a dog\t" * 20_000, "b.mp4": "x" * 100_000}))
    prompts = Prompts(listed, tmp_path)
    with pytest.raises(ClipError, match=r"1[12][0-9],[0-9]{3} characters.* shorten it to 100,000"):
        prompts.lookup(source(tmp_path, "a.mp4"))
    assert prompts.lookup(source(tmp_path, "b.mp4")).prompt == "x" * 100_000


def test_names_match_however_accents_are_written(tmp_path: Path) -> None:
    (tmp_path / "prompts.json").write_text(json.dumps({"\u00e9.mp4": "a dog runs"}), "utf-8")
    prompts = Prompts(tmp_path / "prompts.json")
    source = Source(tmp_path / "e\u0301.mp4", "e\u0301.mp4")
    assert prompts.lookup(source).prompt == "a dog runs"
    assert prompts.unmatched([source.name]) == []


def test_samples_of_a_prompt_are_found_by_its_index(tmp_path: Path) -> None:
    """As ``generate-clips --samples`` names them; an entry of the whole name comes first."""
    file = tmp_path / "list.json"
    file.write_text('[{"index": "0003", "prompt": "A dog runs."}, {"clip": "0004-2", "prompt": "A cat runs."}]')
    prompts = Prompts(file)

    def text(name: str) -> str | None:
        return prompts.lookup(Source(tmp_path / name, name)).prompt

    assert [text(name) for name in ("0003-1.mp4", "wan/0003-12.mp4", "0004-2.mp4")] == ["A dog runs."] * 2 + [
        "A cat runs."
    ]
    assert text("0005-1.mp4") is None
    assert prompts.unmatched(["0003-1.mp4", "0004-2.mp4"]) == []


def test_a_list_of_no_such_name_is_told_those_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SetupError, match="There is no file nope, and no list of that name: library, core, core-300"):
        Prompts("nope")
    (tmp_path / "core").mkdir()
    monkeypatch.chdir(tmp_path)
    assert len(Prompts("core")) == 720  # a folder is no list
