"""Why: eight characters gossip, two at a time. The player walks up to one, and that one answers at once.

Run it after `pip install sotto-runtime`; the model comes with the package. Open the file that it writes in
https://ui.perfetto.dev to see what was computed when:

    python priorities.py trace.json
"""

import statistics
import sys
import time

import sotto

MODEL = "sotto/house"
FRAME = 1 / 60
EVERY = 1.1  # seconds between two of the player's questions
PLAYER = 100  # what is added to a character's number where the player asked
PEOPLE = [  # who they are, what they know, and what the player asks them
    ("Brenna", "innkeeper", "cheerful", "The cellar is locked after dusk.", "What about the cellar?"),
    ("Garrick", "smith", "gruff", "The forge was flooded two days ago.", "What happened to the forge?"),
    ("Silvane", "pedlar", "sly", "The green key is hidden under the millpond.", "Where is the green key?"),
    ("Amalie", "healer", "pious", "The chapel stands beyond the stone bridge.", "Where is the chapel?"),
    ("Pip", "groom", "childlike", "There are three horses in the stable.", "How many horses are there?"),
    ("Varga", "ferryman", "weary", "Ferris left for Ravenhill yesterday.", "Where is Ferris?"),
    ("Velmira", "jeweller", "courtly", "The auction begins at noon.", "When does the auction begin?"),
    ("Perrin", "beekeeper", "timid", "Tobin broke the blue lantern.", "Who broke the blue lantern?"),
]


def asked(number: int, question: str) -> dict:
    """A request to one of them."""
    name, role, manner, fact, _ = PEOPLE[number]
    sheet = f"Name: {name}\nRole: {role}\nManner: {manner}\nRumours:\n- {fact}\nFacts:\n- {fact}"
    messages = [{"role": "system", "content": sheet}, {"role": "user", "content": question}]
    return {"model": MODEL, "messages": messages, "max_tokens": 64, "temperature": 0}


class Village:
    """Who has been asked what, and what came of it."""

    def __init__(self, engine: sotto.Engine) -> None:
        self.engine = engine
        self.asked_at: dict[int, float] = {}  # of those who have not begun to answer
        self.first: dict[str, list[float]] = {"player": [], "gossip": []}  # seconds to the first word
        self.lines: dict[int, str] = {}
        self.answered = 0  # of the player's questions
        for number in range(len(PEOPLE)):
            self.gossip(number)

    def gossip(self, number: int) -> None:
        """Nobody waits for this: it is said where there is room."""
        self.engine.submit("chat", asked(number, "What news?"), user=number, priority="background")
        self.asked_at[number] = time.perf_counter()

    def walk_up_to(self, number: int) -> None:
        """The player waits for this: it takes the place of somebody's gossip, which goes on afterwards."""
        soon = time.monotonic() + 0.25
        ask = asked(number, PEOPLE[number][4])
        self.engine.submit("chat", ask, user=PLAYER + number, priority="foreground", deadline=soon)
        self.asked_at[PLAYER + number] = time.perf_counter()

    def hear(self, event: sotto.Event) -> None:
        """A piece of somebody's answer, or its end."""
        who = event.user
        if event.kind == "text":
            self.lines[who] = self.lines.get(who, "") + event.text
            if who in self.asked_at:
                waited = time.perf_counter() - self.asked_at.pop(who)
                self.first["player" if who >= PLAYER else "gossip"].append(waited)
        elif event.kind == "request_done" and who >= PLAYER:
            name, *_, question = PEOPLE[who - PLAYER]
            print(f"You to {name}: {question}\n    {name}: {self.lines.pop(who, event.error)}")
            self.answered += 1
        elif event.kind == "request_done":
            self.lines.pop(who, "")
            self.gossip(who)


def main() -> None:
    """Runs frames until everybody has answered the player."""
    slices: list[sotto.Slice] = []
    with sotto.Engine(target_tps=24, trace_capacity=4096) as engine:
        engine.load_model(MODEL, options={"parallel": 2})
        village = Village(engine)
        begin, visits = time.perf_counter(), 0
        while village.answered < len(PEOPLE):
            engine.frame_begin(period=FRAME)
            for event in engine.events():
                village.hear(event)
            if visits < len(PEOPLE) and time.perf_counter() - begin > (visits + 1) * EVERY:
                village.walk_up_to(visits)
                visits += 1
            engine.frame_end()
            slices += engine.trace()
            time.sleep(FRAME)  # here the game works and draws
        stats = engine.stats()
    for whom, waited in village.first.items():
        print(f"{whom}: first word after {statistics.median(waited) * 1000:.0f} ms, of {len(waited)} answers")
    print(
        f"{stats.completion_tokens} tokens were spoken; {stats.waiting} still wait, {stats.parked} gave way"
    )
    if len(sys.argv) > 1:
        sotto.write_trace(slices, sys.argv[1])


if __name__ == "__main__":
    main()
