"""Ways to damage a LoRA adapter on purpose: names, ranks, numbers, metadata, layout of the file."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gguf_model import STRING, TYPES, Model, Tensor, Value

U32, F32, F64 = 4, 6, 12
ODD_COUNTS = (0, 1, 1 << 20, (1 << 20) + 1, 1 << 32, (1 << 63) - 1, (1 << 64) - 1)


@dataclass
class Damage:
    """What was changed, and whether the file must be refused."""

    change: str
    must_fail: bool


Mutation = Callable[[Model, random.Random], tuple[str, bool]]
RawMutation = Callable[[bytes, Model, random.Random], tuple[bytes, str, bool]]


def pair(model: Model, dice: random.Random) -> tuple[str, Tensor, Tensor]:
    """Draws a weight's name with its A and B."""
    name = dice.choice([one for one in model.tensors if one.endswith(".lora_a")]).removesuffix(".lora_a")
    return name, model.tensors[f"{name}.lora_a"], model.tensors[f"{name}.lora_b"]


def refit(tensor: Tensor) -> None:
    """Makes the data as long as the shape asks for, in F32 where the rows are no whole blocks."""
    if tensor.shape[0] % TYPES[tensor.kind][0]:
        tensor.kind, tensor.data = 0, b""
    tensor.refit()


def rename(model: Model, dice: random.Random) -> tuple[str, bool]:
    """Gives a tensor a name that no pair or no weight has."""
    old = dice.choice(list(model.tensors))
    stem, _, end = old.rpartition(".")
    layer, module = stem.split(".")[1:3]
    new = dice.choice(
        (
            f"blk.4096.{module}.weight.{end}",
            f"blk.-1.{module}.weight.{end}",
            f"blk.{layer}.attn_x.weight.{end}",
            f"{stem}.lora_c",
            stem,
            f"{stem}{'x' * 80}.{end}",
            f"{stem}\0.{end}",
            f".{end}",
            end,
            "",
        )
    )
    tensors = [(new if name == old else name, tensor) for name, tensor in model.tensors.items()]
    model.tensors = dict(tensors)
    return f"{old} is called {new!r:.60}", True


def drop_half(model: Model, dice: random.Random) -> tuple[str, bool]:
    """Leaves out one of a pair."""
    name = dice.choice(list(model.tensors))
    del model.tensors[name]
    return f"without {name}", True


def change_rank(model: Model, dice: random.Random) -> tuple[str, bool]:
    """Gives a pair rank 0, two ranks, or another rank that fits."""
    name, a, b = pair(model, dice)
    rank = b.shape[0]
    ranks = dice.choice(((0, 0), (0, rank), (rank, 0), (rank + 1, rank), (rank, 2 * rank)))
    must_fail = dice.random() < 0.7
    if not must_fail:
        ranks = (dice.choice((1, 2, 33, 1024)),) * 2
    a.shape[1], b.shape[0] = ranks
    for tensor in (a, b):
        refit(tensor)
    return f"ranks of {name}: {ranks}", must_fail


def change_extent(model: Model, dice: random.Random) -> tuple[str, bool]:
    """Gives A or B a width that the weight does not have, or turns it round."""
    name, a, b = pair(model, dice)
    tensor, at = dice.choice(((a, 0), (b, 1)))
    if dice.random() < 0.3 and tensor.shape[0] != tensor.shape[1]:
        tensor.shape.reverse()
    else:
        tensor.shape[at] = dice.choice((tensor.shape[at] * 2, tensor.shape[at] - 1, tensor.shape[at] + 32))
    refit(tensor)
    return f"shape of {name}: {tensor.shape}", True


def add_extents(model: Model, dice: random.Random) -> tuple[str, bool]:
    """Gives both of a pair more dimensions."""
    name, a, b = pair(model, dice)
    more = dice.choice(([1], [1, 1], [2], [1, 2]))
    for tensor in (a, b):
        tensor.shape += more
        refit(tensor)
    return f"{name} of {len(a.shape)} dimensions", more[0] != 1


