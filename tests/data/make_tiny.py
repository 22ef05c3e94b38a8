"""Writes tiny GGUF models with seeded random weights, for tests. They babble, always the same way."""

import argparse
import random
import struct
from array import array
from pathlib import Path

WIDTH, HEADS, KV_HEADS, HIDDEN, LAYERS, CONTEXT = 128, 4, 2, 192, 2, 512
HEAD = WIDTH // HEADS
ALIGNMENT = 32

UINT32, FLOAT32, BOOL, STRING, ARRAY, INT32 = 4, 6, 7, 8, 9, 5
F32, Q4_0 = 0, 2
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6

WORDS = [
    "the", "a", "king", "queen", "guard", "gate", "gold", "night", "moon", "river", "song", "sword",
    "who", "what", "where", "is", "was", "and", "of", "to", "in",
]  # fmt: skip
CHAT = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] }}"
    "{{ '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def vocabulary() -> list[tuple[str, int, float]]:
    """Tokens as (spelling, type, score), in the manner of SentencePiece with byte fallback."""
    tokens = [("<unk>", UNKNOWN, 0.0), ("<s>", CONTROL, 0.0), ("</s>", CONTROL, 0.0)]
    tokens += [(f"<0x{byte:02X}>", BYTE, 0.0) for byte in range(256)]
    tokens += [("<|im_start|>", CONTROL, 0.0), ("<|im_end|>", CONTROL, 0.0)]
    pieces = ["\u2581", *"etaoinshrdlucmfwypvbgkjqxz.,?!'"]
    for word in WORDS:
        pieces += [word[:end] for end in range(2, len(word) + 1)]
        pieces += ["\u2581" + word[:end] for end in range(1, len(word) + 1)]
    unique = list(dict.fromkeys(pieces))
    return tokens + [(piece, NORMAL, -float(rank)) for rank, piece in enumerate(unique)]


class Gguf:
    """Collects metadata and tensors, then writes them as one file."""

    def __init__(self, architecture: str, seed: int) -> None:
        self.architecture = architecture
        self.values: list[bytes] = []
        self.tensors: list[tuple[str, tuple[int, ...], int, bytes]] = []
        self.random = random.Random(seed)
        self.value("general.architecture", STRING, architecture)
        self.value("general.name", STRING, f"tiny {architecture}")

    def value(self, key: str, kind: int, value: object) -> None:
        """Adds one number, text or truth."""
        self.values.append(text(key) + struct.pack("<I", kind) + packed(kind, value))

    def values_of(self, kind: int, **values: object) -> None:
        """Adds values under the architecture's name; two underscores stand for a dot."""
        for key, value in values.items():
            self.value(f"{self.architecture}.{key.replace('__', '.')}", kind, value)

    def array(self, key: str, kind: int, values: list) -> None:
        """Adds a list."""
        head = text(key) + struct.pack("<IIQ", ARRAY, kind, len(values))
        self.values.append(head + b"".join(packed(kind, value) for value in values))

    def weight(
        self, name: str, *shape: int, scale: float = 0.0, around: float = 0.0, kind: int = F32
    ) -> None:
        """Adds a tensor of normal deviates; its first extent is a row's length."""
        count = 1
        for extent in shape:
            count *= extent
        spread = scale or shape[0] ** -0.5
        numbers = [self.random.gauss(around, spread) for _ in range(count)]
        data = quantised(numbers) if kind == Q4_0 else array("f", numbers).tobytes()
        self.tensors.append((name, shape, kind, data))

    def write(self, path: Path) -> None:
        """Writes the file."""
        infos, data = b"", b""
        for name, shape, kind, content in self.tensors:
            extents = struct.pack(f"<{len(shape)}Q", *shape)
            infos += (
                text(name) + struct.pack("<I", len(shape)) + extents + struct.pack("<IQ", kind, len(data))
            )
            data += padded(content)
        head = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.values))
        path.write_bytes(padded(head + b"".join(self.values) + infos) + data)


