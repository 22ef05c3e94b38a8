"""How soon CTranslate2 has the first token after a prompt: one JSON line for each line on stdin.

Run by the Python that has it (peers.py), with a folder, a number of threads and a llama's shape as JSON: the
weights are random and have 8 bits each, as CTranslate2 has no 4-bit kernels for CPUs. A line on stdin is a
prompt, as a JSON list of token ids; the line on stdout is the time to its first token in milliseconds.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from ctranslate2.specs import common_spec, transformer_spec


def spec_of(shape: dict[str, Any]) -> Any:
    """A decoder of that shape, as the converter of CTranslate2 makes one of a Llama."""
    width, head = shape["width"], shape["width"] // shape["heads"]
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(
        shape["layers"],
        shape["heads"],
        activation=common_spec.Activation.SWISH,
        pre_norm=True,
        ffn_glu=True,
        rms_norm=True,
        rotary_dim=0,
        rotary_interleave=False,
        rotary_base=500_000.0,
        rotary_scaling_type=None,
        num_heads_kv=shape["kv_heads"],
    )
    chance = np.random.default_rng(1)

    def drawn(rows: int, columns: int) -> Any:
        return chance.normal(0, columns**-0.5, (rows, columns)).astype(np.float32)

    ones = np.ones(width, dtype=np.float32)
    decoder = spec.decoder
    decoder.scale_embeddings = False
    decoder.embeddings.weight = drawn(shape["vocabulary"], width)
    decoder.projection.weight = decoder.embeddings.weight
    decoder.layer_norm.gamma = ones
    for layer in decoder.layer:
        attention, ffn = layer.self_attention, layer.ffn
        attention.layer_norm.gamma = ffn.layer_norm.gamma = ones
        attention.linear[0].weight = drawn(width + 2 * shape["kv_heads"] * head, width)
        attention.linear[1].weight = drawn(width, width)
        ffn.linear_0.weight = drawn(shape["hidden"], width)
        ffn.linear_0_noact.weight = drawn(shape["hidden"], width)
        ffn.linear_1.weight = drawn(width, shape["hidden"])
    spec.register_vocabulary([f"t{token}" for token in range(shape["vocabulary"])])
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = "t1", "t2", "t0"
    return spec


def main() -> int:
    """Answers until stdin ends."""
    folder, threads, shape = Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    spec = spec_of(shape)
    spec.validate()
    spec.optimize(quantization="int8")
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))
    generator = ctranslate2.Generator(
        str(folder), device="cpu", compute_type="int8", inter_threads=1, intra_threads=threads
    )
    for line in sys.stdin:
        prompt = [f"t{token}" for token in json.loads(line)]
        began = time.perf_counter()
        generator.generate_batch(
            [prompt], max_length=1, min_length=1, sampling_topk=1, include_prompt_in_result=False
        )
        print(json.dumps(1000 * (time.perf_counter() - began)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
