"""Makes the corpus: endless conversations whose right answers stand only in the character's sheet."""

import argparse
import json
from collections.abc import Iterator
from random import Random

import words as w
from facts import PEOPLE, Fact, a_fact
from names import a_good, a_name, a_person, a_thing, upper, with_article
from sheet import Character, Reply, a_character, prose, sheet, styled

Message = dict[str, object]
SHARES = {"Facts": 4, "Relationships": 3, "Quests": 2, "Memories": 2}  # of the questions


def ask_fact(who: Character, rng: Random, fact: Fact | None = None) -> tuple[str, Reply]:
    """Asks for something that the sheet holds."""
    held = [(facts, SHARES.get(title, 1)) for title, facts in who.facts.items() if facts]
    fact = fact or rng.choice(rng.choices(*zip(*held, strict=True))[0])
    question, core, key = rng.choice(fact.asks)
    first = fact.topic.split(" ")[0]
    if fact.topic.istitle() and first not in w.TITLES and rng.random() < 0.2:
        question = question.replace(fact.topic, first)
    target = "visitor" if fact.topic in ("news", "memory") else fact.topic
    return question, Reply(styled(who, core, rng), fact.action, target, who.mood, key)


def ask_price(who: Character, rng: Random) -> tuple[str, Reply]:
    """Asks for a price, or for what there is to buy."""
    good, price = rng.choice(list(who.prices.items()))
    if rng.random() < 0.2:
        listed = list(who.prices)[:3]
        goods = listed[0] if len(listed) == 1 else ", ".join(listed[:-1]) + " and " + listed[-1]
        return rng.choice(w.ASK_GOODS), Reply(
            styled(who, f"I have {goods}", rng), "offer", good, who.mood, goods
        )
    bare = good.removeprefix("a ").removeprefix("an ")
    question = rng.choice(w.ASK_PRICE).format(good=bare if rng.random() < 0.2 else good)
    core = rng.choice(w.TELL_PRICE).format(good=good, price=price)
    return question, Reply(styled(who, core, rng), "offer", good, who.mood, price)


def ask_self(who: Character, rng: Random) -> tuple[str, Reply]:
    """Asks who, where and how the character is."""
    known = who.extra
    asks: list[tuple[str, str, str]] = []

    def add(questions: str, core: str, key: str) -> None:
        asks.extend((question, core, key) for question in questions.split("|"))

    if "Name" in known:
        trade = f", the {who.role} here" if "Role" in known else ""
        add(
            "Who are you?|What is your name?|And you are?|What do they call you?",
            f"I am {who.name}{trade}",
            who.name,
        )
    if "Role" in known:
        add("What do you do?|What is your trade?", f"I am the {who.role} here", who.role)
    if "Place" in known:
        add("Where am I?|What is this place?|What do you call this place?", f"This is {who.place}", who.place)
    if "Mood" in known:
        add("How are you?|How do you feel?|Are you well?", w.MOOD_TALK[who.mood], "")
    if "Time" in known:
        add("What time is it?|How late is it?", f"It is {who.time}", who.time)
    if who.visitor:
        add("What is my name?|Do you know who I am?", f"You are {who.visitor}", who.visitor)
    question, core, key = rng.choice(asks)
    return question, Reply(styled(who, core, rng), "nod", "visitor", who.mood, key)


def ask_unheard(who: Character, rng: Random) -> tuple[str, Reply]:
    """Asks for a person, a thing or a ware that stands in no line of the sheet."""
    if rng.random() < 0.2:
        good = a_good(rng)
        while good in who.prices:
            good = a_good(rng)
        core = rng.choice((f"I do not sell {good}", f"I have no price for {good}"))
        return rng.choice(w.ASK_PRICE).format(good=good), Reply(styled(who, core, rng), "shrug", "", who.mood)
    topics = [fact.topic for facts in who.facts.values() for fact in facts]
    fact = a_fact(rng)
    while fact.topic in topics:
        fact = a_fact(rng)
    x = fact.topic
    if rng.random() < 0.15:
        x = a_person(rng)
        question = rng.choice((f"Who is {x}?", f"Do you know {x}?", f"Who is {x} to you?"))
    else:
        question = rng.choice([ask.question for ask in fact.asks])
    if x.startswith("the ") and x[4:] not in question:
        x = "that"
    return question, Reply(who.phrase("unknown", rng, x), "shrug", "", who.mood)