def text(value: str) -> bytes:
    """A GGUF string."""
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def packed(kind: int, value: object) -> bytes:
    """One value of a kind."""
    if kind == STRING:
        return text(str(value))
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}[kind], value)


def padded(data: bytes) -> bytes:
    """The bytes up to the next aligned place."""
    return data + bytes(-len(data) % ALIGNMENT)


def quantised(numbers: list[float]) -> bytes:
    """Blocks of 32 numbers as ggml's Q4_0: a half-precision scale, then two numbers a byte."""
    blocks = []
    for start in range(0, len(numbers), 32):
        block = numbers[start : start + 32]
        scale = max(block, key=abs) / -8 or 1.0
        steps = [min(15, int(number / scale + 8.5)) for number in block]
        pairs = bytes(low | high << 4 for low, high in zip(steps[:16], steps[16:], strict=True))
        blocks.append(struct.pack("<e", scale) + pairs)
    return b"".join(blocks)


def add_vocabulary(file: Gguf, chat: bool) -> int:
    """Adds the vocabulary and says how many tokens it has."""
    tokens = vocabulary()
    file.value("tokenizer.ggml.model", STRING, "llama")
    file.array("tokenizer.ggml.tokens", STRING, [token for token, _, _ in tokens])
    file.array("tokenizer.ggml.token_type", INT32, [kind for _, kind, _ in tokens])
    file.array("tokenizer.ggml.scores", FLOAT32, [score for _, _, score in tokens])
    file.value("tokenizer.ggml.bos_token_id", UINT32, 1)
    file.value("tokenizer.ggml.eos_token_id", UINT32, 2)
    file.value("tokenizer.ggml.add_space_prefix", BOOL, False)
    if chat:
        file.value("tokenizer.chat_template", STRING, CHAT)
    return len(tokens)


