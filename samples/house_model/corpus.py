"""Makes the corpus: endless conversations whose right answers stand only in the character's sheet."""

import argparse
import json
from collections.abc import Iterator
from random import Random

import words as w
from facts import a_fact
from names import a_building, a_name, a_person, a_thing, upper
from sheet import Character, Reply, a_character, prose, sheet, styled

Message = dict[str, object]


def ask_fact(who: Character, rng: Random) -> tuple[str, Reply]:
    """Asks for something that the sheet holds."""
    pool = [fact for facts in who.facts.values() for fact in facts]
    fact = rng.choice(pool)
    question, core = rng.choice(fact.asks)
    first = fact.topic.split(" ")[0]
    if fact.topic.istitle() and first not in w.TITLES and rng.random() < 0.2:
        question = question.replace(fact.topic, first)
    target = "visitor" if fact.topic in ("news", "memory") else fact.topic
    return question, Reply(styled(who, core, rng), fact.action, target, who.mood)


def ask_price(who: Character, rng: Random) -> tuple[str, Reply]:
    """Asks for a price, or for what there is to buy."""
    good, price = rng.choice(list(who.prices.items()))
    bare = good.removeprefix("a ")
    if rng.random() < 0.25:
        listed = list(who.prices)[:3]
        goods = listed[0] if len(listed) == 1 else ", ".join(listed[:-1]) + " and " + listed[-1]
        question = rng.choice(
            ["What do you sell?", "What do you have for sale?", "What can I buy here?", "What is on offer?"]
        )
        return question, Reply(styled(who, f"I have {goods}", rng), "offer", good, who.mood)
    question = rng.choice(
        [
            f"How much is {good}?",
            f"What does {good} cost?",
            f"What is the price of {good}?",
            f"How much for {good}?",
            f"I would like to buy {good}.",
            f"How much is the {bare}?",
        ]
    )
    core = rng.choice(
        [
            f"{good} is {price}",
            f"{good} costs {price}",
            f"I ask {price} for {good}",
            f"that is {price} for {good}",
        ]
    )
    return question, Reply(styled(who, core, rng), "offer", good, who.mood)


def ask_self(who: Character, rng: Random) -> tuple[str, Reply]:
    """Asks who, where and how the character is."""
    known = who.extra
    asks = []
    if "Name" in known:
        asks += [
            (q, f"I am {who.name}" + (f", the {who.role} here" if "Role" in known else ""))
            for q in ("Who are you?", "What is your name?", "And you are?", "What do they call you?")
        ]
    if "Role" in known:
        asks += [(q, f"I am the {who.role} here") for q in ("What do you do?", "What is your trade?")]
    if "Place" in known:
        asks += [
            (q, f"This is {who.place}")
            for q in ("Where am I?", "What is this place?", "What do you call this place?")
        ]
    if "Mood" in known:
        asks += [(q, w.MOOD_TALK[who.mood]) for q in ("How are you?", "How do you feel?", "Are you well?")]
    if "Time" in known:
        asks += [(q, f"It is {who.time}") for q in ("What time is it?", "How late is it?")]
    if who.visitor:
        asks += [(q, f"You are {who.visitor}") for q in ("What is my name?", "Do you know who I am?")]
    question, core = rng.choice(asks)
    return question, Reply(styled(who, core, rng), "nod", "visitor", who.mood)


def ask_unknown(who: Character, rng: Random) -> tuple[str, Reply]:
    """Asks for what the sheet does not hold; the honest answer says so."""
    p, thing, b = a_person(rng), a_thing(rng), a_building(rng)
    kind = rng.randrange(8)
    good = rng.choice([g for g in w.GOODS if g not in who.prices])
    x, question = [
        (p, rng.choice([f"Where is {p}?", f"Where can I find {p}?", f"I am looking for {p}."])),
        (p, f"Who is {p}?"),
        (p, rng.choice([f"Tell me about {p}.", f"What do you know of {p}?"])),
        (f"the {thing}", f"Where is the {thing}?"),
        (f"the {b}", f"Where is the {b}?"),
        (f"the {b}", f"What happened to the {b}?"),
        (f"the {thing}", f"Who owns the {thing}?"),
        (good, f"How much is {good}?"),
    ][kind]
    if kind == 7:
        say = styled(who, rng.choice([f"I do not sell {good}", f"I have no price for {good}"]), rng)
    else:
        say = who.phrase("unknown", rng, x)
    return question, Reply(say, "shrug", "", who.mood)


def small_talk(who: Character, rng: Random, kind: str) -> tuple[str, Reply]:
    """Greets, thanks or takes leave."""
    asks = {
        "greet": ["Hello.", "Good day.", "Good evening.", "Hello there!", "Greetings.", "Hi.", "Well met."],
        "bye": ["Farewell.", "Goodbye.", "I must go now.", "See you soon.", "Good night.", "Bye."],
        "thanks": ["Thank you.", "Thanks.", "Many thanks.", "You have been a great help."],
    }
    say = who.phrase(kind, rng)
    if kind == "greet" and rng.random() < 0.3 and {"Name", "Place"} <= set(who.extra):
        say += rng.choice([f" I am {who.name}, and this is {who.place}.", f" This is {who.place}."])
    action = {"greet": "bow", "bye": "wave", "thanks": "nod"}[kind]
    return rng.choice(asks[kind]), Reply(say, action, "visitor", who.mood)


