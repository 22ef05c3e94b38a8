"""Writes tiny projectors with seeded random weights, for tests: what makes images and sounds into embeddings.

They fit the models of make_tiny.py and one that is here, and mean nothing.
"""

import argparse
from pathlib import Path

from gguf_file import BOOL, FLOAT32, INT32, STRING, UINT32, Gguf
from tiny_vocabulary import add_vocabulary

TEXT_WIDTH = 128  # of the models that read what these make
WIDTH, HEADS, HIDDEN, LAYERS = 32, 2, 64, 2
PATCH, SIDE = 7, 28  # pixels; an image is made 4 x 4 patches
MELS, SOUND_PLACES, STACKED = 8, 1500, 10  # a sound is cut into stretches of 30 seconds, of 1500 places each


def projector(kind: str, seed: int) -> Gguf:
    """What every projector says of itself."""
    file = Gguf("clip", seed, f"tiny {kind}")
    file.value("general.type", STRING, "mmproj")
    file.value("clip.projector_type", STRING, kind)
    file.value("clip.use_gelu", BOOL, True)
    return file


def add_encoder(file: Gguf, modality: str) -> None:
    """Adds the sizes of a transformer and its layers."""
    file.value(f"clip.has_{modality}_encoder", BOOL, True)
    file.values_of(UINT32, **{f"{modality}__embedding_length": WIDTH, f"{modality}__block_count": LAYERS})
    file.values_of(UINT32, **{f"{modality}__feed_forward_length": HIDDEN})
    file.values_of(UINT32, **{f"{modality}__projection_dim": TEXT_WIDTH})
    file.values_of(UINT32, **{f"{modality}__attention__head_count": HEADS})
    file.values_of(FLOAT32, **{f"{modality}__attention__layer_norm_epsilon": 1e-5})
    prefix = modality[0]
    for layer in range(LAYERS):
        block = f"{prefix}.blk.{layer}."
        for name in ["attn_q", "attn_k", "attn_v", "attn_out"]:
            add_linear(file, block + name, WIDTH, WIDTH, biased=(modality, name) != ("audio", "attn_k"))
        add_linear(file, block + "ffn_up", WIDTH, HIDDEN)
        add_linear(file, block + "ffn_down", HIDDEN, WIDTH)
        add_norm(file, block + "ln1")
        add_norm(file, block + "ln2")
    add_norm(file, f"{prefix}.post_ln")


def add_linear(file: Gguf, name: str, wide: int, high: int, *, biased: bool = True) -> None:
    """Adds weights and biases."""
    file.weight(name + ".weight", wide, high)
    if biased:
        file.weight(name + ".bias", high, scale=0.1)


def add_norm(file: Gguf, name: str, width: int = WIDTH) -> None:
    """Adds a normalisation."""
    file.weight(name + ".weight", width, scale=0.1, around=1.0)
    file.weight(name + ".bias", width, scale=0.1)