def add_byte_vocabulary(file: Gguf) -> int:
    """Adds a vocabulary of bytes and a few merges, in the manner of GPT-2."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in plain]
    spelt = {byte: chr(byte) for byte in plain} | {byte: chr(256 + rank) for rank, byte in enumerate(rest)}
    merges = ["t h", "th e", "\u0120 the", "k i", "n g", "ki ng", "\u0120 king"]
    controls = ["<|im_start|>", "<|im_end|>"]
    longest = ["\u0120" * 256]  # no merge makes it, but a prompt could be made of it for all one knows
    tokens = [spelt[byte] for byte in range(256)] + [merge.replace(" ", "") for merge in merges] + longest
    file.value("tokenizer.ggml.model", STRING, "gpt2")
    file.value("tokenizer.ggml.pre", STRING, "deepseek-llm")  # whose words are found by std::regex
    file.array("tokenizer.ggml.tokens", STRING, tokens + controls)
    file.array("tokenizer.ggml.token_type", INT32, [NORMAL] * len(tokens) + [CONTROL] * len(controls))
    file.array("tokenizer.ggml.merges", STRING, merges)
    file.value("tokenizer.ggml.eos_token_id", UINT32, len(tokens) + 1)
    file.value("tokenizer.chat_template", STRING, CHAT)
    return len(tokens) + len(controls)


def transformer(
    architecture: str, seed: int, *, kind: int = F32, chat: bool = True, spelling: str = ""
) -> Gguf:
    """A llama, or a gemma3, which looks back through a sliding window."""
    file = Gguf(architecture, seed)
    windowed = architecture == "gemma3"
    file.values_of(UINT32, context_length=CONTEXT, embedding_length=WIDTH, block_count=LAYERS)
    file.values_of(UINT32, feed_forward_length=HIDDEN, attention__head_count=HEADS)
    file.values_of(UINT32, attention__head_count_kv=KV_HEADS, attention__key_length=HEAD)
    file.values_of(UINT32, attention__value_length=HEAD)
    file.values_of(FLOAT32, attention__layer_norm_rms_epsilon=1e-5)
    if windowed:
        file.values_of(UINT32, attention__sliding_window=16)
    else:
        file.values_of(UINT32, rope__dimension_count=HEAD)
        file.values_of(STRING, rope__scaling__type="none")
    size = add_byte_vocabulary(file) if spelling == "bytes" else add_vocabulary(file, chat)
    file.weight("token_embd.weight", WIDTH, size, scale=1.0)
    file.weight("output_norm.weight", WIDTH, scale=0.1, around=1.0)
    if not windowed:
        file.weight("output.weight", WIDTH, size, kind=kind)
    for layer in range(LAYERS):
        add_layer(file, f"blk.{layer}.", kind, windowed)
    return file


def add_layer(file: Gguf, block: str, kind: int, windowed: bool) -> None:
    """Adds attention and what follows it."""
    norms = ["attn_norm", "ffn_norm"] + (["post_attention_norm", "post_ffw_norm"] if windowed else [])
    for norm in norms:
        file.weight(f"{block}{norm}.weight", WIDTH, scale=0.1, around=1.0)
    if windowed:
        file.weight(f"{block}attn_q_norm.weight", HEAD, scale=0.1, around=1.0)
        file.weight(f"{block}attn_k_norm.weight", HEAD, scale=0.1, around=1.0)
    file.weight(f"{block}attn_q.weight", WIDTH, HEADS * HEAD, kind=kind)
    file.weight(f"{block}attn_k.weight", WIDTH, KV_HEADS * HEAD, kind=kind)
    file.weight(f"{block}attn_v.weight", WIDTH, KV_HEADS * HEAD, kind=kind)
    file.weight(f"{block}attn_output.weight", HEADS * HEAD, WIDTH, kind=kind)
    file.weight(f"{block}ffn_gate.weight", WIDTH, HIDDEN, kind=kind)
    file.weight(f"{block}ffn_up.weight", WIDTH, HIDDEN, kind=kind)
    file.weight(f"{block}ffn_down.weight", HIDDEN, WIDTH, kind=kind)


def mamba(seed: int) -> Gguf:
    """A recurrent model, whose memory cannot be cut."""
    inner, state, rank, kernel = 2 * WIDTH, 16, 8, 4
    file = Gguf("mamba", seed)
    file.values_of(UINT32, context_length=CONTEXT, embedding_length=WIDTH, block_count=LAYERS)
    file.values_of(UINT32, feed_forward_length=0, attention__head_count=0, ssm__conv_kernel=kernel)
    file.values_of(UINT32, ssm__inner_size=inner, ssm__state_size=state, ssm__time_step_rank=rank)
    file.values_of(FLOAT32, attention__layer_norm_rms_epsilon=1e-5)
    size = add_vocabulary(file, chat=True)
    file.weight("token_embd.weight", WIDTH, size, scale=1.0)
    file.weight("output_norm.weight", WIDTH, scale=0.1, around=1.0)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        file.weight(f"{block}attn_norm.weight", WIDTH, scale=0.1, around=1.0)
        file.weight(f"{block}ssm_in.weight", WIDTH, 2 * inner)
        file.weight(f"{block}ssm_conv1d.weight", kernel, inner)
        file.weight(f"{block}ssm_conv1d.bias", inner, scale=0.1)
        file.weight(f"{block}ssm_x.weight", inner, rank + 2 * state)
        file.weight(f"{block}ssm_dt.weight", rank, inner)
        file.weight(f"{block}ssm_dt.bias", inner, scale=0.1)
        file.weight(f"{block}ssm_a", state, inner, scale=0.1, around=-1.0)
        file.weight(f"{block}ssm_d", inner, scale=0.1, around=1.0)
        file.weight(f"{block}ssm_out.weight", inner, WIDTH)
    return file


def main() -> None:
    """Writes each model into the folder that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    transformer("llama", 1).write(folder / "tiny.gguf")
    transformer("llama", 2, kind=Q4_0).write(folder / "tiny-q4.gguf")
    transformer("llama", 3, chat=False).write(folder / "tiny-text.gguf")
    transformer("llama", 6, spelling="bytes").write(folder / "tiny-bytes.gguf")
    transformer("gemma3", 4).write(folder / "tiny-window.gguf")
    mamba(5).write(folder / "tiny-recurrent.gguf")


if __name__ == "__main__":
    main()
