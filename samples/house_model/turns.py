"""A conversation while it is made: each step adds a turn, its answer from the sheet or from earlier turns."""

import json
import re
from functools import cache
from random import Random

import words as w
from asking import Asked, ask_again, ask_known, ask_unknown, facts_of, prices_of, typed
from exchanges import STATES, Exchange, exchanges
from facts import Fact, a_fact
from filling import fill, filled, fits, slots_of, state_of
from forms import forms, holes, surface
from lines import Told, again, intents, put, told
from names import a_name, a_price, upper
from sheet import Character, Reply, quest_in_prose, styled
from split import is_held, written
from wares import twice, ware

Message = dict[str, object]
SHARES = {
    "facts": 5,
    "memories": 3,
    "relationships": 3,
    "rumours": 2,
    "prices": 3,
    "self": 3,
}  # of the questions
# Questions that exchanges answer: by the name of their form and the state of the quest.
QUEST_ANSWERS = {
    "work": ("quest_ask_open", "quest_ask_underway", "quest_ask_done", "quest_ask_none"),
    "task": ("quest_ask_open", "quest_ask_underway", "quest_ask_done", "quest_report_none"),
    "done": ("quest_report_open", "quest_report_underway", "quest_report_done", "quest_report_none"),
    "reward": ("quest_reward",) * 4,
}
MOVE_QUESTS = ("quest_accept", "quest_refuse", "quest_report_underway")
OTHER_ANSWERS = {"news": "news_ask", "wares": "ask_wares", "mood": "how_are_you"}
TO_VISITOR = ("bow", "wave", "nod", "give", "offer")


