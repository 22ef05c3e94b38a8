"""Ways to damage a model on purpose: types, tensors, hyperparameters, tokenizers."""

from __future__ import annotations

import random
from collections.abc import Callable

from gguf_model import REALS, STRING, TYPES, Model, Tensor, Value

ODD = (0, 1, 2, 3, 5, 7, 64, 255, 256, 4096, 65535, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, -1)
ODD_REALS = (0.0, -1.0, 1e-45, 1e38, float("inf"), float("nan"), 0.5, 1.0)
LENGTHS = (0, 1, 2, 300, 2000, 2048, 2049, 60_000, 1_000_000)
TOKENIZERS = ("llama", "bert", "gpt2", "t5", "rwkv", "plamo2", "gemma4", "hybriddna", "no_vocab", "none", "x")
PRETOKENIZERS = (
    "default",
    "llama-bpe",
    "deepseek-llm",
    "falcon",
    "qwen2",
    "gpt-4o",
    "tekken",
    "kimi-k2",
    "x",
)
_NAMES = """
    llama llama4 deci falcon grok gpt2 gptj gptneox mpt baichuan starcoder refact bert modern-bert nomic-bert
    nomic-bert-moe neo-bert jina-bert-v2 bloom stablelm qwen qwen2 qwen2moe qwen2vl qwen3 qwen3moe qwen3next
    qwen35 qwen35moe qwen3vl qwen3vlmoe phi2 phi3 phimoe plamo plamo2 plamo3 codeshell orion internlm2 minicpm
    minicpm3 gemma gemma2 gemma3 gemma3n gemma4 gemma-embedding starcoder2 rwkv6 rwkv6qwen2 rwkv7 arwkv7 mamba
    mamba2 jamba falcon-h1 xverse command-r cohere2 cohere2moe dbrx olmo olmo2 olmoe openelm arctic deepseek
    deepseek2 deepseek32 deepseek4 chatglm glm4 glm4moe glm-dsa bitnet t5 t5encoder jais jais2 nemotron
    nemotron_h nemotron_h_moe exaone exaone4 exaone-moe granite granitemoe granitehybrid chameleon
    wavtokenizer-dec plm bailingmoe bailingmoe2 bailingmoe3 dots1 arcee ernie4_5 ernie4_5-moe hunyuan-moe
    hunyuan-dense hunyuan-vl smollm3 gpt-oss lfm2 lfm2moe dream smallthinker llada llada-moe seed_oss grovemoe
    minimax-01 minimax-m2 minimax-m3 cogvlm rnd1 pangu-embedded apertus mistral3 mistral4 mimo2 paddleocr
    afmoe kimi-linear kimi-k3 step35 maincoder eagle3 dflash hy-v3 hy-v4 glm5-next muse-glimmer
"""
ARCHITECTURES = _NAMES.split()

Mutation = Callable[[Model, random.Random], str]


def some(model: Model, dice: random.Random) -> tuple[str, Tensor]:
    """Draws a tensor."""
    name = dice.choice(list(model.tensors))
    return name, model.tensors[name]


def change_type(model: Model, dice: random.Random) -> str:
    """Gives a tensor, or all of its role, another type."""
    name, tensor = some(model, dice)
    kinds = [
        kind for kind, (block, _) in TYPES.items() if tensor.shape[0] % block == 0 and kind != tensor.kind
    ]
    kind = dice.choice(kinds)
    role = ".".join(part for part in name.split(".") if not part.isdigit())
    everywhere = dice.random() < 0.5
    for other, one in model.tensors.items():
        same = ".".join(part for part in other.split(".") if not part.isdigit()) == role
        if (other == name or (everywhere and same)) and one.shape[0] % TYPES[kind][0] == 0:
            one.kind = kind
            one.refit()
    return f"type of {role if everywhere else name} = {kind}"


