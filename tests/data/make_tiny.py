"""Writes tiny GGUF models with seeded random weights, for tests. They babble, always the same way.

There is one of each kind of memory that llama.cpp has: plain, sliding window, recurrent, hybrid.
"""

import argparse
from pathlib import Path

from gguf_file import BOOL, F32, FLOAT32, INT32, Q4_0, STRING, UINT32, Gguf
from tiny_vocabulary import add_vocabulary

WIDTH, HEADS, KV_HEADS, HIDDEN, LAYERS, CONTEXT = 128, 4, 2, 192, 2, 512
TOOLS_CONTEXT = 4096  # what describes tools is long
HEAD = WIDTH // HEADS
WINDOW = 16  # tokens that gemma3's first layer looks back; its second sees all
INNER, STATE, RANK, KERNEL = 2 * WIDTH, 16, 8, 4  # of what is recurrent


def transformer(architecture: str, seed: int, *, kind: int = F32, spelling: str = "pieces") -> Gguf:
    """A llama, or a gemma3, which looks back through a sliding window."""
    file = Gguf(architecture, seed)
    windowed = architecture == "gemma3"
    add_sizes(file, context=TOOLS_CONTEXT if spelling == "tools" else CONTEXT)
    file.values_of(UINT32, attention__head_count_kv=KV_HEADS, attention__key_length=HEAD)
    file.values_of(UINT32, attention__value_length=HEAD)
    if windowed:
        file.values_of(UINT32, attention__sliding_window=WINDOW)
        file.array(f"{architecture}.attention.sliding_window_pattern", BOOL, [True, False])
    else:
        file.values_of(UINT32, rope__dimension_count=HEAD)
        file.values_of(STRING, rope__scaling__type="none")
    size = add_vocabulary(file, spelling)
    add_ends(file, size, separate_output=not windowed, kind=kind)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        norms = ["attn_norm", "ffn_norm"] + (["post_attention_norm", "post_ffw_norm"] if windowed else [])
        add_norms(file, block, norms, WIDTH)
        if windowed:
            add_norms(file, block, ["attn_q_norm", "attn_k_norm"], HEAD)
        add_attention(file, block, kind)
        add_feed_forward(file, block, kind)
    return file


def mamba(seed: int) -> Gguf:
    """A recurrent model, whose memory cannot be cut."""
    file = Gguf("mamba", seed)
    add_sizes(file, heads=0, hidden=0)
    add_recurrent_sizes(file)
    add_ends(file, add_vocabulary(file, "pieces"))
    for layer in range(LAYERS):
        add_norms(file, f"blk.{layer}.", ["attn_norm"], WIDTH)
        add_recurrence(file, f"blk.{layer}.")
    return file


def jamba(seed: int) -> Gguf:
    """A hybrid: one layer is recurrent, the other attends."""
    file = Gguf("jamba", seed)
    add_sizes(file)
    add_recurrent_sizes(file)
    file.array("jamba.attention.head_count_kv", INT32, [0, KV_HEADS])
    add_ends(file, add_vocabulary(file, "pieces"))
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        add_norms(file, block, ["attn_norm", "ffn_norm"], WIDTH)
        if layer == 0:
            add_recurrence(file, block)
            add_norms(file, block, ["ssm_dt_norm"], RANK)
            add_norms(file, block, ["ssm_b_norm", "ssm_c_norm"], STATE)
        else:
            add_attention(file, block, F32)
        add_feed_forward(file, block, F32)
    return file


def add_sizes(file: Gguf, heads: int = HEADS, hidden: int = HIDDEN, context: int = CONTEXT) -> None:
    """What every architecture says of itself."""
    file.values_of(UINT32, context_length=context, embedding_length=WIDTH, block_count=LAYERS)
    file.values_of(UINT32, feed_forward_length=hidden, attention__head_count=heads)
    file.values_of(FLOAT32, attention__layer_norm_rms_epsilon=1e-5)


def add_recurrent_sizes(file: Gguf) -> None:
    """What those say that have a state."""
    file.values_of(UINT32, ssm__conv_kernel=KERNEL, ssm__inner_size=INNER)
    file.values_of(UINT32, ssm__state_size=STATE, ssm__time_step_rank=RANK)


def add_ends(file: Gguf, tokens: int, *, separate_output: bool = False, kind: int = F32) -> None:
    """Adds what is before the first layer and after the last."""
    file.weight("token_embd.weight", WIDTH, tokens, scale=1.0)
    file.weight("output_norm.weight", WIDTH, scale=0.1, around=1.0)
    if separate_output:
        file.weight("output.weight", WIDTH, tokens, kind=kind)


def add_norms(file: Gguf, block: str, names: list[str], size: int) -> None:
    """Adds the weights of normalisations."""
    for name in names:
        file.weight(f"{block}{name}.weight", size, scale=0.1, around=1.0)


def add_attention(file: Gguf, block: str, kind: int) -> None:
    """Adds attention."""
    file.weight(f"{block}attn_q.weight", WIDTH, HEADS * HEAD, kind=kind)
    file.weight(f"{block}attn_k.weight", WIDTH, KV_HEADS * HEAD, kind=kind)
    file.weight(f"{block}attn_v.weight", WIDTH, KV_HEADS * HEAD, kind=kind)
    file.weight(f"{block}attn_output.weight", HEADS * HEAD, WIDTH, kind=kind)


def add_feed_forward(file: Gguf, block: str, kind: int) -> None:
    """Adds what follows attention."""
    file.weight(f"{block}ffn_gate.weight", WIDTH, HIDDEN, kind=kind)
    file.weight(f"{block}ffn_up.weight", WIDTH, HIDDEN, kind=kind)
    file.weight(f"{block}ffn_down.weight", HIDDEN, WIDTH, kind=kind)


def add_recurrence(file: Gguf, block: str) -> None:
    """Adds a layer that has a state in place of attention."""
    file.weight(f"{block}ssm_in.weight", WIDTH, 2 * INNER)
    file.weight(f"{block}ssm_conv1d.weight", KERNEL, INNER)
    file.weight(f"{block}ssm_conv1d.bias", INNER, scale=0.1)
    file.weight(f"{block}ssm_x.weight", INNER, RANK + 2 * STATE)
    file.weight(f"{block}ssm_dt.weight", RANK, INNER)
    file.weight(f"{block}ssm_dt.bias", INNER, scale=0.1)
    file.weight(f"{block}ssm_a", STATE, INNER, scale=0.1, around=-1.0)
    file.weight(f"{block}ssm_d", INNER, scale=0.1, around=1.0)
    file.weight(f"{block}ssm_out.weight", INNER, WIDTH)


def main() -> None:
    """Writes each model into the folder that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    transformer("llama", 1).write(folder / "tiny.gguf")
    transformer("llama", 2, kind=Q4_0).write(folder / "tiny-q4.gguf")
    transformer("llama", 3, spelling="text").write(folder / "tiny-text.gguf")
    transformer("llama", 6, spelling="bytes").write(folder / "tiny-bytes.gguf")
    transformer("llama", 7).write(folder / "tiny-twin.gguf")  # of tiny's shape, and another model
    transformer("llama", 8, spelling="tools").write(folder / "tiny-tools.gguf")
    transformer("gemma3", 4).write(folder / "tiny-window.gguf")
    mamba(5).write(folder / "tiny-recurrent.gguf")
    jamba(9).write(folder / "tiny-hybrid.gguf")


if __name__ == "__main__":
    main()