def spoken(question: str, rng: Random) -> str:
    """How a player really types it."""
    kind = rng.random()
    if kind < 0.12:
        start = rng.choice(
            ["Please, ", "Tell me, ", "Excuse me, ", "Say, ", "And ", "Sorry, ", "Good day. ", "Hello! "]
        )
        first = question.split(" ", 1)[0]
        question = start + (
            question if start[-2] in ".!" or first == "I" else question[:1].lower() + question[1:]
        )
    elif kind < 0.18:
        question = question[:1].lower() + question[1:]
    elif kind < 0.22:
        question = question.rstrip("?.")
    elif kind < 0.25:
        question = question.lower()
    return question


def written(who: Character, reply: Reply) -> str:
    """The assistant's message: plain speech, or the JSON that the sheet asks for."""
    if not who.keys:
        return reply.say
    action, target = reply.action, reply.target
    if action == "none" or (who.actions and action not in who.actions):
        action, target = "none", ""
    full = {"say": reply.say, "emotion": reply.emotion, "action": action, "target": target}
    return json.dumps({key: full[key] for key in who.keys}, ensure_ascii=False)


def tool_talk(rng: Random) -> dict:
    """A conversation in which the character acts through a tool, or looks something up with one."""
    who = a_character(rng, 0.4)
    who.keys, who.actions = [], []
    verb, kind = rng.choice(
        [
            ("open", "door"),
            ("give", "item"),
            ("light", "lamp"),
            ("close", "gate"),
            ("play", "song"),
            ("fetch", "item"),
            ("look_up", "topic"),
            ("look_up", "topic"),
            ("unlock", "chest"),
        ]
    )
    fact = a_fact(rng)
    value = (
        fact.topic
        if verb == "look_up"
        else f"the {a_thing(rng) if kind == 'item' else rng.choice(w.ADJECTIVES) + ' ' + kind}"
    )
    name = verb if verb == "look_up" else f"{verb}_{kind}"
    others = [
        n for n in ("open_door", "give_item", "light_lamp", "play_song", "look_up", "call_guard") if n != name
    ]
    tools = []
    for n in [*rng.sample(others, rng.randint(0, 2)), name]:
        arg = kind if n == name else n.split("_")[1].replace("up", "topic")
        tools.append(
            {
                "type": "function",
                "function": {
                    "name": n,
                    "parameters": {
                        "type": "object",
                        "properties": {arg: {"type": "string"}},
                        "required": [arg],
                    },
                },
            }
        )
    rng.shuffle(tools)
    call = {"type": "function", "function": {"name": name, "arguments": {kind: value}}}
    if verb == "look_up":
        question, core = rng.choice(fact.asks)
        result = fact.line + "."
    else:
        question = rng.choice(
            [f"Please {verb} {value}.", f"Could you {verb} {value}?", f"{upper(verb)} {value}, please."]
        )
        good = rng.random() < 0.7
        result = (
            "done"
            if good
            else rng.choice(["it is stuck", "it is locked", "it is not here", "it is too heavy"])
        )
        core = (
            f"there, that is done, as you asked: {value}"
            if good
            else f"I tried to {verb} {value}, but {result}"
        )
    messages: list[Message] = [
        {"role": "system", "content": sheet(who, rng)},
        {"role": "user", "content": spoken(question, rng)},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": result},
        {"role": "assistant", "content": styled(who, core, rng)},
    ]
    return {"messages": messages, "tools": tools}


def conversation(rng: Random, *, size: float = 1.0, turns: int = 0) -> dict:
    """One conversation, as an OpenAI request has it: `messages` and `tools`."""
    if rng.random() < 0.04:
        return tool_talk(rng)
    who = a_character(rng, size)
    kind = rng.random()
    if kind < 0.06:
        text = prose(who, rng)
    elif kind < 0.09:
        who = a_character(rng, 0.1)
        who.facts, who.prices, who.keys, who.visitor, who.mood = {}, {}, [], "", "calm"
        who.manner, text = rng.choice(["cheerful", "courtly"]), ""
    else:
        text = sheet(who, rng)
    messages: list[Message] = [{"role": "system", "content": text}] if text else []
    name = ""
    pool = any(who.facts.values())
    for turn in range(turns or rng.randint(3, 7)):
        kind = rng.random()
        if turn == 0 and kind < 0.2:
            question, reply = small_talk(who, rng, "greet")
        elif kind < 0.05 and not name and not who.visitor:
            name = a_name(rng)
            question = rng.choice([f"My name is {name}.", f"I am {name}.", f"They call me {name}."])
            reply = Reply(styled(who, f"well met, {name}", rng), "bow", "visitor", who.mood)
            who.visitor = name
        elif kind < 0.12:
            question, reply = small_talk(who, rng, rng.choice(["greet", "bye", "thanks"]))
        elif kind < 0.26 or not (pool or who.prices):
            question, reply = ask_unknown(who, rng)
        elif kind < 0.38 and (who.extra or who.visitor):
            question, reply = ask_self(who, rng)
        elif who.prices and (kind < 0.52 or not pool):
            question, reply = ask_price(who, rng)
        else:
            question, reply = ask_fact(who, rng)
        messages += [
            {"role": "user", "content": spoken(question, rng)},
            {"role": "assistant", "content": written(who, reply)},
        ]
    return {"messages": messages, "tools": []}


def conversations(seed: int, **kind) -> Iterator[dict]:
    """Conversations without end, the same for the same seed."""
    rng = Random(seed)
    while True:
        yield conversation(rng, **kind)


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=3)
    args = parser.parse_args()
    source = conversations(args.seed)
    for _ in range(args.count):
        print(json.dumps(next(source), ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
