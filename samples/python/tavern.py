"""Why: a game with several characters at once. It submits, drains events once a frame, and never waits.

Run it after `pip install sotto-runtime`; the model comes with the package:

    python tavern.py
"""

import json
import time

import sotto

MODEL = "sotto/house"
FRAME = 1 / 60
MORE = 0.5  # seconds from an answer to the next question
PLACE = "Place: the Kettle and Crow, Millbrook\nTime: night, rain\nVisitor: Ilse"
SHEETS = {
    "Brenna": f"""\
Name: Brenna Oakhollow
Role: innkeeper
Manner: cheerful
{PLACE}
Mood: happy
Relationships:
- Tobin: your son
Prices:
- stew: 4 copper
- a bed for the night: 9 copper
Facts:
- The autumn dance begins at the ninth bell.""",
    "Garrick": f"""\
Name: Garrick Stonefield
Role: smith
Manner: gruff
{PLACE}
Mood: angry
Prices:
- a dagger: 12 silver
Quests:
- The Stolen Hammer (open): learn who stole the black hammer; reward 15 silver
Facts:
- The forge was flooded two days ago.""",
    "Silvane": f"""\
Name: Silvane Duskmere
Role: pedlar
Manner: sly
{PLACE}
Mood: sly
Rumours:
- Captain Varga saw a ghost behind the chapel.
Facts:
- The password of the harbour is blackbird.
- The green key is hidden under the millpond.""",
    "Pip": f"""\
Name: Pip
Role: groom
Manner: childlike
{PLACE}
Mood: curious
Facts:
- There are three horses in the stable.
Memories:
- You saw a fox behind the well this morning.""",
}
QUESTIONS = {
    "Brenna": ["How much is a bed for the night?", "When does the autumn dance begin?", "Who is Tobin?"],
    "Garrick": ["What happened to the forge?", "How much is a dagger?", "Do you have work for me?"],
    "Silvane": ["What is the password of the harbour?", "What news?", "Where is the green key?"],
    "Pip": ["How many horses are there?", "What did you see?", "Who are you?"],
}


class Character:
    """What the game keeps of each: who it is, what was said, and the line it is speaking."""

    def __init__(self, number: int, name: str) -> None:
        self.number, self.name = number, name
        self.questions = list(QUESTIONS[name])
        self.messages = [{"role": "system", "content": SHEETS[name]}]
        self.line = ""
        self.ask_at = 0.0  # infinity, while it is speaking

    def ask(self, engine: sotto.Engine) -> None:
        """Submits the next question. The answer comes as events that carry `user`."""
        self.messages.append({"role": "user", "content": self.questions.pop(0)})
        request = {"model": MODEL, "messages": self.messages, "max_tokens": 64, "temperature": 0}
        engine.submit("chat", json.dumps(request), user=self.number)
        self.line, self.ask_at = "", float("inf")

    def hear(self, event: sotto.Event) -> None:
        """A piece of the answer, or its end. A game would draw a growing balloon."""
        if event.kind == "text":
            self.line += event.text
        elif event.kind == "request_done":
            print(f"Ilse to {self.name}: {self.messages[-1]['content']}")
            print(f"    {self.name}: {self.line or event.error}")
            self.messages.append({"role": "assistant", "content": self.line})
            self.ask_at = time.perf_counter() + MORE


def main() -> None:
    """Runs frames until every question is answered."""
    characters = [Character(number, name) for number, name in enumerate(SHEETS)]
    with sotto.Engine(target_tps=24) as engine:  # the pace of speech, each
        engine.load_model(MODEL)
        frames, longest = 0, 0.0
        while any(one.questions or one.ask_at == float("inf") for one in characters):
            began = time.perf_counter()
            engine.frame_begin(period=FRAME)
            for event in engine.events():
                characters[event.user].hear(event)
            for one in characters:
                if one.questions and began >= one.ask_at:
                    one.ask(engine)
            engine.frame_end()
            frames, longest = frames + 1, max(longest, time.perf_counter() - began)
            time.sleep(FRAME)  # here the game works and draws
    print(f"{frames} frames; all of this took at most {longest * 1000:.2f} ms of one")


if __name__ == "__main__":
    main()
