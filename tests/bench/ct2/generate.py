"""The decoder backend beside llama.cpp (texts) and beside CTranslate2's own Generator (time)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import gguf
import numpy as np
from tokenizers import Tokenizer

import sotto
from ct2.support import HOUSE, ROOT, converted, done, engine, in_turn, median, percentage

sys.path.append(str(ROOT / "tests" / "speech"))
from innkeeper import ASKED  # needs the path above

NAMES = ("Brenna", "Toller", "Wystan", "Ilse", "Garrick", "Maud", "Osric", "Hilda", "Bertram", "Sunniva")
LINES = (*ASKED, "I am in a hurry. What news is there?", "Give me the key, or I call the guard.")
SHEET = (
    "You are {name}, the innkeeper of Millbrook. Ale costs three copper. Stew costs five copper. "
    "A bed costs ten copper. The old mill is north of the bridge. You fear wolves. "
    "You like rain. Your brother Edwin is a smith. "
    "You have lived here for twenty years. The inn is called the Drowned Rat. The key of the cellar is lost. "
    "The miller owes you eight silver. A caravan arrives on market day. The well behind the church is dry."
)
# What an author adds for a character that the player meets often.
BACKGROUND = (
    " You were born in a fishing village on the coast and came here with a salt trader when you were twelve. "
    "Your husband fell from the roof of the barn four winters ago, and you have run the house alone since. "
    "You speak kindly but shortly, and never of the war. You do not give credit to strangers. "
    "Soldiers drank here in the spring and broke two benches; the captain still owes you for them. "
    "The cook is called Anselm; he burns the bread when he is in love. The stable boy is called Piet and is "
    "afraid of the grey horse. In the evening the ferryman plays dice by the fire and loses. "
    "You know the road to the capital: three days north, past the quarry and the burned chapel. "
    "The old mill has stood empty since the miller moved into the village, and children call it haunted. "
    "You think that smugglers use it, and tell only those whom you trust. A silver ring lies in the drawer "
    "below the counter; a traveller left it and never came back. You would give it to someone who can tell "
    "what is written inside: home before the snow. If somebody threatens you, call for the guard, Halvard, "
    "who eats here every evening. If somebody asks for work, send them to the smith."
)
TOKENS = 48


def chat(name: str, line: str, **fields: Any) -> dict[str, Any]:
    """A greedy chat."""
    messages = [{"role": "system", "content": SHEET.format(name=name)}, {"role": "user", "content": line}]
    return {"model": "npc", "messages": messages, "max_tokens": TOKENS, "temperature": 0, **fields}


def in_float32(path: Path) -> Path:
    """The house model with all weights as float32, so that both libraries have the same ones."""
    if path.exists():
        return path
    given = gguf.GGUFReader(HOUSE)
    written = gguf.GGUFWriter(path, "llama")
    for field in given.fields.values():
        if not field.name.startswith(("GGUF.", "general.architecture", "general.file_type")):
            kind, *inner = field.types
            written.add_key_value(field.name, field.contents(), kind, inner[0] if inner else None)
    for tensor in given.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        written.add_tensor(tensor.name, values)
    written.write_header_to_file()
    written.write_kv_data_to_file()
    written.write_tensors_to_file()
    written.close()
    return path


def texts(asked: sotto.Engine) -> list[str]:
    """The answers to a hundred prompts, one after the other."""
    found = []
    for name in NAMES:
        for line in LINES:
            event = next(iter(done(asked, [asked.submit("chat", chat(name, line))]).values()))
            found.append(json.loads(event.json)["choices"][0]["message"]["content"])
    return found


def equal_pct(folder: Path, work: Path) -> float:
    """How many texts are those of the llama backend."""
    with engine() as asked:
        asked.load_model("npc", path=folder, backend="ctranslate2")
        ours = texts(asked)
    with engine() as asked:
        asked.load_model("npc", path=in_float32(work / "house-f32.gguf"), backend="llama")
        theirs = texts(asked)
    return percentage(left == right for left, right in zip(ours, theirs, strict=True))


def first_token(asked: sotto.Engine, model: str, line: str, background: str) -> float:
    """Seconds until the first text of an answer."""
    body = chat("Brenna", line, model=model, max_tokens=2)
    body["messages"][0]["content"] += background
    began = perf_counter()
    request = asked.submit("chat", body)
    first = 0.0
    while True:
        asked.wait(1)
        for event in asked.events():
            if event.request == request and event.kind == "text" and not first:
                first = perf_counter() - began
            if event.request == request and event.kind == "request_done":
                return first or perf_counter() - began


def first_token_ratio(folder: Path, turns: int, background: str) -> float:
    """The time to the first token with a cached system message over that without a cache."""
    with engine() as asked:
        for model, tokens in (("cached", 1024), ("plain", 0)):
            options = {"prefix_cache_tokens": tokens, "streams": 1}
            asked.load_model(model, path=folder, backend="ctranslate2", options=options)
            first_token(asked, model, LINES[0], background)
        lines = iter(LINES * turns)
        rows = in_turn(
            turns,
            {
                model: lambda model=model: first_token(asked, model, next(lines), background)
                for model in ("cached", "plain")
            },
        )
    return median(row["cached"] / row["plain"] for row in rows)


def tokens_ratios(folder: Path, turns: int) -> dict[str, Any]:
    """The ratio of tokens a second, and ours, each the median of several processes.

    Where a process's weights lie in physical memory changes its pace by some percent, in either direction.
    """
    each = []
    for turn in range(turns):
        first = "library" if turn % 2 else "engine"
        command = [sys.executable, str(Path(__file__).with_name("pace.py")), str(folder), first]
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        each.append(json.loads(run.stdout))
    found = {}
    for count in each[0]:
        found[f"tokens_ratio_{count}"] = median(one[count]["ratio"] for one in each)
        found[f"tps_{count}"] = median(one[count]["ours"] for one in each)
    return found


def measure(work: Path, turns: int) -> dict[str, Any]:
    """All figures of the decoder."""
    folder = converted(work / "house", HOUSE)
    found: dict[str, Any] = {"equal_to_llama_pct": equal_pct(folder, work), **tokens_ratios(folder, turns)}
    found["first_token_ratio"] = first_token_ratio(folder, turns, BACKGROUND)
    found["first_token_ratio_short"] = first_token_ratio(folder, turns, "")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    for field, background in (("sheet_tokens", BACKGROUND), ("sheet_tokens_short", "")):
        found[field] = len(tokenizer.encode(SHEET.format(name=NAMES[0]) + background).tokens)
    return found
