"""Measures held-out recall: how often a greedy answer holds what the sheet says. Prints one JSON object."""

import argparse
import json
from pathlib import Path
from random import Random

import torch
from tokenizers import Tokenizer

import prompt
from corpus import ask_unknown
from model import House, Shape
from sheet import Character, a_character, sheet

KINDS = ("Facts", "Memories", "Relationships", "Quests", "Rumours", "Prices", "Name", "Unknown", "JSON")
NEVER_HEARD = (
    "not heard",
    "eans nothing",
    "not known",
    "told me nothing",
    "do not know",
    "obody ever",
    "in any record",
    "do not sell",
    "have no price",
)


def case(kind: str, rng: Random) -> dict | None:
    """One question of `kind` and the answers that count as right; None when the drawn sheet has none."""
    who: Character = a_character(rng, 1.0)
    who.keys = ["say", "emotion", "action", "target"] if kind == "JSON" else []
    text = sheet(who, rng)
    if kind == "Unknown":
        question, right = ask_unknown(who, rng)[0], []
    elif kind == "Prices":
        if not who.prices:
            return None
        good, price = rng.choice(list(who.prices.items()))
        question, right = f"How much is {good}?", [price]
    elif kind == "Name":
        question, right = rng.choice(["Who are you?", "What is your name?"]), [who.name]
    else:
        facts = who.facts["Facts" if kind == "JSON" else kind]
        if not facts:
            return None
        question = rng.choice(rng.choice(facts).asks)[0]
        right = [core for fact in facts for asked, core in fact.asks if asked == question]
        if kind == "Rumours":
            right = [fact.line for fact in facts]
        elif kind == "Quests":
            state, task = facts[0].line.split(": ", 1)
            task, reward = task.split("; reward ")
            right = [reward if "(done)" in state or "reward" in question or "pay" in question else task]
    return {
        "kind": kind,
        "question": question,
        "right": right,
        "messages": [{"role": "system", "content": text}, {"role": "user", "content": question}],
    }


def holds(made: dict, reply: str) -> bool:
    """Whether the reply says what it was to say."""
    if made["kind"] == "Unknown":
        return any(phrase in reply for phrase in NEVER_HEARD)
    if made["kind"] == "JSON":
        try:
            said = json.loads(reply)
        except json.JSONDecodeError:
            return False
        if not isinstance(said, dict) or list(said) != ["say", "emotion", "action", "target"]:
            return False
        reply = said["say"]
    return any(core[1:].lower() in reply.lower() for core in made["right"])


@torch.no_grad()
def answers(house: House, tokenizer: Tokenizer, prompts: list[str], most: int = 64) -> list[str]:
    """Greedy answers, a batch of equals at a time."""
    begin, end = tokenizer.token_to_id(prompt.BEGIN), tokenizer.token_to_id(prompt.END)
    rows = [[begin, *tokenizer.encode(text).ids] for text in prompts]
    starts, open_rows = [len(row) for row in rows], set(range(len(rows)))
    for _ in range(most):
        if not open_rows:
            break
        live = sorted(open_rows)
        length = max(len(rows[i]) for i in live)
        ids = torch.full((len(live), length), end)
        for at, i in enumerate(live):
            ids[at, : len(rows[i])] = torch.tensor(rows[i])
        with torch.autocast("cpu", torch.bfloat16):
            hidden = house(ids, torch.arange(length).repeat(len(live), 1))
            last = torch.stack([hidden[at, len(rows[i]) - 1] for at, i in enumerate(live)])
            best = house.logits(last).argmax(-1).tolist()
        for i, token in zip(live, best, strict=True):
            if token == end:
                open_rows.discard(i)
            else:
                rows[i].append(token)
    return [tokenizer.decode(row[start:]) for row, start in zip(rows, starts, strict=True)]


def by_torch(run: Path, cases: list[dict], threads: int) -> tuple[list[str], int]:
    """Answers of a checkpoint, and its step."""
    torch.set_num_threads(threads)
    tokenizer = Tokenizer.from_file(str(run / "tokenizer.json"))
    state = torch.load(run / "checkpoint.pt", weights_only=True)
    house = House(Shape())
    house.load_state_dict(state["model"])
    replies = []
    for at in range(0, len(cases), 40):
        prompts = [prompt.render(made["messages"], generate=True) for made in cases[at : at + 40]]
        replies += answers(house, tokenizer, prompts, 120)
    return replies, state["step"]


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--run", type=Path, help="folder of train.py, whose checkpoint answers")
    source.add_argument("--ask", type=Path, help="only write the questions here, a JSON list of chats")
    source.add_argument("--grade", type=Path, help="answers of any runtime, a JSON list of strings")
    parser.add_argument("--seed", type=int, default=1_000_003)
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    cases: list[dict] = []
    for kind in KINDS:
        rng, wanted = Random(f"{args.seed}/{kind}"), len(cases) + args.each
        while len(cases) < wanted:
            made = case(kind, rng)
            if made:
                cases.append(made)
    figures: dict[str, object] = {"cases": args.each, "seed": args.seed}
    if args.ask:
        args.ask.write_text(json.dumps([made["messages"] for made in cases], ensure_ascii=False))
    else:
        if args.run:
            replies, figures["step"] = by_torch(args.run, cases, args.threads)
        else:
            replies = json.loads(args.grade.read_text())
        for kind in KINDS:
            right = [
                holds(made, reply) for made, reply in zip(cases, replies, strict=True) if made["kind"] == kind
            ]
            figures[kind] = round(sum(right) / len(right), 3)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
