"""Writes a checkpoint of train.py as a GGUF that stock llama.cpp runs."""

import argparse
import json
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, LlamaFileType, TokenType
from tokenizers import Tokenizer

import prompt
from model import House, Shape

TYPES = {
    "q4_0": (GGMLQuantizationType.Q4_0, LlamaFileType.MOSTLY_Q4_0),
    "q8_0": (GGMLQuantizationType.Q8_0, LlamaFileType.MOSTLY_Q8_0),
    "f16": (GGMLQuantizationType.F16, LlamaFileType.MOSTLY_F16),
}


def paired(weight: np.ndarray, heads: int) -> np.ndarray:
    """Reorders the rows of a query or key matrix from RoPE's halves to llama.cpp's neighbouring pairs."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def halved(weight: np.ndarray, heads: int) -> np.ndarray:
    """Undoes `paired`."""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def shape_of(reader: GGUFReader) -> Shape:
    """The sizes that a GGUF of the Llama architecture states."""

    def stated(key: str) -> float:
        return reader.fields[f"llama.{key}"].contents()

    return Shape(
        vocab=len(reader.fields["tokenizer.ggml.tokens"].data),
        width=stated("embedding_length"),
        layers=stated("block_count"),
        heads=stated("attention.head_count"),
        kv_heads=stated("attention.head_count_kv"),
        hidden=stated("feed_forward_length"),
        context=stated("context_length"),
        rope_base=stated("rope.freq_base"),
        epsilon=stated("attention.layer_norm_rms_epsilon"),
    )


def load_gguf(house: House, path: Path) -> None:
    """Takes the weights of a GGUF of the same sizes."""
    shape, state = house.shape, {}
    for tensor in GGUFReader(path).tensors:
        weight = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        if tensor.name.endswith("attn_q.weight"):
            weight = halved(weight, shape.heads)
        elif tensor.name.endswith("attn_k.weight"):
            weight = halved(weight, shape.kv_heads)
        state[tensor.name] = torch.from_numpy(weight.copy())
    house.load_state_dict(state)


def add_vocabulary(writer: GGUFWriter, tokenizer: Tokenizer) -> None:
    """Tokens, merges, special tokens and the chat template."""
    model = json.loads(tokenizer.to_str())["model"]
    tokens = [token for token, _ in sorted(model["vocab"].items(), key=lambda item: item[1])]
    kinds = [TokenType.NORMAL] * len(tokens)
    for text in prompt.SPECIAL:
        # a tool call's borders are part of the answer's text, so that hosts can parse it
        call = text in (prompt.CALL, prompt.CALL_END)
        kinds[tokenizer.token_to_id(text)] = TokenType.USER_DEFINED if call else TokenType.CONTROL
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair) for pair in model["merges"]])
    end = tokenizer.token_to_id(prompt.END)
    writer.add_bos_token_id(tokenizer.token_to_id(prompt.BEGIN))
    writer.add_eos_token_id(end)
    writer.add_eot_token_id(end)
    writer.add_pad_token_id(tokenizer.token_to_id(prompt.PAD))
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_chat_template(prompt.TEMPLATE.read_text().rstrip("\n"))


def add_shape(writer: GGUFWriter, shape: Shape) -> None:
    """The sizes of the model."""
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(shape.epsilon)
    writer.add_rope_dimension_count(shape.head_width)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_vocab_size(shape.vocab)


def export(checkpoint: Path, tokenizer: Tokenizer, out: Path, kind: str) -> None:
    """Writes the GGUF."""
    quant, file_type = TYPES[kind]
    shape = Shape()
    house = House(shape)
    house.load_state_dict(torch.load(checkpoint, weights_only=True)["model"])
    writer = GGUFWriter(out, "llama")
    writer.add_name("Sotto house")
    writer.add_description("Small characters' model that Sotto trains on text of its own making.")
    writer.add_license("MIT")
    writer.add_languages(["en"])
    writer.add_file_type(file_type)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    add_shape(writer, shape)
    add_vocabulary(writer, tokenizer)
    for name, tensor in house.named_parameters():
        weight = tensor.detach().float().numpy()
        if name.endswith("attn_q.weight"):
            weight = paired(weight, shape.heads)
        elif name.endswith("attn_k.weight"):
            weight = paired(weight, shape.kv_heads)
        if weight.ndim == 1:
            writer.add_tensor(name, np.ascontiguousarray(weight))
        else:
            writer.add_tensor(
                name, gguf.quants.quantize(np.ascontiguousarray(weight), quant), raw_dtype=quant
            )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="folder of train.py")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("house.gguf"))
    parser.add_argument("--kind", choices=TYPES, default="q8_0")
    args = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(args.run / "tokenizer.json"))
    export(args.run / "checkpoint.pt", tokenizer, args.out, args.kind)
    print(json.dumps({"file": args.out.name, "bytes": args.out.stat().st_size}))


if __name__ == "__main__":
    main()
