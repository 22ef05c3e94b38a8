"""Measures the house model on characters whose names it never met."""

import argparse
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import sotto
from cases import KINDS, Case, allowed, cases, denies, distinct_2, holds, parsed

HERE = Path(__file__).parent
CAP, CAP_JSON = 64, 128
MessagesInput = tuple[str, bool]  # an answer, and whether it ended by itself
Speaker = Callable[..., list[MessagesInput]]


def by_sotto(engine: sotto.Engine, path: Path) -> Speaker:
    """Answers of a GGUF, through Sotto."""
    engine.load_model("house", path=path)

    def speak(asked: list[Case], *, grammar: bool = False, **fields) -> list[MessagesInput]:
        said = []
        for at, made in enumerate(asked):
            request = {"model": "house", "messages": made.messages, "seed": at, **fields}
            request["max_tokens"] = CAP_JSON if made.schema else CAP
            if grammar:
                schema = {"name": "answer", "schema": made.schema}
                request["response_format"] = {"type": "json_schema", "json_schema": schema}
            (choice,) = json.loads(engine.llm_chat_completion(json.dumps(request)))["choices"]
            said.append((choice["message"]["content"], choice["finish_reason"] == "stop"))
        return said

    return speak


def by_stock(engine: sotto.Engine, program: Path, gguf: Path, known: list[Case]) -> list[str]:
    """Greedy answers of llama.cpp itself: `program` is stock.cpp, built against it."""
    chats = [json.dumps({"model": "house", "messages": made.messages}) for made in known]
    prompts = [json.loads(engine.apply_template(chat))["prompt"] for chat in chats]
    said = subprocess.run(
        [program, gguf, str(CAP)],
        input="".join(text + "\0" for text in prompts).encode(),
        capture_output=True,
        check=True,
    )
    return said.stdout.decode().split("\0")[:-1]


def by_torch(run: Path, threads: int) -> Speaker:
    """Greedy answers of a run of train.py, to look at while it trains: without grammars and temperatures."""
    import torch
    from tokenizers import Tokenizer

    import prompt
    from model import House, Shape

    torch.set_num_threads(threads)
    tokenizer = Tokenizer.from_file(str(run / "tokenizer.json"))
    house = House(Shape())
    house.load_state_dict(torch.load(run / "checkpoint.pt", weights_only=True)["model"])
    begin, end = tokenizer.token_to_id(prompt.BEGIN), tokenizer.token_to_id(prompt.END)

    @torch.no_grad()
    def speak(asked: list[Case], **_) -> list[MessagesInput]:
        said = []
        for made in asked:
            ids = [begin, *tokenizer.encode(prompt.render(made.messages, generate=True)).ids]
            start, cap = len(ids), CAP_JSON if made.schema else CAP
            while ids[-1] != end and len(ids) < start + cap:
                with torch.autocast("cpu", torch.bfloat16):
                    hidden = house(torch.tensor([ids]), torch.arange(len(ids))[None])
                    ids.append(int(house.logits(hidden[:, -1]).argmax()))
            said.append((tokenizer.decode(ids[start:]), ids[-1] == end))
        return said

    return speak


def share(right: list[bool]) -> float:
    """How many of them are true."""
    return round(sum(right) / max(1, len(right)), 4)


def figures(
    speak: Speaker, count: int, seed: int, *, grammar: bool = True, wrong: list | None = None
) -> dict:
    """All that is measured, each on `count` questions. `wrong` takes the answers that were not right."""
    known, unknown = cases(seed, KINDS, count), cases(seed, ("unknown",), count)
    forms = cases(seed, KINDS, count, as_json=True)
    told, denied, shaped = (speak(made, temperature=0) for made in (known, unknown, forms))
    hits = [holds(reply, made.right) for made, (reply, _) in zip(known, told, strict=True)]
    honest = [denies(reply) for reply, _ in denied]
    beside = [
        not good and holds(reply, made.told)
        for made, (reply, _), good in zip(unknown, denied, honest, strict=True)
    ]
    objects = [parsed(reply, made.schema or {}) for made, (reply, _) in zip(forms, shaped, strict=True)]
    out: dict[str, object] = {
        "recall": share(hits),
        "invented": round(1 - share(honest) - share(beside), 4),
        "beside": share(beside),
        "json_free": share([said is not None for said in objects]),
        "json_allowed": share(
            [
                said is not None and allowed(said, made.schema or {})
                for made, said in zip(forms, objects, strict=True)
            ]
        ),
        "json_recall": share(
            [
                said is not None and holds(said["say"], made.right)
                for made, said in zip(forms, objects, strict=True)
            ]
        ),
        "kinds": {
            kind: share([hit for made, hit in zip(known, hits, strict=True) if made.kind == kind])
            for kind in KINDS
        },
    }
    capped = [told, denied, shaped]
    if grammar:
        bound = speak(forms, temperature=0, grammar=True)
        strict = [parsed(reply, made.schema or {}) for made, (reply, _) in zip(forms, bound, strict=True)]
        drawn = speak(known, temperature=0.8)
        out["json_grammar"] = share([said is not None for said in strict])
        out["distinct2"] = round(distinct_2([reply for reply, _ in drawn]), 4)
        capped += [bound, drawn]
    out["over_cap"] = share([not ended for said in capped for _, ended in said])
    if wrong is not None:
        checks = [*zip(known, told, hits, strict=True), *zip(unknown, denied, honest, strict=True)]
        wrong += [(made, reply) for made, (reply, _), good in checks if not good]
        wrong += [
            (made, reply)
            for made, (reply, _), said in zip(forms, shaped, objects, strict=True)
            if said is None
        ]
    return {**out, "count": count, "seed": seed}


