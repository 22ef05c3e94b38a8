"""Makes conversations in which the character acts through a tool, or looks something up with one."""

from random import Random

import words as w
from asking import ask_known, typed
from facts import a_fact
from names import a_thing, upper
from sheet import a_character, sheet, styled


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
    asked = ask_known(fact, rng)
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
        question, core = asked.question, asked.core
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
    messages: list[dict[str, object]] = [
        {"role": "system", "content": sheet(who, rng)},
        {"role": "user", "content": typed(question, rng)},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": result},
        {"role": "assistant", "content": styled(who, core, rng)},
    ]
    return {"messages": messages, "tools": tools}