class Talk:
    """A conversation while it is made: who answers, and what was said so far."""

    def __init__(self, who: Character, system: str, rng: Random) -> None:
        self.who, self.rng = who, rng
        self.messages: list[Message] = [{"role": "system", "content": system}] if system else []
        self.slots = slots_of(who, rng)
        self.asked: set[str] = set()
        self.named = ""  # what the visitor said it is called
        self.is_settled = False  # whether what was said moved the quest on from where the sheet has it
        self.pending: list[tuple[Told, str]] = []  # what the visitor told and did not ask back
        self.last: tuple[str, Reply] | None = None  # the last turn

    def say(self, visitor: str, reply: Reply) -> None:
        """Adds a turn of both."""
        self.asked.add(surface(visitor))
        self.last = visitor, reply
        self.messages += [
            {"role": "user", "content": visitor},
            {
                "role": "assistant",
                "content": answered(self.who, reply),
                "key": reply.key,
                "around": list(self.who.around),
            },
        ]
        self.who.around = []

    def answer(self, asked: Asked) -> None:
        """Adds a question and its answer, in the character's manner."""
        if surface(asked.question) in self.asked:
            return
        self.who.around = []
        said = asked.core if asked.is_said else styled(self.who, asked.core, self.rng)
        reply = Reply(said, asked.action, asked.target, self.who.mood, asked.key)
        self.say(typed(asked.question, self.rng), reply)

    def known(self) -> None:
        """Asks for something that the sheet tells."""
        told = {kind: facts for kind, facts in facts_of(self.who).items() if facts}
        if not told:
            return self.unknown()
        kind = self.rng.choices(list(told), [SHARES[kind] for kind in told])[0]
        fact = self.rng.choice(told[kind])
        self.answer(ask_known(fact, self.rng))
        if self.rng.random() < 0.2 and (asked := ask_again(fact, self.rng)):
            self.answer(asked)

    def unknown(self) -> None:
        """Asks for something that it does not."""
        self.answer(ask_unknown(self.who, self.rng))

    def exchange(self, intent: str = "") -> None:
        """Adds a written exchange, of an intent or of any."""
        pool = written(self.who.manner)
        for _ in range(12):
            ones = pool.get(intent or self.rng.choice(list(pool)), ())
            if not ones:
                return
            one = self.rng.choice(ones)
            if surface(one.visitor) in self.asked or not fits(one, self.who, self.slots):
                continue
            self.fill(one)
            return

    def fill(self, one: Exchange) -> None:
        """Adds an exchange with what came before it."""
        self.is_settled |= one.intent in MOVE_QUESTS
        name = a_name(self.rng)
        made = fill(one, self.who, self.slots, name)
        if one.tells_name:
            self.hear_name(name)
        for visitor, reply in made.turns[:-1]:
            self.say(visitor, Reply(reply, "none", "", self.who.mood))
        self.say(made.turns[-1][0], made.reply)

    def line(self) -> None:
        """Says a line of an intent, and one of the answers that fit any line of it."""
        state = state_of(self.who)
        able = [one for one in intents().values() if one.quest in ("", state)]
        if self.is_settled:
            able = [one for one in able if not one.quest]
        one = self.rng.choices(able, [len(one.lines) for one in able])[0]
        line = self.rng.choice(trained_lines(one.name))
        answers = [answer for answer in one.answers[self.who.manner] if holes(answer[0]) <= self.slots.keys()]
        if not answers or surface(line) in self.asked or holes(line) - self.slots.keys():
            return
        text, feels, does = self.rng.choice(answers)
        key = next((self.slots[name] for name in re.findall(r"{(\w+)}", text)), "")
        target = "visitor" if does in TO_VISITOR else ""
        self.is_settled |= one.name in MOVE_QUESTS
        reply = Reply(filled(text, self.slots), does, target, feels or self.who.mood, key)
        self.say(typed(filled(line, self.slots), self.rng), reply)

    def tell(self) -> None:
        """The visitor tells something of its own."""
        one = self.rng.choice(told())
        value = one.value(self.rng)
        reply = Reply(upper(put(self.rng.choice(one.heard), value)), "none", "", self.who.mood)
        self.say(typed(put(self.rng.choice(one.tells), value), self.rng), reply)
        self.pending.append((one, value))

    def ask_back(self) -> None:
        """The visitor asks for what it told, or for what it did not."""
        if self.pending:
            one, value = self.pending.pop(self.rng.randrange(len(self.pending)))
            core = put(self.rng.choice(one.answers), value)
        else:
            one, value, core = self.rng.choice(told()), "", self.rng.choice(w.NOT_TOLD)
        if one.asks:
            self.answer(Asked(self.rng.choice(one.asks), core, value, "none" if value else "shrug"))

    def repeat(self) -> None:
        """The visitor did not hear what was said last, or asks what it said itself."""
        if not self.last:
            return
        line, reply = self.last
        name, text, begins = "repeat", reply.say, w.SAID_AGAIN
        if self.rng.random() < 0.25:
            name, text, begins = "echo", line, w.YOU_SAID
        if 1 < len(text.split()) <= 24:
            said = Reply(self.rng.choice(begins) + text, "none", "", self.who.mood)
            said.key = text if name == "echo" else reply.key
            self.say(self.rng.choice(again(name)), said)

    def borrowed(self, name: str) -> None:
        """Asks in a form without answers of its own; takes one of an exchange for the quest's state."""
        state = state_of(self.who)
        intent = OTHER_ANSWERS.get(name) or QUEST_ANSWERS[name][STATES.index(state)]
        able = [
            one
            for one in written(self.who.manner).get(intent, ())
            if not (one.before or one.tells_name)
            and fits(one, self.who, self.slots)
            and answers_form(one, name, self.who)
        ]
        if not able:
            return
        one = self.rng.choice(able)
        question = self.rng.choice((*forms()[name].asks[0].questions, *again(name)))
        if surface(question) in self.asked:
            return
        said = fill(one, self.who, self.slots, "")
        self.say(typed(question, self.rng), said.reply)

    def hear_name(self, name: str) -> None:
        """Remembers what the visitor is called."""
        self.named = self.who.visitor = self.slots["visitor"] = name

    def introduction(self) -> None:
        """The visitor says its name, unless the sheet has it."""
        if self.who.visitor:
            return self.exchange()
        name = a_name(self.rng)
        said = self.rng.choice((*w.NAMES_TOLD, *again("tells"))).format(v=name)
        self.hear_name(name)
        core = self.rng.choice(w.NAMES_HEARD).format(v=name)
        self.say(said, Reply(styled(self.who, core, self.rng), "bow", "visitor", self.who.mood, name))

    def name(self) -> None:
        """The visitor asks what it is called."""
        form, name = forms()["visitor"], self.who.visitor
        question = self.rng.choice((*form.asks[0].questions, *again("visitor")))
        if not name:
            self.answer(Asked(question, self.rng.choice(w.NO_NAME)))
        elif self.rng.random() < 0.6:
            core = self.rng.choice(form.asks[0].answers).format(visitor=name)
            self.answer(Asked(question, core, name, form.action, "visitor"))
        else:
            self.answer(ask_known(Fact(form, {"visitor": name}), self.rng))

    def quest(self) -> None:
        """Asks about the quest, or reports it."""
        if not self.is_settled:
            name = self.rng.choice(list(QUEST_ANSWERS))
            self.borrowed(name)
            self.is_settled |= name == "done"

    def other(self) -> None:
        """Asks for news, wares or how the character is."""
        self.borrowed(self.rng.choice(list(OTHER_ANSWERS)))

    def dialogue(self, one: dict) -> None:
        """Plays a written dialogue."""
        name = a_name(self.rng)
        slots = {"visitor": name, **self.slots}
        self.is_settled |= "quest" in one
        for turn in one["turns"]:
            visitor, reply, feels, does = (*turn, *("", "none")[len(turn) - 2 :])
            if "{visitor}" in visitor and not self.who.visitor:
                self.hear_name(name)
            target = "visitor" if does in TO_VISITOR else ""
            self.say(
                filled(visitor, slots), Reply(filled(reply, slots), does, target, feels or self.who.mood)
            )

    def change(self) -> None:
        """Changes the system message: the quest goes on, a price or a fact or the mood changes.

        What was said before stays, also what is no longer true.
        """
        state, kind = state_of(self.who), self.rng.random()
        told = [*prices_of(self.who), *(f for f in self.who.facts["Facts"] if f.topic == f.values.get("p"))]
        if state in ("open", "under way") and kind < 0.45:
            old = self.who.facts["Quests"][0]
            new = Fact(old.form, {**old.values, "state": STATES[STATES.index(state) + 1]})
            self.who.facts["Quests"] = [new]
            self.is_settled = False
            self.replace((old.line, new.line), (quest_in_prose(old), quest_in_prose(new)))
        elif told and kind < 0.75:
            self.correct(self.rng.choice(told))
        elif f"Mood: {self.who.mood}" in str(self.messages[0]["content"]):
            old, self.who.mood = self.who.mood, self.rng.choice(w.MOODS)
            self.replace((f"Mood: {old}", f"Mood: {self.who.mood}"))

    def replace(self, *pairs: tuple[str, str]) -> None:
        """Replaces texts of the system message. Answers so far fit the old one, so they do not count."""
        for old, new in pairs:
            self.messages[0]["content"] = str(self.messages[0]["content"]).replace(old, new)
        for message in self.messages:
            message["weight"] = 0.0

    def correct(self, old: Fact) -> None:
        """Asks for a price or a fact, changes it, and asks for it again in the same words or in others."""
        if old.form.name == "prices":
            good = next(good for good in self.who.prices if ware(good).bare == old.values["good"])
            price = a_price(self.rng)
            new = Fact(old.form, {**old.values, "price": price, "twice": twice(price)})
            before = self.who.prices[good]
            pairs = [(f"{good}: {before}\n", f"{good}: {price}\n")]
            is_found = pairs[0][0] in str(self.messages[0]["content"])
            self.who.prices[good] = price if is_found else before
        else:
            new = a_fact(self.rng, old.form, p=old.values["p"])
            pairs = [(old.line, new.line)]
            is_found = old.line in str(self.messages[0]["content"])
            facts = self.who.facts["Facts"]
            self.who.facts["Facts"] = [new if is_found and fact is old else fact for fact in facts]
        if not is_found:
            return
        seed, is_same = self.rng.random(), self.rng.random() < 0.5
        self.answer(ask_known(old, Random(seed)))
        self.replace(*pairs)
        self.asked.clear()
        self.answer(ask_known(new, Random(seed) if is_same else self.rng))


