"""Writes a GGUF, with an adapter merged into it, as a folder of Hugging Face's layout."""

import argparse
import json
from pathlib import Path

from gguf import GGUFReader
from safetensors.torch import save_file

import prompt
from cut import merge
from export import opened
from model import House
from vocabulary import tokenizer_of

PARTS = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def name_of(name: str) -> str:
    """The name of a tensor in Hugging Face's layout."""
    if name in ("token_embd.weight", "output_norm.weight"):
        return "model.embed_tokens.weight" if name == "token_embd.weight" else "model.norm.weight"
    _, layer, part, _ = name.split(".")
    return f"model.layers.{layer}.{PARTS[part]}.weight"


def config_of(house: House, start: int, end: int) -> dict:
    """What config.json says."""
    shape = house.shape
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "vocab_size": shape.vocab,
        "hidden_size": shape.width,
        "intermediate_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "max_position_embeddings": shape.context,
        "rms_norm_eps": shape.epsilon,
        "rope_theta": shape.rope_base,
        "tie_word_embeddings": True,
        "bos_token_id": start,
        "eos_token_id": end,
    }


def write(base: Path, out: Path, adapter: Path | None = None, scale: float = 1.0) -> None:
    """Writes the folder. `scale`: how strong the adapter is."""
    house, tokenizer = opened(base), tokenizer_of(GGUFReader(base))
    if adapter:
        merge(house, adapter, scale)
    out.mkdir(parents=True, exist_ok=True)
    weights = {name_of(name): weight.detach().contiguous() for name, weight in house.named_parameters()}
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    start, end = (tokenizer.token_to_id(text) for text in (prompt.START, prompt.END))
    tokenizer.save(str(out / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": prompt.START,
        "eos_token": prompt.END,
        "chat_template": prompt.TEMPLATE.read_text().rstrip("\n"),
    }
    for file, value in (("config", config_of(house, start, end)), ("tokenizer_config", settings)):
        (out / f"{file}.json").write_text(json.dumps(value, indent=2) + "\n")


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, default=Path(__file__).with_name("house.gguf"))
    parser.add_argument("--adapter", type=Path, help="the GGUF of an adapter that is merged first")
    parser.add_argument("--scale", type=float, default=1.0, help="how strong the adapter is")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    write(args.base, args.out, args.adapter, args.scale)
    print(json.dumps({"folder": args.out.name, "bytes": (args.out / "model.safetensors").stat().st_size}))


if __name__ == "__main__":
    main()
