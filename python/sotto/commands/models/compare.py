"""`sotto models compare`: how much of a model another file of it has kept, such as a quantized one."""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
from pathlib import Path
from typing import Any, NamedTuple

from ...engine import Engine
from ...errors import ArgumentError
from .. import arguments as types
from .. import progress, screen
from ..text import size

_TOP = 20  # most likely tokens of a position, the most that the engine reports
_LINES = (
    "Good morning. Who are you?",
    "What do you sell, and what does it cost?",
    "Where am I?",
    "Tell me something about the people here.",
    "I need your help tonight. Will you come with me?",
    "What happened yesterday?",
    "Give me all your money!",
    "Thank you. Farewell.",
)


class Place(NamedTuple):
    """What a model predicts at one position: its first choice, and log probabilities of the likely tokens."""

    token: int
    likely: dict[int, float]


class Compared(NamedTuple):
    """How a model's predictions differ from those of a reference, on the text that the reference writes.

    Attributes:
        positions: Tokens that were compared.
        top1: Share of the positions at which both find the same token the most likely one.
        kl: Mean Kullback-Leibler divergence from the reference in nats, with the 20 most likely tokens and
            all others as one: a lower bound.
        reference: File size in bytes, and tokens per second, of the reference.
        other: The same of the other model.
    """

    positions: int
    top1: float
    kl: float
    reference: dict[str, float]
    other: dict[str, float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto models compare` to `parser`."""
    parser.add_argument("reference", metavar="REFERENCE", help="the GGUF file to compare with, such as F16")
    parser.add_argument("other", metavar="OTHER", help="another GGUF file with the same vocabulary")
    parser.add_argument("--prompts", metavar="FILE", help="what visitors say, a line each (8 lines)")
    parser.add_argument("--system", metavar="FILE", help="the character sheet that they speak to")
    parser.add_argument(
        "--tokens",
        type=types.count(1, 1024),
        default=32,
        metavar="N",
        help="tokens of an answer (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    types.add_engine_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints how the models differ. Returns the exit status."""
    lines = _read(arguments.prompts).splitlines() if arguments.prompts else list(_LINES)
    system = _read(arguments.system) if arguments.system else None
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise ArgumentError(f"invalid --prompts '{arguments.prompts}': expected a file with a line or more")
    with Engine("cpu", mode="prioritize_compute", **types.engine_options(arguments)) as engine:
        found = compare(engine, arguments.reference, arguments.other, lines, system, arguments.tokens)
    if arguments.json:
        screen.say(screen.dump(found._asdict()))
    else:
        _show(found)
    return 0


def compare(
    engine: Engine, reference: str, other: str, lines: list[str], system: str | None, tokens: int
) -> Compared:
    """Compares two models on the answers that the first one gives to `lines`, greedily, of `tokens` each.

    Raises:
        ArgumentError: The models have different vocabularies.
        SottoError: A file cannot be loaded.
    """
    with progress.fractions("compare") as told:
        for name, path in (("reference", reference), ("other", other)):
            engine.load_model(name, path=path, progress=told)
        prompts = [_prompt(engine, line, system) for line in lines]
        agreed, divergences = [], []
        rates: dict[str, list[float]] = {"reference": [], "other": []}
        for done, prompt in enumerate(prompts):
            told("compare", done / len(prompts))
            places, rate = _answer(engine, "reference", prompt, tokens)
            rates["reference"].append(rate)
            rates["other"].append(_answer(engine, "other", prompt, tokens)[1])
            for at, place in enumerate(places):
                before = prompt + [one.token for one in places[:at]]
                (seen,), _ = _answer(engine, "other", before, 1)
                agreed.append(seen.token == place.token)
                divergences.append(divergence(place.likely, seen.likely))
    facts = {
        name: {"bytes": os.path.getsize(path), "tokens_per_s": round(statistics.median(rates[name]), 1)}
        for name, path in (("reference", reference), ("other", other))
    }
    top1, kl = statistics.fmean(agreed), statistics.fmean(divergences)
    return Compared(len(agreed), round(top1, 4), round(kl, 5), facts["reference"], facts["other"])


def divergence(reference: dict[int, float], other: dict[int, float]) -> float:
    """Returns the Kullback-Leibler divergence from `reference`, log probabilities by token, in nats.

    Tokens that one of the two lacks count as one token: merging events never raises the divergence (the
    data-processing inequality), so that the result is a lower bound.
    """
    common = reference.keys() & other.keys()
    parts = [(math.exp(reference[token]), math.exp(other[token])) for token in common]
    rest = [max(1e-9, 1 - sum(part[side] for part in parts)) for side in (0, 1)]
    return max(0.0, sum(p * math.log(p / q) for p, q in [*parts, (rest[0], rest[1])] if p > 0))


def _prompt(engine: Engine, line: str, system: str | None) -> list[int]:
    """Returns the tokens of a prompt, the same for both models."""
    messages = [{"role": "system", "content": system}] if system else []
    messages.append({"role": "user", "content": line})
    templated = bool(engine.model_info("reference")["details"].get("has_chat_template"))
    if templated:
        asked: dict[str, Any] = {"model": "reference", "messages": messages}
        line = json.loads(engine.apply_template(asked))["prompt"]
    found = []
    for model in ("reference", "other"):
        asked = {"model": model, "content": line, "add_special": True, "parse_special": templated}
        found.append(json.loads(engine.tokenize(asked))["tokens"])
    if found[0] != found[1]:
        raise ArgumentError("the models have different vocabularies: compare two files of one model")
    return list(found[0])


def _answer(engine: Engine, model: str, prompt: list[int], tokens: int) -> tuple[list[Place], float]:
    """Returns the places of a greedy answer, and its tokens per second."""
    asked: dict[str, Any] = {"model": model, "prompt": prompt, "max_tokens": tokens, "temperature": 0}
    asked |= {"n_probs": _TOP, "return_tokens": True, "ignore_eos": True}
    told = json.loads(engine.llm_text_completion(asked))
    places = [
        Place(one["id"], {each["id"]: each["logprob"] for each in one["top_logprobs"]})
        for one in told["choices"][0]["completion_probabilities"]
    ]
    return places, told["timings"]["predicted_per_second"]


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ArgumentError(f"cannot read '{path}': {error}") from None


def _show(found: Compared) -> None:
    for name, facts in (("reference", found.reference), ("other", found.other)):
        screen.say(f"{name:<10}{size(facts['bytes']):>12}{facts['tokens_per_s']:>10.1f} tokens/s")
    screen.say(
        f"the same first choice at {found.top1:.1%} of {found.positions} tokens; "
        f"divergence at least {found.kl:.4f} nats a token"
    )
