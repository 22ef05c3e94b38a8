"""Writes a checkpoint of train.py as a GGUF that stock llama.cpp runs."""

import argparse
import json
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, LlamaFileType, TokenType
from tokenizers import Tokenizer
from torch import Tensor

import prompt
from model import House, Shape
from vocabulary import tokenizer_of

FILE_TYPES = {
    GGMLQuantizationType.Q4_0: LlamaFileType.MOSTLY_Q4_0,
    GGMLQuantizationType.F32: LlamaFileType.ALL_F32,
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


def weights_of(path: Path, shape: Shape) -> dict[str, Tensor]:
    """The tensors of a GGUF; rows of query and key matrices stand as Hugging Face has them."""
    heads = {"attn_q": shape.heads, "attn_k": shape.kv_heads}
    found = {}
    for tensor in GGUFReader(path).tensors:
        weight = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        part = tensor.name.removeprefix("blk.").split(".")[1]  # "blk.0.attn_q.weight", "….weight.lora_b"
        if part in heads and not tensor.name.endswith("lora_a"):
            weight = halved(weight, heads[part])
        found[tensor.name] = torch.from_numpy(weight.copy())
    return found


def opened(path: Path) -> House:
    """The model that a GGUF holds."""
    house = House(shape_of(GGUFReader(path)))
    house.load_state_dict(weights_of(path, house.shape))
    return house


def add_vocabulary(writer: GGUFWriter, tokenizer: Tokenizer) -> None:
    """Tokens, merges, special tokens and the chat template."""
    made = json.loads(tokenizer.to_str())
    tokens = [token for token, _ in sorted(made["model"]["vocab"].items(), key=lambda item: item[1])]
    kinds = [TokenType.NORMAL] * len(tokens)
    for added in made["added_tokens"]:
        # a tool call's borders are part of the answer's text, so that hosts can parse it
        call = added["content"] in (prompt.CALL, prompt.CALL_END)
        kinds[added["id"]] = TokenType.USER_DEFINED if call else TokenType.CONTROL
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair) for pair in made["model"]["merges"]])
    start, end = (tokenizer.token_to_id(text) for text in (prompt.START, prompt.END))
    writer.add_bos_token_id(start)
    writer.add_eos_token_id(end)
    writer.add_eot_token_id(end)
    writer.add_pad_token_id(end)
    writer.add_add_bos_token(False)
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


def export(
    house: House,
    tokenizer: Tokenizer,
    out: Path,
    matrices: GGMLQuantizationType,
    vectors: GGMLQuantizationType,
) -> None:
    """Writes the GGUF; `matrices` are quantized so, and `vectors`, those of the tokens."""
    shape = house.shape
    writer = GGUFWriter(out, "llama")
    writer.add_name("Sotto house")
    writer.add_description("Small characters' model, cut from SmolLM2-135M-Instruct and trained by Sotto.")
    writer.add_license("apache-2.0")
    writer.add_languages(["en"])
    writer.add_file_type(FILE_TYPES[matrices])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    add_shape(writer, shape)
    add_vocabulary(writer, tokenizer)
    heads = {"attn_q": shape.heads, "attn_k": shape.kv_heads}
    for name, tensor in house.named_parameters():
        weight = tensor.detach().float().numpy()
        part = name.split(".")[-2]
        if part in heads:
            weight = paired(weight, heads[part])
        kind = GGMLQuantizationType.F32 if weight.ndim == 1 else vectors if part == "token_embd" else matrices
        weight = np.ascontiguousarray(weight, np.float32)
        writer.add_tensor(name, gguf.quants.quantize(weight, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="folder of train.py")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("house.gguf"))
    args = parser.parse_args()
    house, tokenizer = opened(args.run / "begin.gguf"), tokenizer_of(GGUFReader(args.run / "begin.gguf"))
    saved = torch.load(args.run / "checkpoint.pt", weights_only=True, map_location="cpu")
    for parameter, value in zip(house.parameters(), saved["parameters"], strict=True):
        parameter.data.copy_(value)
    export(house, tokenizer, args.out, GGMLQuantizationType.Q4_0, GGMLQuantizationType.Q5_0)
    print(json.dumps({"file": args.out.name, "bytes": args.out.stat().st_size}))


if __name__ == "__main__":
    main()
