"""Writes a GGUF file of a BERT encoder from its safetensors and vocabulary, with the standard library alone.

llama.cpp's own converter needs torch and transformers: 3 GB, for a model of 46 MB. The tensors written here
are those that it writes, byte for byte.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

from .errors import ModelLoadError

_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_F32, _F16 = 0, 1
_MOST_HEADER = 1 << 20  # bytes of the header of a safetensors file
_ALIGNMENT = 32
_NORMAL, _CONTROL = 1, 3  # kinds of tokens
_SPECIAL = {"bos": "[CLS]", "unknown": "[UNK]", "seperator": "[SEP]", "padding": "[PAD]", "mask": "[MASK]"}
_PARTS = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}


class Encoder(NamedTuple):
    """Sizes of an encoder.

    Attributes:
        name: Name in the file.
        layers: Number of layers.
        width: Values of a token's vector.
        heads: Attention heads of a layer.
        hidden: Values inside a feed-forward layer.
        context: Maximum tokens of a text.
        tokens: Size of the vocabulary.
    """

    name: str
    layers: int
    width: int
    heads: int
    hidden: int
    context: int
    tokens: int


class Tensor(NamedTuple):
    """A tensor of the GGUF file.

    Attributes:
        name: Its name.
        shape: Its extents, the length of a row first.
        kind: Its type in ggml.
        begin: Where its float32 values begin in the safetensors file.
    """

    name: str
    shape: tuple[int, ...]
    kind: int
    begin: int

    @property
    def values(self) -> int:
        """Number of values."""
        return self.shape[0] * (self.shape[1] if len(self.shape) > 1 else 1)

    @property
    def bytes(self) -> int:
        """Bytes in the GGUF file."""
        return self.values * (4 if self.kind == _F32 else 2)


def write(encoder: Encoder, weights: BinaryIO, vocabulary: str, to: BinaryIO) -> None:
    """Writes the GGUF file.

    Args:
        encoder: Sizes of the encoder; its pooling is the mean.
        weights: A safetensors file of float32 tensors, named as transformers does.
        vocabulary: A token on each line.
        to: Receives the file.

    Raises:
        ModelLoadError: A tensor or a token is missing, or has another size than expected.
    """
    tokens = vocabulary.split("\n")[: encoder.tokens]
    if len(tokens) != encoder.tokens or any(token not in tokens for token in _SPECIAL.values()):
        raise ModelLoadError(
            f"the vocabulary has {len(tokens)} tokens: expected {encoder.tokens}, with [CLS]"
        )
    tensors = list(_tensors(encoder, _header(weights)))
    values = list(_values(encoder, tokens))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)) + b"".join(values)
    offset = 0
    for tensor in tensors:
        extents = struct.pack(f"<{len(tensor.shape)}Q", *tensor.shape)
        head += _text(tensor.name) + struct.pack("<I", len(tensor.shape)) + extents
        head += struct.pack("<IQ", tensor.kind, offset)
        offset += _aligned(tensor.bytes)
    to.write(head.ljust(_aligned(len(head)), b"\0"))
    for tensor in tensors:
        weights.seek(tensor.begin)
        for row in range(0, tensor.values, tensor.shape[0]):
            data = weights.read(4 * tensor.shape[0])
            if len(data) != 4 * tensor.shape[0]:
                raise ModelLoadError(f"the weights end within row {row} of {tensor.name}")
            to.write(data if tensor.kind == _F32 else _halved(data))
        to.write(bytes(_aligned(tensor.bytes) - tensor.bytes))


def _halved(data: bytes) -> bytes:
    """Returns float32 values as float16, rounded to even."""
    count = len(data) // 4
    return struct.pack(f"<{count}e", *struct.unpack(f"<{count}f", data))


def _header(weights: BinaryIO) -> dict[str, Any]:
    """Returns the tensors of a safetensors file, with the offset of their data in the file."""
    (size,) = struct.unpack("<Q", weights.read(8).ljust(8, b"\0"))
    if not 2 <= size <= _MOST_HEADER:
        raise ModelLoadError(f"invalid header of {size} bytes: expected a safetensors file")
    try:
        header: dict[str, Any] = json.loads(weights.read(size))
    except ValueError:
        header = {}
    if not isinstance(header, dict) or not header:
        raise ModelLoadError("invalid header: expected a safetensors file")
    return {**header, "": {"begin": 8 + size}}


def _tensors(encoder: Encoder, header: dict[str, Any]) -> Iterator[Tensor]:
    width, hidden = encoder.width, encoder.hidden

    def pair(ours: str, theirs: str, *shape: int) -> Iterator[Tensor]:
        yield tensor(f"{ours}.weight", f"{theirs}.weight", *shape)
        yield tensor(f"{ours}.bias", f"{theirs}.bias", shape[-1])

    def tensor(ours: str, theirs: str, *shape: int) -> Tensor:
        found = header.get(theirs, {})
        begin, end = found.get("data_offsets", (0, 0))
        expected = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        if (
            found.get("dtype") != "F32"
            or found.get("shape") != list(reversed(shape))
            or end - begin != expected
        ):
            raise ModelLoadError(f"the weights lack '{theirs}' of {'x'.join(map(str, shape))} float32 values")
        small = len(shape) == 1 or ours.startswith(
            ("position", "token_types")
        )  # as llama.cpp's converter does
        return Tensor(ours, shape, _F32 if small else _F16, header[""]["begin"] + begin)

    yield tensor("token_embd.weight", "embeddings.word_embeddings.weight", width, encoder.tokens)
    yield tensor("position_embd.weight", "embeddings.position_embeddings.weight", width, encoder.context)
    yield tensor("token_types.weight", "embeddings.token_type_embeddings.weight", width, 2)
    yield from pair("token_embd_norm", "embeddings.LayerNorm", width)
    shapes = {"ffn_up": (width, hidden), "ffn_down": (hidden, width)}
    for layer in range(encoder.layers):
        for theirs, ours in _PARTS.items():
            shape = (width,) if ours.endswith("norm") else shapes.get(ours, (width, width))
            yield from pair(f"blk.{layer}.{ours}", f"encoder.layer.{layer}.{theirs}", *shape)


def _values(encoder: Encoder, tokens: Sequence[str]) -> Iterator[bytes]:
    yield _value("general.architecture", _STRING, "bert")
    yield _value("general.name", _STRING, encoder.name)
    for key, value in (
        ("context_length", encoder.context),
        ("embedding_length", encoder.width),
        ("block_count", encoder.layers),
        ("feed_forward_length", encoder.hidden),
        ("attention.head_count", encoder.heads),
        ("pooling_type", 1),  # the mean
    ):
        yield _value(f"bert.{key}", _UINT32, value)
    yield _value("bert.attention.layer_norm_epsilon", _FLOAT32, 1e-12)
    yield _value("bert.attention.causal", _BOOL, False)
    yield _value("general.file_type", _UINT32, 1)  # mostly float16
    yield _value("tokenizer.ggml.model", _STRING, "bert")
    yield _value("tokenizer.ggml.pre", _STRING, "jina-v2-en")  # as llama.cpp's converter names it
    yield _value("tokenizer.ggml.normalizer.lowercase", _BOOL, True)
    yield _value("tokenizer.ggml.token_type_count", _UINT32, 2)
    special = set(_SPECIAL.values())
    spelled = [_spelled(token, token in special) for token in tokens]
    yield _list("tokenizer.ggml.tokens", _STRING, spelled)
    kinds = [_CONTROL if token in special else _NORMAL for token in tokens]
    yield _list("tokenizer.ggml.token_type", _INT32, kinds)
    for role, token in _SPECIAL.items():
        yield _value(f"tokenizer.ggml.{role}_token_id", _UINT32, tokens.index(token))


def _spelled(token: str, special: bool) -> str:
    """Returns a token as llama.cpp spells it: a word begins with a block, its continuation with nothing."""
    if special:
        return token
    return token[2:] if token.startswith("##") else f"\u2581{token}"


def _value(key: str, kind: int, value: object) -> bytes:
    return _text(key) + struct.pack("<I", kind) + _packed(kind, value)


def _list(key: str, kind: int, values: Sequence[object]) -> bytes:
    head = _text(key) + struct.pack("<IIQ", _ARRAY, kind, len(values))
    return head + b"".join(_packed(kind, value) for value in values)


def _packed(kind: int, value: object) -> bytes:
    if kind == _STRING:
        return _text(str(value))
    return struct.pack({_UINT32: "<I", _INT32: "<i", _FLOAT32: "<f", _BOOL: "<?"}[kind], value)


def _text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def _aligned(size: int) -> int:
    return size + -size % _ALIGNMENT