def add_picture(file: Gguf) -> None:
    """Adds what is before the layers of a model that sees images of one size."""
    add_pixels(file)
    file.weight("v.patch_embd.bias", WIDTH, scale=0.1)
    file.weight("v.position_embd.weight", WIDTH, (SIDE // PATCH) ** 2, scale=0.5)


def add_pixels(file: Gguf) -> None:
    """Adds what makes pixels into patches, and the layers after it."""
    file.value("clip.vision.image_size", UINT32, SIDE)
    file.value("clip.vision.patch_size", UINT32, PATCH)
    file.array("clip.vision.image_mean", FLOAT32, [0.5, 0.5, 0.5])
    file.array("clip.vision.image_std", FLOAT32, [0.5, 0.5, 0.5])
    file.weight("v.patch_embd.weight", PATCH, PATCH, 3, WIDTH, scale=(3 * PATCH * PATCH) ** -0.5)
    add_encoder(file, "vision")


def llava(seed: int, text_width: int = TEXT_WIDTH) -> Gguf:
    """Sixteen tokens an image, which see only those before them."""
    file = projector("mlp", seed)
    add_picture(file)
    add_linear(file, "mm.0", WIDTH, text_width)
    add_linear(file, "mm.2", text_width, text_width)
    return file


def gemma3(seed: int) -> Gguf:
    """Four tokens an image, which see each other."""
    file = projector("gemma3", seed)
    add_picture(file)
    file.value("clip.vision.projector.scale_factor", UINT32, 2)
    file.weight("mm.soft_emb_norm.weight", WIDTH, scale=0.1, around=1.0)
    file.weight("mm.input_projection.weight", TEXT_WIDTH, WIDTH)
    return file


def qwen2vl(seed: int) -> Gguf:
    """As many tokens as an image has rows and columns, by which the text model knows them."""
    file = projector("qwen2vl_merger", seed)
    add_pixels(file)
    file.weight("v.patch_embd.weight.1", PATCH, PATCH, 3, WIDTH, scale=(3 * PATCH * PATCH) ** -0.5)
    add_linear(file, "mm.0", 4 * WIDTH, 4 * WIDTH)
    add_linear(file, "mm.2", 4 * WIDTH, TEXT_WIDTH)
    return file


def qwen2vl_text(seed: int) -> Gguf:
    """The text model of the same kind."""
    file = Gguf("qwen2vl", seed)
    heads, hidden, layers = 4, 192, 2
    file.values_of(UINT32, context_length=512, embedding_length=TEXT_WIDTH, block_count=layers)
    file.values_of(UINT32, feed_forward_length=hidden, attention__head_count=heads)
    file.values_of(UINT32, attention__head_count_kv=heads)
    file.values_of(FLOAT32, attention__layer_norm_rms_epsilon=1e-5)
    file.array("qwen2vl.rope.dimension_sections", INT32, [4, 6, 6, 0])
    tokens = add_vocabulary(file, "pieces")
    file.weight("token_embd.weight", TEXT_WIDTH, tokens, scale=1.0)
    file.weight("output_norm.weight", TEXT_WIDTH, scale=0.1, around=1.0)
    for layer in range(layers):
        block = f"blk.{layer}."
        file.weight(block + "attn_norm.weight", TEXT_WIDTH, scale=0.1, around=1.0)
        file.weight(block + "ffn_norm.weight", TEXT_WIDTH, scale=0.1, around=1.0)
        for name in ["attn_q", "attn_k", "attn_v"]:
            add_linear(file, block + name, TEXT_WIDTH, TEXT_WIDTH)
        file.weight(block + "attn_output.weight", TEXT_WIDTH, TEXT_WIDTH)
        file.weight(block + "ffn_gate.weight", TEXT_WIDTH, hidden)
        file.weight(block + "ffn_up.weight", TEXT_WIDTH, hidden)
        file.weight(block + "ffn_down.weight", hidden, TEXT_WIDTH)
    return file


def ultravox(seed: int) -> Gguf:
    """A model that hears: 150 tokens for 30 seconds."""
    file = projector("ultravox", seed)
    file.value("clip.audio.num_mel_bins", UINT32, MELS)
    file.value("clip.audio.projector.stack_factor", UINT32, STACKED)
    file.weight("a.conv1d.1.weight", 3, MELS, WIDTH, scale=(3 * MELS) ** -0.5)
    file.weight("a.conv1d.1.bias", 1, WIDTH, scale=0.1)
    file.weight("a.conv1d.2.weight", 3, WIDTH, WIDTH, scale=(3 * WIDTH) ** -0.5)
    file.weight("a.conv1d.2.bias", 1, WIDTH, scale=0.1)
    file.weight("a.position_embd.weight", WIDTH, SOUND_PLACES, scale=0.5)
    add_encoder(file, "audio")
    file.weight("mm.a.mlp.1.weight", WIDTH * STACKED, 2 * HIDDEN)
    file.weight("mm.a.mlp.2.weight", HIDDEN, TEXT_WIDTH)
    file.weight("mm.a.norm_pre.weight", WIDTH * STACKED, scale=0.1, around=1.0)
    file.weight("mm.a.norm_mid.weight", HIDDEN, scale=0.1, around=1.0)
    return file


def main() -> None:
    """Writes each projector into the folder that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    llava(31).write(folder / "eyes.gguf")
    llava(36, text_width=64).write(folder / "eyes-narrow.gguf")  # for another model
    gemma3(32).write(folder / "eyes-window.gguf")
    qwen2vl(34).write(folder / "eyes-rows.gguf")
    qwen2vl_text(35).write(folder / "tiny-rows.gguf")
    ultravox(33).write(folder / "ears.gguf")


if __name__ == "__main__":
    main()
