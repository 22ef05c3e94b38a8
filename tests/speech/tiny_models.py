"""Models of the NLLB and M2M100 families with random weights, and tokenizers trained on a few lines."""

from __future__ import annotations

import json
from pathlib import Path

from made_translator import Speaker, convert, spm

_SIZE = {
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "max_position_embeddings": 128,
    "decoder_start_token_id": 2,
}
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


def nllb(folder: Path) -> Path:
    """Writes a model of the NLLB family in Hugging Face's form."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import NllbTokenizer

    model = Tokenizer(models.BPE(unk_token="<unk>"))
    model.pre_tokenizer = pre_tokenizers.Metaspace()
    model.train_from_iterator(_lines(), trainers.BpeTrainer(vocab_size=300, special_tokens=list(_SPECIAL)))
    made = json.loads(model.to_str())["model"]
    tokenizer = NllbTokenizer(vocab=made["vocab"], merges=[tuple(one) for one in made["merges"]])
    tokenizer.save_pretrained(folder)
    _weights(folder, len(tokenizer))
    return folder


def m2m(folder: Path) -> Path:
    """Writes a model of the M2M100 family in Hugging Face's form."""
    import sentencepiece
    from transformers import M2M100Tokenizer

    folder.mkdir(parents=True)
    spm(_lines(), folder / "sentencepiece.bpe.model", 300, model_type="bpe")
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.bpe.model"))
    found = [pieces.id_to_piece(at) for at in range(pieces.get_piece_size())]
    tokens = [*_SPECIAL, *(piece for piece in found if piece not in _SPECIAL)]
    (folder / "vocab.json").write_text(json.dumps({token: at for at, token in enumerate(tokens)}))
    tokenizer = M2M100Tokenizer(str(folder / "vocab.json"), str(folder / "sentencepiece.bpe.model"))
    tokenizer.save_pretrained(folder)
    _weights(folder, len(tokenizer) + len(tokenizer.lang_token_to_id) + tokenizer.num_madeup_words)
    return folder


def converted(hugging_face: Path) -> Path:
    """Converts a model; returns the new folder."""
    out = hugging_face.with_name(f"{hugging_face.name}-ct2")
    convert(hugging_face, out)
    return out


def _lines() -> list[str]:
    return [text for pair in Speaker(2).lines(500) for text in pair]


def _weights(folder: Path, size: int) -> None:
    import torch
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    torch.manual_seed(5)
    config = M2M100Config(vocab_size=size, **_SIZE)
    M2M100ForConditionalGeneration(config).eval().save_pretrained(folder)
