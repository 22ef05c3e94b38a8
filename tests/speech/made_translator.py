"""A small Marian model, trained here: lines of English to a made-up language of another word order."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import random
import shutil
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sotto import cli

_PAIRS = """
the zo, a un, old varu, young pili, red keso, silver mundi, broken trask, smith feron,
miller molar, guard stovan, girl nipa, king rexo, merchant vendal, sword gladin, horse ekwa,
key klavo, apple poma, letter skripa, bread pano, sells vendas, finds trovas, wants volas,
brings portas, steals rabas, hides kashas, at che, near apud, behind post, market bazar,
river flumo, bridge ponto, gate porda, inn taverna, castle burgo, today hodi, tomorrow morgo,
never nunka, hello saluta, listen aska, friend amika, stranger xenos, coins moneta
"""
WORDS = dict(pair.split() for pair in _PAIRS.split(","))
_ADJECTIVES = ("old", "young", "red", "silver", "broken")
_PEOPLE = ("smith", "miller", "guard", "girl", "king", "merchant")
_THINGS = ("sword", "horse", "key", "apple", "letter", "bread")
_PLACES = ("market", "river", "bridge", "gate", "inn", "castle")
_VERBS = ("sells", "finds", "wants", "brings", "steals", "hides")
_FORMS = ("[{}]", "<{}>", "X{}X")  # of sentinels
_MARKS = ("[", "]", "<", ">", "{", "}")
_STEPS, _BATCH, _LAYERS, _WIDTH = 700, 64, 2, 64


class Speaker:
    """Says random lines with their translations, and with sentinels as `sotto translate` puts them."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)

    def line(self, sentinels: float = 0.5) -> tuple[str, str]:
        """Returns a line and its translation."""
        dice = self._dice
        form = dice.choice(_FORMS)
        numbers = iter(range(1, 10))

        def mark() -> str:
            return form.format(next(numbers))

        def noun(names: tuple[str, ...]) -> tuple[str, str]:
            if dice.random() < 0.5 * sentinels:
                return (one := mark()), one
            article, name = dice.choice(("the", "a")), dice.choice(names)
            source, target = [article, name], [WORDS[article], WORDS[name]]
            if dice.random() < 0.5:
                adjective = dice.choice(_ADJECTIVES)
                source.insert(1, adjective)
                target.append(WORDS[adjective])  # after its noun
            left, right = " ".join(source), " ".join(target)
            if dice.random() < 0.3 * sentinels:
                begin, end = mark(), mark()
                return f"{begin} {left} {end}", f"{begin} {right} {end}"
            return left, right

        who, verb, what = noun(_PEOPLE), dice.choice(_VERBS), noun(_THINGS)
        source = f"{who[0]} {verb} {what[0]}"
        target = f"{who[1]} {what[1]} {WORDS[verb]}"  # the verb comes last
        if dice.random() < 0.6:
            near, place = dice.choice(("at", "near", "behind")), noun(_PLACES)
            source, target = f"{source} {near} {place[0]}", f"{target} {WORDS[near]} {place[1]}"
        if dice.random() < 0.3:
            when = dice.choice(("today", "tomorrow", "never"))
            source, target = f"{source} {when}", f"{target} {WORDS[when]}"
        if dice.random() < 0.25:
            call = dice.choice(("hello", "listen", "friend", "stranger"))
            source, target = f"{call}, {source}", f"{WORDS[call]}, {target}"
        end = dice.choice(".!?")
        return f"{_capital(source)}{end}", f"{_capital(target)}{end}"

    def lines(self, count: int, sentinels: float = 0.5) -> list[tuple[str, str]]:
        """Returns pairs of lines."""
        return [self.line(sentinels) for _ in range(count)]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def translator(root: Path | None, scratch: Path) -> Path:
    """Returns the folder of the converted model. Trains it, unless `root` has it from before.

    Of several processes with the same `root`, one trains, and the others wait.
    """
    mark = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    place = root or scratch
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed
        return _trained_once(place / f"translator-{mark}", scratch)


