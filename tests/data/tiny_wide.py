"""Writes tiny-wide.gguf: a model of random weights whose rows the blocks of every quantised type divide."""

import argparse
from pathlib import Path

from gguf_file import FLOAT32, UINT32, Gguf
from tiny_vocabulary import add_vocabulary

WIDTH, HIDDEN, LAYERS = 256, 512, 1


def wide(seed: int) -> Gguf:
    """A llama in F32."""
    file = Gguf("llama", seed)
    file.values_of(UINT32, context_length=512, embedding_length=WIDTH, block_count=LAYERS)
    file.values_of(UINT32, feed_forward_length=HIDDEN, attention__head_count=4, attention__head_count_kv=4)
    file.values_of(FLOAT32, attention__layer_norm_rms_epsilon=1e-5)
    size = add_vocabulary(file, "pieces")
    for name in ("token_embd", "output"):
        file.weight(f"{name}.weight", WIDTH, size)
    file.weight("output_norm.weight", WIDTH, around=1.0)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        for name in ("attn_norm", "ffn_norm"):
            file.weight(f"{block}{name}.weight", WIDTH, around=1.0)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            file.weight(f"{block}{name}.weight", WIDTH, WIDTH)
        for name in ("ffn_gate", "ffn_up"):
            file.weight(f"{block}{name}.weight", WIDTH, HIDDEN)
        file.weight(f"{block}ffn_down.weight", HIDDEN, WIDTH)
    return file


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    wide(1).write(parser.parse_args().path)
