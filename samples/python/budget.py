"""Why: a level with more textures begins while four characters speak, and the game takes memory back.

Nobody falls silent for good: some give up their places for a while, and go on where they were. The innkeeper,
with whom the player speaks, is pinned: her place is the last to go.

Run it after `pip install sotto-runtime`; the model comes with the package:

    python budget.py
"""

import sotto

MODEL = "sotto/house"
MB = 1 << 20
PEOPLE = [  # who they are, what they know, and what they are asked
    ("Brenna", "innkeeper", "The cellar is locked after dusk.", "What about the cellar?"),
    ("Garrick", "smith", "The forge was flooded two days ago.", "What happened to the forge?"),
    ("Silvane", "pedlar", "The green key is hidden under the millpond.", "Where is the green key?"),
    ("Pip", "groom", "There are three horses in the stable.", "How many horses are there?"),
]


def enter(engine: sotto.Engine, number: int) -> None:
    """One of them comes in."""
    name, role, fact, _ = PEOPLE[number]
    sheet = f"Name: {name}\nRole: {role}\nManner: cheerful\nFacts:\n- {fact}"
    engine.session(name, sheet, model=MODEL, pinned=number == 0)


def asked(number: int) -> dict:
    """A request to one of them."""
    name, _, _, question = PEOPLE[number]
    messages = [{"role": "user", "content": question}]
    return {"session": name, "messages": messages, "max_tokens": 64, "temperature": 0}


def tell(engine: sotto.Engine, when: str) -> None:
    """Who has how much."""
    told = engine.memory()
    uses = ", ".join(f"{name} {use['used'] / MB:.1f}" for name, use in told["uses"].items() if use["used"])
    model = told["models"][0]
    places = f"{model['streams']} of {model['max_streams']} places"
    print(f"{when}: {told['used'] / MB:.1f} of {told['budget'] / MB:.0f} MB ({uses}), {places}")


def main() -> None:
    """Grants what the model takes, has everybody speak, and takes a third back."""
    with sotto.Engine(target_tps=20) as engine:
        granted = engine.plan_model(MODEL)["rungs"][0]["bytes"] // MB + 4  # and some for those who are parked
        engine.set_vram_budget_mb(granted)
        engine.load_model(MODEL)
        tell(engine, "a small level")
        for number in range(len(PEOPLE)):
            enter(engine, number)
            engine.submit("chat", asked(number), user=number)
        lines = [""] * len(PEOPLE)
        speaking = len(PEOPLE)
        lowered = False
        while speaking and engine.wait():
            for event in engine.events():
                if event.kind == "text":
                    lines[event.user] += event.text
                elif event.kind == "request_done":
                    name, _, _, question = PEOPLE[event.user]
                    print(f"You to {name}: {question}\n    {name}: {lines[event.user].strip()}{event.error}")
                    speaking -= 1
            if not lowered and all(lines):  # everybody is in the midst of a sentence
                lowered = True
                engine.set_vram_budget_mb(granted * 2 // 3)
                print("while everybody speaks, the game takes a third of it back")
        tell(engine, "a larger level")


if __name__ == "__main__":
    main()
