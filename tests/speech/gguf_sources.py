"""Folders of Hugging Face's layout, and `sotto models convert`, which converts them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from conversion import HOUSE
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from sotto import cli

TEXT = (
    "The innkeeper counts 1234 coppers, and doesn't smile.\n\n  Ale: 3, stew: 5;\tbeds 10 (each). WE'LL see!"
    "\r\nÉmile naïvely paid 99,5 — 茶 and 12345678 more...   "
)
LLAMA = {
    **{"hidden_size": 256, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4},
    **{"num_key_value_heads": 2, "max_position_embeddings": 128, "bos_token_id": 1, "eos_token_id": 2},
}


def house_folder(folder: Path) -> Path:
    """Writes the house model, in 32 bits, as `save_pretrained()` of transformers would."""
    subprocess.run([sys.executable, HOUSE / "folder.py", "--out", folder], check=True, capture_output=True)
    return folder


def conversations(count: int) -> list[list[dict[str, Any]]]:
    """Conversations of the corpus, without tools: the messages before the last answer."""
    script = (
        "import itertools, json, random, sys; from corpus import conversation\n"
        "rng = random.Random('convert')\n"
        "made = (one for one in iter(lambda: conversation(rng), None) if not one['tools'])\n"
        "print(json.dumps([one['messages'][:-1] for one in itertools.islice(made, int(sys.argv[1]))]))"
    )
    command = [sys.executable, "-c", script, str(count)]
    done = subprocess.run(command, cwd=HOUSE, check=True, capture_output=True, text=True)
    return [
        [{"role": message["role"], "content": message["content"]} for message in messages]
        for messages in json.loads(done.stdout)
    ]


def splitters() -> dict[str, tuple[Any, bool]]:
    """The ways to split text that llama.cpp knows by these names, and whether words need no merges."""
    start = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
    rest = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

    def split(digits: str) -> Any:
        expression = Regex(f"{start}{digits}{rest}")
        split = pre_tokenizers.Split(expression, "isolated")
        return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])

    level = pre_tokenizers.ByteLevel(False)
    digits = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), level])
    return {
        "gpt-2": (level, False),
        "smollm": (digits, False),
        "llama-bpe": (split(r"\p{N}{1,3}"), True),
        "dbrx": (split(r"\p{N}{1,3}"), False),
        "qwen2": (split(r"\p{N}"), False),
    }


def tiny_folder(folder: Path, splitter: str = "gpt-2", **config: Any) -> Path:
    """Writes a Llama model of random weights with a tokenizer that is trained on `TEXT`."""
    words, ignore_merges = splitters()[splitter]
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer, tokenizer.decoder = words, decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[AddedToken(name, special=True) for name in ("<pad>", "<s>", "</s>")],
        show_progress=False,
    )
    tokenizer.train_from_iterator([TEXT] * 3, trainer)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )
    fast.save_pretrained(folder)
    torch.manual_seed(3)
    made = transformers.LlamaConfig(**LLAMA | {"vocab_size": tokenizer.get_vocab_size()} | config)
    transformers.LlamaForCausalLM(made).save_pretrained(folder)
    return folder


def converted(source: Path, to: Path, *more: str) -> int:
    """Runs `sotto models convert`, and returns its exit status."""
    return cli.main(["models", "convert", str(source), "--to", str(to), *more])


def refused(source: Path, out: Path, capsys: Any, *more: str) -> str:
    """Converts what cannot be converted, and returns the reason. Nothing may be left."""
    assert converted(source, out / "made.gguf", *more) in (1, 2)
    assert not list(out.iterdir())
    return str(capsys.readouterr().err)