def answers_form(one: Exchange, name: str, who: Character) -> bool:
    """Whether an exchange's answer is one to any question of a form."""
    if name == "task":
        return one.quest in ("done", "none") or "task" in one.answer_slots
    if name == "reward":
        return one.quest == "none" or "reward" in one.answer_slots
    if name == "mood" and "Mood" in who.extra:
        return one.feels in ("", who.mood)
    return True


def answered(who: Character, reply: Reply) -> str:
    """The assistant's message: plain speech, or the JSON that the sheet asks for."""
    if not who.keys:
        return reply.say
    action, target = reply.action, reply.target
    if action == "none" or (who.actions and action not in who.actions):
        action, target = "none", ""
    full = {"say": reply.say, "emotion": reply.emotion, "action": action, "target": target}
    return json.dumps({key: full[key] for key in who.keys}, ensure_ascii=False)


@cache
def trained_lines(intent: str) -> tuple[str, ...]:
    """The lines of an intent, and those of its exchanges."""
    state = intents()[intent].quest
    ones = [
        one for one in exchanges() if one.intent == intent and not one.before and one.quest in ("", state)
    ]
    written = [one.visitor for one in ones if not (one.tells_name or is_held(one.visitor, intent))]
    return tuple(dict.fromkeys([*intents()[intent].lines, *written]))