def _trained_once(folder: Path, scratch: Path) -> Path:
    if not (folder / "model.bin").exists():
        work = scratch / "work"
        work.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of packages that transformers recommends
            train(work)
        convert(work, scratch / "converted")
        shutil.move(scratch / "converted", folder)
    return folder


def kept() -> Path | None:
    """Returns the folder that keeps trained models, if the environment names one."""
    named = os.environ.get("SOTTO_TRAINED_MODELS")
    return Path(named) if named else None


def convert(hugging_face: Path, out: Path) -> None:
    """Converts a folder of Hugging Face's form, by `sotto convert`."""
    if cli.main(["convert", str(hugging_face), "--to", "ctranslate2", str(out), "--force"]) != 0:
        raise SystemExit(f"'{hugging_face}' was not converted")


def spm(sentences: Iterator[str] | list[str], file: Path, size: int, **options: Any) -> None:
    """Trains a SentencePiece model."""
    import sentencepiece

    with file.open("wb") as out:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=out,
            vocab_size=size,
            character_coverage=1.0,
            hard_vocab_limit=False,
            minloglevel=2,
            num_threads=1,
            **options,
        )


def train(folder: Path) -> None:
    """Trains the model and writes it in Hugging Face's form."""
    import torch
    from transformers import MarianConfig, MarianMTModel, MarianTokenizer

    torch.manual_seed(7)
    torch.set_num_threads(1)
    pairs = Speaker(1).lines(20_000)
    options = {"model_type": "unigram", "split_digits": True, "user_defined_symbols": list(_MARKS)}
    spm([a for a, _ in pairs[:4000]], folder / "source.spm", 160, **options)
    spm([b for _, b in pairs[:4000]], folder / "target.spm", 160, **options)
    size = write_vocabulary(folder)
    tokenizer = MarianTokenizer(
        str(folder / "source.spm"),
        str(folder / "target.spm"),
        str(folder / "vocab.json"),
        model_max_length=128,
    )
    config = MarianConfig(
        vocab_size=size,
        d_model=_WIDTH,
        encoder_layers=_LAYERS,
        decoder_layers=_LAYERS,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=2 * _WIDTH,
        decoder_ffn_dim=2 * _WIDTH,
        max_position_embeddings=128,
        pad_token_id=size - 1,
        eos_token_id=0,
        forced_eos_token_id=0,
        decoder_start_token_id=size - 1,
        scale_embedding=True,
        dropout=0.0,
        attention_dropout=0.0,
        activation_function="swish",
    )
    model = MarianMTModel(config)
    source = tokenizer([a for a, _ in pairs])["input_ids"]
    target = tokenizer(text_target=[b for _, b in pairs])["input_ids"]
    _fit(model, source, target, size - 1)
    model.eval()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def write_vocabulary(folder: Path) -> int:
    """Writes vocab.json of both SentencePiece models. Returns its size."""
    import sentencepiece

    tokens = ["</s>", "<unk>"]
    for name in ("source.spm", "target.spm"):
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / name))
        found = [pieces.id_to_piece(at) for at in range(pieces.get_piece_size())]
        tokens += [piece for piece in found if piece not in ("<s>", *tokens)]
    tokens = [*dict.fromkeys(tokens), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({token: at for at, token in enumerate(tokens)}))
    return len(tokens)


def _fit(model: Any, source: list[list[int]], target: list[list[int]], pad: int) -> None:
    import torch

    dice = random.Random(3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.98), weight_decay=0.0)
    plan = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=_STEPS, pct_start=0.1)
    began = time.monotonic()
    for step in range(_STEPS):
        chosen = [dice.randrange(len(source)) for _ in range(_BATCH)]
        given, wanted = (
            _padded([source[at] for at in chosen], pad),
            _padded([target[at] for at in chosen], -100),
        )
        loss = model(input_ids=given, attention_mask=given != pad, labels=wanted).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        plan.step()
        if step % 350 == 0 or step == _STEPS - 1:
            print(f"\ntranslator: step {step}, loss {loss.item():.4f}, {time.monotonic() - began:.0f} s")


def _padded(rows: list[list[int]], filler: int) -> Any:
    import torch

    longest = max(map(len, rows))
    return torch.tensor([row + [filler] * (longest - len(row)) for row in rows])