def ask_half_known(who: Character, rng: Random) -> tuple[str, Reply]:
    """Asks something else about a person whom the sheet names once."""
    names = [fact.topic for title in ("Facts", "Relationships") for fact in who.facts[title]]
    names = [name for name in names if name[0].isupper()]
    if not names:
        return ask_unheard(who, rng)
    name = rng.choice(names)
    told = {ask.question for facts in who.facts.values() for fact in facts for ask in fact.asks}
    asks = a_fact(rng, rng.choice(PEOPLE), p=name).asks
    questions = [ask.question for ask in asks if name in ask.question and ask.question.startswith(w.ASK_MORE)]
    questions = [question for question in questions if question not in told]
    if not questions:
        return ask_unheard(who, rng)
    core = rng.choice(w.HALF_KNOWN).format(name=name)
    return rng.choice(questions), Reply(styled(who, core, rng), "shrug", "", who.mood)


def ask_missing(who: Character, rng: Random) -> tuple[str, Reply]:
    """Asks for a kind of knowledge that the sheet has no line for: news, work, wares, kin, the past."""
    kin = rng.choice(w.KIN)
    bonds = [fact.line for fact in who.facts["Relationships"]]
    groups: list[list[tuple[str, str]]] = []
    if not any(line.endswith(f"your {kin}") for line in bonds):
        asks = (
            f"Who is your {kin}?",
            f"Do you have {with_article(kin)}?",
            f"What is the name of your {kin}?",
        )
        groups.append([(q, f"I have no {kin}") for q in asks])
    if not who.facts["Rumours"]:
        groups.append([(q, "I have not heard any news") for q in w.ASK_NEWS])
    if not who.facts["Quests"]:
        groups.append([(q, "I have no work for you") for q in w.ASK_WORK])
        groups.append([(q, "I gave you no task") for q in w.ASK_TASK + w.ASK_DONE])
    if not who.prices:
        groups.append([(q, "I have nothing to sell") for q in w.ASK_GOODS])
    if not who.facts["Memories"]:
        groups.append([(q, "I do not remember that we ever met") for q in w.ASK_PAST])
        if not who.visitor:
            groups.append([(q, "you have not told me your name") for q in w.ASK_NAME])
    if not groups:
        return ask_unheard(who, rng)
    question, core = rng.choice(rng.choice(groups))
    return question, Reply(styled(who, core, rng), "shrug", "", who.mood)


def ask_unknown(who: Character, rng: Random) -> tuple[str, Reply]:
    """Asks for what the sheet does not hold; the honest answer says so."""
    kind = rng.random()
    ask = ask_unheard if kind < 0.4 else ask_half_known if kind < 0.7 else ask_missing
    return ask(who, rng)


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
        question, core, _ = rng.choice(fact.asks)
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


def turn(who: Character, rng: Random, first: bool) -> tuple[str, Reply]:
    """What the visitor says next, and the answer."""
    pool, kind = any(who.facts.values()), rng.random()
    if first and kind < 0.15:
        return small_talk(who, rng, "greet")
    if kind < 0.03 and not who.visitor:
        name = a_name(rng)
        question = rng.choice([f"My name is {name}.", f"I am {name}.", f"They call me {name}."])
        reply = Reply(styled(who, f"well met, {name}", rng), "bow", "visitor", who.mood, name)
        who.visitor = name
        return question, reply
    if kind < 0.08:
        return small_talk(who, rng, rng.choice(["greet", "bye", "thanks"]))
    if kind < 0.3 or not (pool or who.prices):
        return ask_unknown(who, rng)
    if kind < 0.38 and (who.extra or who.visitor):
        return ask_self(who, rng)
    if who.prices and (kind < 0.47 or not pool):
        return ask_price(who, rng)
    return ask_fact(who, rng)


def conversation(rng: Random, *, size: float = 1.0, turns: int = 0) -> dict:
    """One conversation, as an OpenAI request has it: `messages` and `tools`."""
    if rng.random() < 0.04:
        return tool_talk(rng)
    who = a_character(rng, size)
    kind = rng.random()
    if kind < 0.05:
        text = prose(who, rng)
    elif kind < 0.07:
        who = a_character(rng, 0.1)
        who.facts = {title: [] for title in who.facts}
        who.prices, who.keys, who.visitor, who.mood = {}, [], "", "calm"
        who.manner, text = rng.choice(["cheerful", "courtly"]), ""
    else:
        text = sheet(who, rng)
    messages: list[Message] = [{"role": "system", "content": text}] if text else []
    asked: set[str] = set()
    for at in range(turns or rng.randint(4, 9)):
        who.around = []
        question, reply = turn(who, rng, at == 0)
        if question in asked:
            continue
        asked.add(question)
        messages += [
            {"role": "user", "content": spoken(question, rng)},
            {"role": "assistant", "content": written(who, reply), "key": reply.key, "around": who.around},
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
