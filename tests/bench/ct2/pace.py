"""Tokens a second through the engine and of CTranslate2's own Generator, in one process."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import ctranslate2
from tokenizers import Tokenizer

sys.path.append(str(Path(__file__).resolve().parents[1]))  # last, as it holds a file ctranslate2.py

import sotto
from ct2.support import done, engine, in_turn, median

TOKENS, STREAMS, TURNS = 48, 8, 5


def prompts(count: int) -> list[str]:
    """The same text to complete, `count` times."""
    return ["Brenna said to the traveller that the old mill"] * count


def ours_tps(asked: sotto.Engine, count: int) -> float:
    """Tokens a second through the engine, of `count` requests at the same time."""
    fields = {"model": "npc", "max_tokens": TOKENS, "ignore_eos": True, "temperature": 0}
    began = perf_counter()
    done(asked, [asked.submit("completion", {**fields, "prompt": text}) for text in prompts(count)])
    return count * TOKENS / (perf_counter() - began)


def library_tps(stock: Any, tokenizer: Any, count: int) -> float:
    """Tokens a second of CTranslate2 itself, with `count` texts in one batch."""
    tokens = [tokenizer.encode(text).tokens for text in prompts(count)]
    began = perf_counter()
    stock.generate_batch(tokens, max_length=TOKENS, min_length=TOKENS, include_prompt_in_result=False)
    return count * TOKENS / (perf_counter() - began)


def paces(folder: Path, engine_first: bool) -> dict[str, Any]:
    """Tokens a second of both ways in this process, interleaved.

    Args:
        folder: The model.
        engine_first: The engine loads its weights before the library does.
    """
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    with engine() as asked:
        if engine_first:
            asked.load_model("npc", path=folder, backend="ctranslate2", options={"streams": STREAMS})
        stock = ctranslate2.Generator(str(folder), intra_threads=1)
        if not engine_first:
            asked.load_model("npc", path=folder, backend="ctranslate2", options={"streams": STREAMS})
        rows: dict[int, Any] = {}
        for count in (1, STREAMS):
            ways = {
                "ours": lambda count=count: ours_tps(asked, count),
                "library": lambda count=count: library_tps(stock, tokenizer, count),
            }
            in_turn(1, ways)
            rows[count] = in_turn(TURNS, ways)
    return {
        str(count): {
            "ratio": median(row["ours"] / row["library"] for row in found),
            "ours": median(row["ours"] for row in found),
        }
        for count, found in rows.items()
    }


if __name__ == "__main__":
    print(json.dumps(paces(Path(sys.argv[1]), sys.argv[2] == "engine")))
