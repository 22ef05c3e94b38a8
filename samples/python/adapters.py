"""Why: three characters speak at once, each in a manner of its own, from one set of weights.

The adapter of 2 MB changes the manner and leaves the facts. Two characters use it, at different scales, and
one does not. Each step of the model computes characters of one scale, and the scales take turns. Run it from
the repository, after `pip install sotto-runtime`; the model comes with the package:

    python adapters.py "How much is a hammock?"
"""

import sys
from pathlib import Path

import sotto

MODEL = "sotto/house"
MB = 1 << 20
PIRATE = Path(__file__).parents[1] / "house_model" / "pirate.gguf"
SHEET = """\
Name: {name}
Role: innkeeper
Manner: cheerful
Place: the Drowned Rat, Port Salt
Prices:
- grog: 3 copper
- a hammock: 4 copper
Facts:
- The cellar is locked after dusk."""
PEOPLE: dict[str, list[dict]] = {  # who speaks, and with which adapters
    "Brenna": [],
    "Molly": [{"name": "pirate", "scale": 0.8}],
    "Tess": [{"name": "pirate", "scale": 0.6}],
}


def asked(name: str, question: str) -> dict:
    """A request to one of them. `lora` says how this one speaks; the model stays as it is."""
    messages = [
        {"role": "system", "content": SHEET.format(name=name)},
        {"role": "user", "content": question},
    ]
    return {"model": MODEL, "messages": messages, "lora": PEOPLE[name], "max_tokens": 64, "temperature": 0}


def main() -> None:
    """Asks all three at once, and prints their answers and what the weights and the adapter take."""
    question = " ".join(sys.argv[1:]) or "How much is a hammock?"
    names = list(PEOPLE)
    lines = dict.fromkeys(names, "")
    turns: list[str] = []  # whose text came, in order, without repetitions
    with sotto.Engine(target_tps=20) as engine:
        engine.load_model(MODEL)
        engine.lora_load(MODEL, PIRATE, name="pirate")
        weights = engine.memory()["uses"]["weights"]["used"]
        for number, name in enumerate(names):
            engine.submit("chat", asked(name, question), user=number)
        speaking = len(names)
        while speaking and engine.wait():
            for event in engine.events():
                name = names[event.user]
                if event.kind == "text":
                    lines[name] += event.text
                    turns += [] if turns[-1:] == [name] else [name]
                elif event.kind == "request_done":
                    lines[name] += event.error
                    speaking -= 1
        uses = engine.memory()["uses"]
    print(f"You: {question}")
    for name, said in lines.items():
        print(f"    {name}: {said.strip()}")
    print(f"the speaker changed {len(turns) - 1} times while they spoke")
    after, adapter = uses["weights"]["used"], uses["adapter"]["used"]
    print(f"weights: {weights / MB:.1f} MB before, {after / MB:.1f} MB after; adapter: {adapter / MB:.1f} MB")


if __name__ == "__main__":
    main()