def spoil_number(model: Model, dice: random.Random) -> tuple[str, bool]:
    """Puts NaN or infinity in place of a number or of a block's scale."""
    able = [name for name, tensor in model.tensors.items() if tensor.kind in (0, 1, 8)]
    name = dice.choice(able)
    tensor = model.tensors[name]
    odd = dice.choice((float("nan"), float("inf"), float("-inf")))
    form, size = ("<f", 4) if tensor.kind == 0 else ("<e", TYPES[tensor.kind][1])
    at = dice.randrange(len(tensor.data) // size) * size
    raw = struct.pack(form, odd)
    tensor.data = tensor.data[:at] + raw + tensor.data[at + len(raw) :]
    return f"{odd} in {name}", True


def change_value(model: Model, dice: random.Random) -> tuple[str, bool]:
    """Changes what the metadata must say."""
    key, value = dice.choice(
        (
            ("general.type", Value(STRING, "model")),
            ("general.type", Value(U32, 1)),
            ("adapter.type", Value(STRING, "dora")),
            ("adapter.type", Value(STRING, ["lora"], array=True)),
            ("general.architecture", Value(STRING, "gemma3")),
            ("general.architecture", Value(STRING, "")),
            ("adapter.lora.alpha", Value(F32, float("nan"))),
            ("adapter.lora.alpha", Value(F32, float("-inf"))),
            ("adapter.lora.alpha", Value(F64, 16.0)),
            ("adapter.lora.alpha", Value(F32, [16.0], array=True)),
            ("adapter.lora.alpha", Value(STRING, "16")),
            ("adapter.alora.invocation_tokens", Value(U32, [1, 2], array=True)),
            ("general.alignment", Value(U32, 0)),
            ("general.alignment", Value(U32, 48)),
            ("general.alignment", Value(STRING, "32")),
        )
    )
    model.values[key] = value
    return f"{key} = {value.value!r}", True


def drop_value(model: Model, dice: random.Random) -> tuple[str, bool]:
    """Removes one of the metadata keys that an adapter needs."""
    key = dice.choice(("general.type", "adapter.type", "general.architecture"))
    del model.values[key]
    return f"without {key}", True


def change_alpha(model: Model, dice: random.Random) -> tuple[str, bool]:
    """Gives alpha another finite value."""
    alpha = dice.choice((0.0, -1.0, 1e-45, 1e9, 3e38))
    model.values["adapter.lora.alpha"] = Value(F32, alpha)
    return f"alpha = {alpha}", False


def change_type(model: Model, dice: random.Random) -> tuple[str, bool]:
    """Gives all A or all B, or one, another type, whose numbers are zeros."""
    end, kind = dice.choice((".lora_a", ".lora_b")), dice.choice(list(TYPES))
    able = [
        name
        for name, tensor in model.tensors.items()
        if name.endswith(end) and tensor.shape[0] % TYPES[kind][0] == 0
    ]
    if dice.random() < 0.5:
        able = able[:1]
    for name in able:
        tensor = model.tensors[name]
        tensor.kind, tensor.data = kind, b""
        tensor.refit()
    return f"type of {len(able)} {end} = {kind}", False


def add_pair(model: Model, dice: random.Random) -> tuple[str, bool]:
    """Adds a pair for a weight that adapters seldom change."""
    name, _, b = pair(model, dice)
    width, rank = model.tensors["blk.0.attn_q.weight.lora_a"].shape[0], b.shape[0]
    weight = dice.choice(("token_embd", "output", "output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"))
    rows = 1 if weight.endswith("norm") else dice.choice((width, 6144, 512, 1))
    for end, shape in (("a", [width, rank]), ("b", [rank, rows])):
        if weight == "token_embd":
            shape = [rank, width] if end == "b" else [rank, rows]
        tensor = Tensor(shape, 0, b"")
        tensor.refit()
        model.tensors[f"{weight}.weight.lora_{end}"] = tensor
    return f"a pair for {weight} of {rows} rows beside {name}", False


def drop_pair(model: Model, dice: random.Random) -> tuple[str, bool]:
    """Leaves out whole pairs, which makes a smaller adapter."""
    for _ in range(dice.choice((1, 2, 5))):
        name, _, _ = pair(model, dice)
        for end in "ab":
            del model.tensors[f"{name}.lora_{end}"]
    return f"{len(model.tensors)} tensors left", False


def cut(data: bytes, model: Model, dice: random.Random) -> tuple[bytes, str, bool]:
    """Keeps the beginning of the file."""
    begin = len(data) - sum(len(one.data) + -len(one.data) % 32 for one in model.tensors.values())
    kept = dice.choice((dice.randrange(64), dice.randrange(begin), dice.randrange(begin, len(data) - 32)))
    return data[:kept], f"cut to {kept} of {len(data)} bytes", True


def change_count(data: bytes, model: Model, dice: random.Random) -> tuple[bytes, str, bool]:
    """Changes how many tensors or values the header states."""
    at, count = dice.choice(((8, len(model.tensors)), (16, len(model.values))))
    new = dice.choice([odd for odd in (*ODD_COUNTS, count - 1, count + 1, 2 * count) if odd != count])
    return data[:at] + struct.pack("<Q", new) + data[at + 8 :], f"count at {at} = {new}", True


def change_offset(data: bytes, model: Model, dice: random.Random) -> tuple[bytes, str, bool]:
    """Moves the data of a tensor."""
    name = dice.choice(list(model.tensors))
    stated = struct.pack("<Q", len(name)) + name.encode()
    at = data.index(stated) + len(stated) + 4 + 8 * len(model.tensors[name].shape) + 4
    (old,) = struct.unpack_from("<Q", data, at)
    new = dice.choice([odd for odd in (*ODD_COUNTS, old + 1, old + 32, max(old - 32, 1)) if odd != old])
    return data[:at] + struct.pack("<Q", new) + data[at + 8 :], f"offset of {name} = {new}", True


def name_twice(data: bytes, model: Model, dice: random.Random) -> tuple[bytes, str, bool]:
    """Gives two tensors one name."""
    first, second = dice.sample(sorted(model.tensors), 2)
    same = [name for name in model.tensors if len(name) == len(first) and name != first]
    second = dice.choice(same or [second])
    return data.replace(second.encode(), first.encode(), 1), f"{second} is called {first}", True


def flip_bytes(data: bytes, model: Model, dice: random.Random) -> tuple[bytes, str, bool]:
    """Changes single bytes, most of them in the header."""
    begin = len(data) - sum(len(one.data) + -len(one.data) % 32 for one in model.tensors.values())
    changed = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 8, 64))):
        changed[dice.randrange(begin if dice.random() < 0.8 else len(data))] = dice.randrange(256)
    return bytes(changed), "bytes changed", False