def drop_tensor(model: Model, dice: random.Random) -> str:
    """Leaves out a tensor, or a few."""
    gone = [dice.choice(list(model.tensors)) for _ in range(dice.choice((1, 1, 1, 2, 5)))]
    for name in gone:
        if len(model.tensors) > 1:
            model.tensors.pop(name, None)
    return f"without {gone}"


def change_shape(model: Model, dice: random.Random) -> str:
    """Gives a tensor another shape."""
    name, tensor = some(model, dice)
    at = dice.randrange(len(tensor.shape))
    how = dice.randrange(4)
    if how == 0:
        tensor.shape.reverse()
    elif how == 1:
        tensor.shape[at] = max(1, tensor.shape[at] * dice.choice((2, 3)))
    elif how == 2:
        tensor.shape[at] = max(1, tensor.shape[at] // dice.choice((2, 4, 1 << 20)))
    elif len(tensor.shape) < 4:
        tensor.shape.append(1)
    if tensor.shape[0] % TYPES[tensor.kind][0]:
        tensor.kind = 0
    tensor.refit()
    return f"shape of {name} = {tensor.shape}"


def rename_tensor(model: Model, dice: random.Random) -> str:
    """Gives a tensor the name of another role."""
    name, _ = some(model, dice)
    parts = name.split(".")
    other = dice.choice(list(model.tensors)).split(".")
    new = ".".join([*parts[:-2], other[-2], parts[-1]]) if len(parts) > 2 and len(other) > 2 else name + "x"
    if new not in model.tensors:
        model.tensors[new] = model.tensors.pop(name)
    return f"{name} is called {new}"


def change_number(model: Model, dice: random.Random) -> str:
    """Gives a hyperparameter another value."""
    of = ("clip.",) if model.architecture == "clip" else (model.architecture + ".",)
    keys = [key for key, value in model.values.items() if key.startswith(of) and value.kind != STRING]
    key = dice.choice(keys)
    value = model.values[key]
    odd = dice.choice(ODD_REALS if value.kind in REALS else ODD)
    if not value.array and dice.random() < 0.4 and isinstance(value.value, int):
        odd = dice.choice(
            (value.value * 2, value.value // 2, value.value + 1, value.value - 1, value.value * 16)
        )
    if value.array and value.value:
        at = dice.randrange(len(value.value))
        value.value = (
            value.value[: dice.choice((at, len(value.value)))] if dice.random() < 0.3 else value.value
        )
        if at < len(value.value):
            value.value[at] = odd
    else:
        value.value = odd
    return f"{key} = {str(value.value)[:60]}"


def drop_number(model: Model, dice: random.Random) -> str:
    """Leaves out an entry of the metadata."""
    key = dice.choice([key for key in model.values if key != "general.architecture"])
    del model.values[key]
    return f"without {key}"


def spread_number(model: Model, dice: random.Random) -> str:
    """Makes a hyperparameter a list with one value a layer."""
    of = model.architecture + "."
    keys = [
        key for key, one in model.values.items() if key.startswith(of) and not one.array and one.kind == 4
    ]
    if not keys:
        return change_number(model, dice)
    key = dice.choice(keys)
    value = model.values[key]
    layers = model.values.get(of + "block_count", Value(4, 2)).value
    layers = layers if isinstance(layers, int) else 2
    value.value = [dice.choice((0, value.value, value.value, 1)) for _ in range(min(layers, 64))]
    value.array = True
    return f"{key} = {value.value}"


def change_architecture(model: Model, dice: random.Random) -> str:
    """Calls the model another architecture, and perhaps changes a number too."""
    old, new = model.architecture, dice.choice(ARCHITECTURES)
    if old == "clip":
        return change_number(model, dice)
    model.values["general.architecture"].value = new
    for key in list(model.values):
        if key.startswith(old + "."):
            model.values[new + key[len(old) :]] = model.values.pop(key)
    more = change_number(model, dice) if dice.random() < 0.6 else ""
    return f"architecture {new} {more}"


def change_token(model: Model, dice: random.Random) -> str:
    """Gives tokens other lengths, kinds or spellings."""
    tokens = model.values.get("tokenizer.ggml.tokens")
    if tokens is None or not tokens.value:
        return change_type(model, dice)
    at, length = dice.randrange(len(tokens.value)), dice.choice(LENGTHS)
    letters = dice.choice((b"a", b"ab", "\u2581".encode(), "\U0001f600".encode(), b"\\x", b"\xff", b" "))
    how = dice.randrange(4)
    said = ""
    if how == 0:
        for i in range(at, min(at + 40, len(tokens.value))):
            tokens.value[i] = (letters * length)[: min(length, 2048)] + str(i).encode()
        said = f"40 tokens of {min(length, 2048)} x {letters!r}"
    else:
        tokens.value[at] = (letters * length)[:length]
        said = f"token {at} = {length} x {letters!r}"
    if how == 2 and (kinds := model.values.get("tokenizer.ggml.token_type")):
        kinds.value[at] = dice.choice((0, 1, 2, 3, 4, 5, 6, 7, -1))
    if dice.random() < 0.7:
        said += ", " + change_tokenizer(model, dice)
    return said


def change_tokenizer(model: Model, dice: random.Random) -> str:
    """Names another tokenizer, damages its tables or its special tokens."""
    kind = dice.choice(TOKENIZERS)
    model.values["tokenizer.ggml.model"] = Value(STRING, kind)
    said = f"tokenizer {kind}"
    if dice.random() < 0.5:
        model.values["tokenizer.ggml.pre"] = Value(STRING, dice.choice(PRETOKENIZERS))
        said += f" pre {model.values['tokenizer.ggml.pre'].value}"
    if dice.random() < 0.5:
        words = [b"a b", b" ", b"", b"ab", b"t h e", b"\xff \xff", b"a" * 3000 + b" b", b"x " * 100]
        model.values["tokenizer.ggml.merges"] = Value(STRING, dice.choices(words, k=20), array=True)
        said += " merges"
    if kind == "t5" and dice.random() < 0.7:
        size = dice.choice((0, 3, 4, 8, 64, 4096))
        blob = list(dice.choice((0, 4, 8, 60, 1 << 30)).to_bytes(4, "little") + dice.randbytes(size))[
            : size + 1
        ]
        model.values["tokenizer.ggml.precompiled_charsmap"] = Value(0, blob, array=True)
        said += f" charsmap {size}"
    if dice.random() < 0.3:
        role = dice.choice(("bos", "eos", "unknown", "padding", "eot", "fim_pre", "mask"))
        key = f"tokenizer.ggml.{role}_token_id"
        model.values[key] = Value(4, dice.choice(ODD) % (1 << 32))
        said += f" {key} {model.values[key].value}"
    return said


def cut_list(model: Model, dice: random.Random) -> str:
    """Shortens a list."""
    keys = [key for key, value in model.values.items() if value.array and value.value]
    if not keys:
        return change_shape(model, dice)
    key = dice.choice(keys)
    model.values[key].value = model.values[key].value[
        : dice.choice((0, 1, len(model.values[key].value) // 2))
    ]
    return f"{key} cut to {len(model.values[key].value)}"


MUTATIONS: tuple[tuple[Mutation, int], ...] = (
    (change_type, 30), (drop_tensor, 12), (change_shape, 10), (rename_tensor, 3), (change_number, 25),
    (drop_number, 6), (spread_number, 4), (change_architecture, 12), (change_token, 12),
    (change_tokenizer, 8), (cut_list, 4),
)  # fmt: skip


def mutate(model: Model, dice: random.Random) -> str:
    """Changes a model once, at times twice or three times. Returns what was changed."""
    kinds, weights = zip(*MUTATIONS, strict=True)
    return "; ".join(one(model, dice) for one in dice.choices(kinds, weights, k=dice.choice((1, 1, 1, 2, 3))))