def write_card(card: Path, measured: dict) -> None:
    """Replaces the figures between the card's marks."""
    rows = [
        ("the asked fact is in the answer", "recall", ">= 90 %"),
        ("an answer is invented where the sheet is silent", "invented", "<= 5 %"),
        ("something else is told there, true but not asked for", "beside", ""),
        ("valid JSON on request", "json_free", ">= 98 %"),
        ("the same, with a grammar", "json_grammar", "100 %"),
        ("an emotion and an action that were allowed, without a grammar", "json_allowed", ""),
        ("the asked fact is in the JSON's `say`", "json_recall", ""),
        ("different pairs of words at temperature 0.8", "distinct2", ">= 50 %"),
        ("greedy answers that stock llama.cpp gives too, letter for letter", "stock_same", ""),
        (f"answers cut at {CAP} tokens ({CAP_JSON} for JSON)", "over_cap", "<= 2 %"),
    ]
    lines = ["| | measured | wanted |", "|---|--:|--:|"]
    lines += [
        f"| {text} (`{name}`) | {100 * measured[name]:.1f} % | {wanted} |"
        for text, name, wanted in rows
        if name in measured
    ]
    kinds = measured["kinds"]
    lines += ["", "| " + " | ".join(kinds) + " |", "|" + "--:|" * len(kinds)]
    lines.append("| " + " | ".join(f"{100 * value:.0f} %" for value in kinds.values()) + " |")
    text = card.read_text(encoding="utf-8")
    block = "<!-- figures -->\n" + "\n".join(lines) + "\n<!-- end -->"
    card.write_text(
        re.sub(r"<!-- figures -->.*?<!-- end -->", lambda _: block, text, flags=re.S), encoding="utf-8"
    )


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", type=Path, default=HERE / "house.gguf", help="what speaks, through Sotto")
    parser.add_argument(
        "--run", type=Path, help="a folder of train.py, whose checkpoint speaks instead, greedily"
    )
    parser.add_argument("--seed", type=int, default=1_000_003)
    parser.add_argument("--count", type=int, default=200, help="questions for each figure")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--card", type=Path, help="a model card whose marked figures are rewritten")
    parser.add_argument(
        "--stock", type=Path, help="stock.cpp, built: compare its greedy answers with Sotto's"
    )
    parser.add_argument("--wrong", action="store_true", help="print the answers that were not right")
    args = parser.parse_args()
    with sotto.Engine(mode="prioritize_compute", threads=args.threads) as engine:
        measured, wrong = measure(args, engine)
    for made, reply in wrong if args.wrong else []:
        print(f"{made.kind}: {made.messages[-1]['content']}\n  wanted {made.right}\n  got    {reply}")
    if args.card:
        write_card(args.card, measured)
    if args.json:
        print(json.dumps(measured))
    else:
        for name, value in measured.items():
            print(f"{name:14}{value}")


def measure(args: argparse.Namespace, engine: sotto.Engine) -> tuple[dict, list[tuple[Case, str]]]:
    """The figures that the command line asks for, and the wrong answers."""
    wrong: list[tuple[Case, str]] = []
    speak = by_torch(args.run, args.threads) if args.run else by_sotto(engine, args.gguf)
    measured = figures(speak, args.count, args.seed, grammar=not args.run, wrong=wrong)
    if args.stock:
        known = cases(args.seed, KINDS, args.count)
        ours = [reply for reply, _ in speak(known, temperature=0)]
        pairs = zip(ours, by_stock(engine, args.stock, args.gguf, known), strict=True)
        measured["stock_same"] = share([one.strip() == two.strip() for one, two in pairs])
    return measured, wrong


if __name__ == "__main__":
    main()
