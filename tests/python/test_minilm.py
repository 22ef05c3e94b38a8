"""`sotto/minilm`: a BERT is converted from its safetensors; the weights' sources, and what is damaged."""

from __future__ import annotations

import hashlib
import io
import json
import struct
from array import array
from pathlib import Path
from typing import Any

import pytest

import sotto
from sotto import _bert, _hub, _minilm
from sotto.cli import main
from tiny_encoder import CONTEXT, HEADS, HIDDEN, LAYERS, SPECIAL, WIDTH, TinyEncoder

ENCODER = TinyEncoder(5)
WORDS = [*SPECIAL, "the", "king", "moon", "##s", "##ing", "gold"]
SIZES = _bert.Encoder("tiny", LAYERS, WIDTH, HEADS, HIDDEN, CONTEXT, len(WORDS))


def safetensors(without: str = "", kind: str = "F32") -> bytes:
    """The weights of the tiny encoder, as transformers names them."""
    weights = {"token_embd.weight": ENCODER.weights["token_embd.weight"][: WIDTH * len(WORDS)]}
    weights = {**ENCODER.weights, **weights}
    names = {"token_embd": "embeddings.word_embeddings", "position_embd": "embeddings.position_embeddings"}
    names |= {"token_types": "embeddings.token_type_embeddings", "token_embd_norm": "embeddings.LayerNorm"}
    for layer in range(LAYERS):
        for theirs, ours in _bert._PARTS.items():
            names[f"blk.{layer}.{ours}"] = f"encoder.layer.{layer}.{theirs}"
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, values in weights.items():
        base, _, part = name.rpartition(".")
        bias = len(weights.get(f"{base}.bias", ()))
        rows = bias if bias and "norm" not in base else len(values) // WIDTH
        shape = [len(values)] if part == "bias" or "norm" in base else [rows, len(values) // rows]
        raw = array("f", values).tobytes()
        if name != without:
            offsets = [len(data), len(data) + len(raw)]
            header[f"{names[base]}.{part}"] = {"dtype": kind, "shape": shape, "data_offsets": offsets}
        data += raw
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + data


def converted(weights: bytes, vocabulary: str = "\n".join(WORDS)) -> bytes:
    """The GGUF file."""
    to = io.BytesIO()
    _bert.write(SIZES, io.BytesIO(weights), vocabulary, to)
    return to.getvalue()


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An installed package with the weights, an empty cache, and no network. Returns the package's folder."""
    from huggingface_hub import constants

    weights, vocabulary = safetensors(), "\n".join(WORDS).encode()
    made = converted(weights)
    found = {_minilm.WEIGHTS: weights, _minilm.VOCABULARY: vocabulary}
    sums = {name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in found.items()}
    monkeypatch.setattr(_minilm, "SOURCES", sums)
    monkeypatch.setattr(_minilm, "SIZES", SIZES)
    monkeypatch.setattr(_minilm, "BYTES", len(made))
    monkeypatch.setattr(_minilm, "SHA256", hashlib.sha256(made).hexdigest())
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("sotto._web._WAITS", ())
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_RETRIES", "0")
    package = tmp_path / "site" / _minilm.PACKAGE / "model"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("raise ImportError('torch is not here')")
    for name, data in found.items():
        (package / name).write_bytes(data)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return package


@pytest.mark.real
def test_a_converted_encoder_has_the_vectors_of_the_reference(tmp_path: Path) -> None:
    file = tmp_path / "tiny.gguf"
    file.write_bytes(converted(safetensors()))
    with sotto.Engine("cpu", threads=1) as engine:
        engine.load_model("tiny", path=file)
        read = json.loads(engine.tokenize({"model": "tiny", "content": "The kings", "add_special": True}))[
            "tokens"
        ]
        assert read == [2, 5, 6, 8, 3]
        (vector,) = engine.embeddings("The kings").vectors
    assert max(abs(x - y) for x, y in zip(vector, ENCODER.vector(read), strict=True)) < 3e-3  # bfloat16


@pytest.mark.parametrize(
    ("weights", "vocabulary", "what"),
    [
        (b"", "", "tokens"),
        (b"", "\n".join(WORDS), "header of 0 bytes"),
        (struct.pack("<Q", 1 << 40), "\n".join(WORDS), "header of 1099511627776 bytes"),
        (struct.pack("<Q", 5) + b"hello", "\n".join(WORDS), "expected a safetensors file"),
        (struct.pack("<Q", 2) + b"[]", "\n".join(WORDS), "expected a safetensors file"),
        (
            safetensors(without="blk.1.ffn_up.bias"),
            "\n".join(WORDS),
            "encoder.layer.1.intermediate.dense.bias",
        ),
        (safetensors(kind="F16"), "\n".join(WORDS), "float32 values"),
        (safetensors()[:-8], "\n".join(WORDS), "the weights end"),
    ],
)
def test_damaged_weights_are_refused(weights: bytes, vocabulary: str, what: str) -> None:
    with pytest.raises(sotto.ModelLoadError, match=what):
        converted(weights, vocabulary)


@pytest.mark.real
def test_the_installed_package_is_converted_once_and_needs_no_network(
    sources: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _minilm.base() is None
    with sotto.Engine("cpu", threads=1) as engine:
        engine.load_model("sotto/minilm")
        assert len(engine.embeddings("the king").vectors[0]) == WIDTH
    path = _hub.find("sotto/minilm")
    assert main(["models", "pull", "minilm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["path"] == path
    (sources / _minilm.WEIGHTS).unlink()
    assert _minilm.pull() == path == str(_minilm.base())


def test_weights_that_are_damaged_or_missing_are_refused_with_every_reason(sources: Path) -> None:
    weights = sources / _minilm.WEIGHTS
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    with pytest.raises(sotto.ModelLoadError, match=r"model\.safetensors is damaged: its SHA-256 is"):
        _minilm.find()
    weights.unlink()
    with pytest.raises(sotto.ModelLoadError, match="sotto models pull minilm"):
        _hub.find("sotto/minilm")
    with pytest.raises(sotto.ModelLoadError, match=r"Hugging Face.*The package index.*Or install"):
        _minilm.pull()
    assert not list(Path(sources.parents[2], "hub").rglob("*.gguf"))