def move_bytes(data: bytes, _: Model, dice: random.Random) -> tuple[bytes, str, bool]:
    """Leaves out or repeats some bytes, or adds some at the end."""
    at, count = dice.randrange(len(data)), dice.choice((1, 8, 31, 32, 4096))
    if (how := dice.randrange(3)) == 0:
        return data[:at] + data[at + count :], f"without {count} bytes at {at}", False
    if how == 1:
        return data[:at] + data[at : at + count] + data[at:], f"{count} bytes at {at} twice", False
    return data + bytes(count), f"{count} bytes more", False


PARTS: tuple[Mutation, ...] = (
    rename, drop_half, change_rank, change_extent, add_extents, spoil_number, change_value, drop_value,
    change_alpha, change_type, add_pair, drop_pair,
)  # fmt: skip
RAW: tuple[RawMutation, ...] = (cut, change_count, change_offset, name_twice, flip_bytes, move_bytes)


def damaged(adapter: Model, dice: random.Random, path: Path) -> Damage:
    """Writes an adapter that is changed in one way."""
    model = adapter.copy()
    if dice.random() < 0.4:
        model.write(path)
        data, change, must_fail = dice.choice(RAW)(path.read_bytes(), model, dice)
        path.write_bytes(data)
    else:
        change, must_fail = dice.choice(PARTS)(model, dice)
        model.write(path)
    return Damage(change, must_fail)
