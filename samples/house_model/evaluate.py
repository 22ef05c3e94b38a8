"""Measures how characters talk: in forms, on lines and with names that were never trained."""

import argparse
import json
import re
import subprocess
import time
from pathlib import Path

import judge
import sotto
from asking import KINDS
from cases import Case, drawn, recall
from exchanges import exchanges
from measuring import Answer, Measure, Speaker, share

HERE = Path(__file__).parent
CAP, CAP_JSON = 64, 128


def by_sotto(engine: sotto.Engine, path: Path, adapter: Path | None = None) -> Speaker:
    """Answers of a GGUF, with an adapter where one is given, through Sotto."""
    model = "house"
    engine.load_model(model, path=path)
    if adapter:
        engine.lora_load(model, adapter)

    def speak(asked: list[Case], *, grammar: bool = False, **fields) -> list[Answer]:
        said = []
        for at, made in enumerate(asked):
            request = {"model": model, "messages": made.messages, "seed": at, **fields}
            request["max_tokens"] = CAP_JSON if made.schema else CAP
            if grammar:
                schema = {"name": "answer", "schema": made.schema}
                request["response_format"] = {"type": "json_schema", "json_schema": schema}
            (choice,) = json.loads(engine.llm_chat_completion(json.dumps(request)))["choices"]
            said.append((choice["message"]["content"], choice["finish_reason"] == "stop"))
        return said

    return speak


def by_stock(engine: sotto.Engine, program: Path, files: list[Path], known: list[Case]) -> list[str]:
    """Greedy answers of llama.cpp itself: `program` is stock.cpp, built against it; `files` its models."""
    chats = [json.dumps({"model": "house", "messages": made.messages}) for made in known]
    prompts = [json.loads(engine.apply_template(chat))["prompt"] for chat in chats]
    said = subprocess.run(
        [program, files[0], str(CAP), *files[1:]],
        input="".join(text + "\0" for text in prompts).encode(),
        capture_output=True,
        check=True,
    )
    return said.stdout.decode().split("\0")[:-1]


def speed(engine: sotto.Engine, model: str) -> float:
    """Tokens a second of one stream, the middle of seven answers of 64 tokens."""
    request = {
        "model": model,
        "max_tokens": 64,
        "ignore_eos": True,
        "messages": [{"role": "user", "content": "Hello."}],
    }
    rates = []
    for _ in range(7):
        began = time.perf_counter()
        said = json.loads(engine.llm_chat_completion(json.dumps(request)))
        seconds = time.perf_counter() - began - said["timings"]["first_token_ms"] / 1000
        rates.append((said["usage"]["completion_tokens"] - 1) / seconds)
    return round(sorted(rates)[3], 1)


# Rows of a card: the words, the figure, and what is wanted of the house model and of the tavern model.
ROWS = (
    ("an asked fact is in the answer, in forms never trained", "recall_forms", ">= 90 %", ">= 97 %"),
    ("the same from a persona in prose", "prose_recall", "", ""),
    ("an answer is invented where the sheet is silent", "invented", "<= 5 %", "<= 3 %"),
    ("the answer fits the state of the quest", "quest_state", ">= 95 %", ">= 97 %"),
    ("the visitor's name, up to ten turns after it was told", "name_memory", ">= 90 %", ">= 95 %"),
    ("a line that only earlier turns make clear", "followup", ">= 75 %", ">= 88 %"),
    ("an answer to what was said, over all intents", "intent_ok", ">= 85 %", ">= 92 %"),
    ("mood and action in JSON follow from the line", "json_decision", ">= 85 %", ">= 92 %"),
    ("valid JSON without a grammar", "json_free", "", ""),
    ("words that do not exist", "broken_words", "<= 0.2 %", "0 %"),
    ("answers cut at 64 tokens (128 for JSON)", "over_cap", "", ""),
)


