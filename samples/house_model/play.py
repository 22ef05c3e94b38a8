"""Plays the unscripted lines with a model, and writes the transcript that a person reads before a release."""

import argparse
from pathlib import Path

import yaml

import sotto
from sotto.demo.personas import personas
from sotto.demo.rules import MAX_TOKENS
from sotto.npc.sampling import CHARACTER_SAMPLING

LINES = Path(__file__).with_name("unscripted.yaml")
COUNTED = 60


def played(engine: sotto.Engine, model: str) -> dict[str, list[tuple[str, str]]]:
    """The conversation of each character."""
    talks = {}
    for name, lines in yaml.safe_load(LINES.read_text(encoding="utf-8")).items():
        system = next(one.system for one in personas() if one.called == name)
        with engine.session(name, system, model=model) as session:
            fields = {**CHARACTER_SAMPLING, "max_tokens": MAX_TOKENS}
            talks[name] = [(line, session.say(line, fields)) for line in map(str, lines)]
    return talks


def page(model: str, talks: dict[str, list[tuple[str, str]]]) -> str:
    """The transcript in Markdown; lines that count have a box to tick."""
    each = -(-COUNTED // len(talks))
    left, blocks = COUNTED, [f"# Unscripted play: {model}\n"]
    for name, turns in talks.items():
        blocks.append(f"\n## {name}\n")
        for at, (line, reply) in enumerate(turns):
            box = "[ ] " if at < min(each, left) else ""
            blocks.append(f"- {box}*{line}*  \n  {' '.join(reply.split())}")
        left -= min(each, left)
    return "\n".join(blocks) + "\n"


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="sotto/house, sotto/tavern or a GGUF file")
    parser.add_argument("--out", type=Path, required=True, help="the Markdown file")
    args = parser.parse_args()
    with sotto.Engine(mode="prioritize_compute") as engine:
        engine.load_model(args.model)
        args.out.write_text(page(args.model, played(engine, args.model)), encoding="utf-8")


if __name__ == "__main__":
    main()