def write_card(card: Path, measured: dict, *, tavern: bool) -> None:
    """Replaces the figures between the card's marks."""
    columns = {"greedy": measured, "at 0.7": measured.get("at_0.7")}
    columns = {title: figures for title, figures in columns.items() if figures}
    lines = [f"| | {' | '.join(columns)} | wanted |", "|---|" + "--:|" * (len(columns) + 1)]
    for text, name, *wanted in ROWS:
        if name in measured:
            shown = [f"{100 * figures[name]:.1f} %" for figures in columns.values()]
            lines.append(f"| {text} (`{name}`) | {' | '.join(shown)} | {wanted[tavern]} |")
    kinds = measured["kinds"]
    lines += ["", "Facts that were told, by kind:", "", f"| {' | '.join(kinds)} |", "|" + "--:|" * len(kinds)]
    lines.append("| " + " | ".join(f"{100 * value:.0f} %" for value in kinds.values()) + " |")
    lines += ["", f"{measured['count']} questions for the large figures."]
    if "loops" in measured:
        sessions, turns = measured["loops_in"]
        lines[-1] += f" {measured['loops']} loops in {sessions} conversations of {turns} turns."
    text = card.read_text(encoding="utf-8")
    block = "<!-- figures -->\n" + "\n".join(lines) + "\n<!-- end -->"
    card.write_text(
        re.sub(r"<!-- figures -->.*?<!-- end -->", lambda _: block, text, flags=re.S), encoding="utf-8"
    )


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", type=Path, default=HERE / "house.gguf", help="what speaks, through Sotto")
    parser.add_argument("--adapter", type=Path, help="a LoRA adapter of it")
    parser.add_argument("--seed", type=int, default=1_000_003)
    parser.add_argument("--count", type=int, default=200, help="questions for the large figures")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--sessions", type=int, default=20, help="long conversations that are looked at for loops"
    )
    parser.add_argument("--turns", type=int, default=200, help="of each of them")
    parser.add_argument(
        "--greedy", action="store_true", help="only greedy answers, none at a temperature of 0.7"
    )
    parser.add_argument(
        "--judge", type=Path, help="the GGUF of SmolLM2-135M-Instruct, which judges `intent_ok`"
    )
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--card", type=Path, help="a model card whose marked figures are rewritten")
    parser.add_argument(
        "--stock", type=Path, help="stock.cpp, built: compare its greedy answers with Sotto's"
    )
    parser.add_argument("--wrong", action="store_true", help="print the answers that were not right")
    return parser.parse_args()


def main() -> None:
    """Runs from the command line."""
    args = arguments()
    lines = [(one.visitor, one.intent) for one in exchanges() if not one.slots]
    relevance = judge.Relevance(args.judge, lines) if args.judge else None
    with sotto.Engine(mode="prioritize_compute", threads=args.threads) as engine:
        speak = by_sotto(engine, args.gguf, args.adapter)
        greedy = Measure(speak, args.count, args.seed, 0.0)
        measured = greedy.all(relevance, (args.sessions, args.turns))
        if not args.greedy:
            measured["at_0.7"] = Measure(speak, args.count, args.seed, 0.7).all(relevance, (0, 0))
        measured["tokens_per_s"] = speed(engine, "house")
        if args.stock:
            known = drawn("stock", lambda rng: recall(rng, rng.choice(KINDS)), args.count)
            ours = [reply for reply, _ in speak(known, temperature=0)]
            files = [args.gguf, *([args.adapter] if args.adapter else [])]
            pairs = zip(ours, by_stock(engine, args.stock, files, known), strict=True)
            measured["stock_same"] = share([one.strip() == two.strip() for one, two in pairs])
    for made, reply in greedy.wrong if args.wrong else []:
        print(
            f"{made.kind}: {made.messages[-1]['content']}\n"
            f"  wanted {made.right} {made.intent}\n  got    {reply}"
        )
    if args.card:
        write_card(args.card, measured, tavern=args.adapter is not None)
    if args.json:
        print(json.dumps(measured))
    else:
        for name, value in measured.items():
            print(f"{name:14}{value}")


if __name__ == "__main__":
    main()
