"""Asks a speaker about what was never trained, and counts what is right."""

import json
import time
from collections import defaultdict
from collections.abc import Callable
from random import Random

import cases as held
import judge
from asking import KINDS
from cases import Case, drawn
from exchanges import STATES, exchanges
from split import is_held
from turns import QUEST_ANSWERS

WINDOW = 8  # turns that a session of many turns keeps
Answer = tuple[str, bool]  # and whether it ended by itself
Speaker = Callable[..., list[Answer]]


def share(right: list[bool]) -> float:
    """How many of them are true."""
    return round(sum(right) / max(1, len(right)), 4)


class Measure:
    """Asks a speaker, and keeps what it said."""

    def __init__(self, speak: Speaker, count: int, seed: int, temperature: float) -> None:
        self.speak, self.count, self.seed, self.temperature = speak, count, seed, temperature
        self.said: list[tuple[Case, str, bool]] = []  # everything, with whether it ended by itself
        self.wrong: list[tuple[Case, str]] = []

    def ask(self, asked: list[Case], **fields) -> list[str]:
        """The answers."""
        answers = self.speak(asked, temperature=self.temperature, top_p=0.9, **fields)
        self.said += [(made, reply, ended) for made, (reply, ended) in zip(asked, answers, strict=True)]
        return [reply for reply, _ in answers]

    def checked(
        self, asked: list[Case], replies: list[str], right: Callable[[Case, str], bool]
    ) -> list[bool]:
        """Which replies are right; the others are kept to be looked at."""
        good = [right(made, reply) for made, reply in zip(asked, replies, strict=True)]
        self.wrong += [(m, r) for m, r, ok in zip(asked, replies, good, strict=True) if not ok]
        return good

    def recall(self) -> dict[str, object]:
        """Facts that the sheet tells, of each kind, and from personas in prose."""
        kinds = {}
        for kind in KINDS:
            made = drawn(
                f"{self.seed}/{kind}", lambda rng, kind=kind: held.recall(rng, kind), self.count // len(KINDS)
            )
            kinds[kind] = self.checked(made, self.ask(made), held_right)
        prose = drawn(
            f"{self.seed}/prose",
            lambda rng: held.recall(rng, rng.choice(KINDS), in_prose=True),
            self.count // 2,
        )
        plain = drawn(f"{self.seed}/plain", lambda rng: held.recall(rng, rng.choice(KINDS)), self.count // 2)
        told = [self.checked(made, self.ask(made), held_right) for made in (prose, plain)]
        every = [hit for hits in kinds.values() for hit in hits]
        return {
            "recall_forms": share(every),
            "kinds": {kind: share(hits) for kind, hits in kinds.items()},
            "prose_recall": share(told[0]),
            "prose_gap": round(share(told[1]) - share(told[0]), 4),
        }

    def invented(self) -> dict[str, object]:
        """Claims where the sheet is silent."""
        made = drawn(f"{self.seed}/silent", held.silent, self.count)
        good = self.checked(made, self.ask(made), lambda one, reply: not judge.invents(reply, one.known))
        return {"invented": round(1 - share(good), 4)}

    def quests(self) -> dict[str, object]:
        """Answers that the state of the quest decides, by question and state."""
        table: dict[str, dict[str, float]] = {}
        every: list[bool] = []
        for name in QUEST_ANSWERS:
            table[name] = {}
            for state in STATES:
                made = drawn(
                    f"{self.seed}/{name}/{state}",
                    lambda rng, name=name, state=state: held.quest_case(rng, name, state),
                    max(4, self.count // 16),
                )

                def right(one: Case, reply: str, name: str = name, state: str = state) -> bool:
                    return judge.fits_quest(reply, name, state, *(one.right or ("", "")))

                good = self.checked(made, self.ask(made), right)
                table[name][state] = share(good)
                every += good
        return {"quest_state": share(every), "quests": table}

    def names(self) -> dict[str, object]:
        """The visitor's name after up to ten turns."""
        made = drawn(f"{self.seed}/name", held.name_case, self.count // 4)
        good = []
        for one, lines in made:
            question = one.messages.pop()
            for line in lines:
                one.messages.append({"role": "user", "content": line})
                (reply,) = self.ask([one])
                one.messages.append({"role": "assistant", "content": reply})
            one.messages.append(question)
            good += self.checked([one], self.ask([one]), held_right)
        return {"name_memory": share(good)}

    def follow_ups(self) -> dict[str, object]:
        """Lines that only earlier turns make clear."""
        made = held.follow_ups(held.HeldOut(f"{self.seed}/follow"), self.count // 2)
        good = self.checked(made, self.ask(made), held_right)
        kinds = sorted({one.kind for one in made})
        by_kind = {
            kind: share([g for one, g in zip(made, good, strict=True) if one.kind == kind]) for kind in kinds
        }
        return {"followup": share(good), "followups": by_kind}

    def decisions(self) -> dict[str, object]:
        """Moods and actions in JSON that the line asks for."""
        intents = held.decisions()
        each = max(1, self.count // len(intents))
        made = [
            one
            for intent in intents
            for one in drawn(
                f"{self.seed}/json/{intent}", lambda rng, intent=intent: held.decision_case(rng, intent), each
            )
        ]
        free = [parsed(reply, one.schema or {}) for one, reply in zip(made, self.ask(made), strict=True)]
        bound = self.ask(made, grammar=True)

        def right(one: Case, reply: str) -> bool:
            said = parsed(reply, one.schema or {})
            return said is not None and said["emotion"] in one.moods and said["action"] in one.actions

        good = self.checked(made, bound, right)
        return {
            "json_decision": share(good),
            "json_free": share([said is not None for said in free]),
            "json_grammar": share(
                [parsed(r, one.schema or {}) is not None for one, r in zip(made, bound, strict=True)]
            ),
        }

    def intents(self, relevance: judge.Relevance | None) -> dict[str, object]:
        """Lines of each intent; the judge says whether the answer is one to the line."""
        intents = sorted({one.intent for one in exchanges()})
        each = max(1, self.count // 100)
        made = [
            one
            for intent in intents
            for one in some(
                f"{self.seed}/intent/{intent}", lambda rng, i=intent: held.intent_case(rng, i), each
            )
        ]
        replies = self.ask(made)
        if relevance is None:
            return {}
        fits = by_intent(relevance, made, replies)
        worth = by_intent(relevance, made, [one.written for one in made])
        shuffled = [one.written for one in made]
        Random(3).shuffle(shuffled)
        floor = share(flat(by_intent(relevance, made, shuffled)))
        span = share(flat(worth)) - floor
        return {
            "intent_ok": round(min(1.0, (share(flat(fits)) - floor) / span), 4),
            "intent_judge": {"model": share(flat(fits)), "written": share(flat(worth)), "shuffled": floor},
            "intents": {intent: share(good) for intent, good in fits.items()},
        }

    def sessions(self, count: int, turns: int) -> dict[str, object]:
        """Loops in long conversations."""
        rng, found = Random(self.seed), 0
        lines = sorted(
            {one.visitor for one in exchanges() if is_held(one.visitor) and not one.slots and not one.before}
        )
        for at in range(count):
            _, system = held.somebody(held.HeldOut(f"{self.seed}/session/{at}"))
            talk: list[dict] = []
            replies = []
            for _ in range(turns):
                talk.append({"role": "user", "content": rng.choice(lines)})
                messages = [{"role": "system", "content": system}, *talk[-2 * WINDOW - 1 :]]
                known = " ".join(str(message["content"]) for message in messages)
                (reply,) = self.ask([Case("session", messages, known=known)])
                talk.append({"role": "assistant", "content": reply})
                replies.append(reply)
            found += judge.loops(replies)
        return {"loops": found, "loops_in": [count, turns]}

    def all(self, relevance: judge.Relevance | None, sessions: tuple[int, int]) -> dict[str, object]:
        """Everything."""
        began = time.monotonic()
        out: dict[str, object] = {}
        for part in (self.recall, self.invented, self.quests, self.names, self.follow_ups, self.decisions):
            out |= part()
        out |= self.intents(relevance) | (self.sessions(*sessions) if sessions[0] else {})
        plain = [(one, reply) for one, reply, _ in self.said if not one.schema]
        words = [(len(judge.terms(reply)), judge.broken(reply, one.known)) for one, reply in plain]
        out["broken_words"] = round(sum(len(b) for _, b in words) / max(1, sum(n for n, _ in words)), 5)
        out["broken"] = sorted({word for _, broken in words for word in broken})[:20]
        out["distinct2"] = round(judge.distinct_2([reply for _, reply in plain]), 4)
        out["over_cap"] = share([not ended for _, _, ended in self.said])
        return {
            **out,
            "count": self.count,
            "answers": len(self.said),
            "seconds": round(time.monotonic() - began, 1),
        }


def held_right(one: Case, reply: str) -> bool:
    """Whether the reply has what a right one has."""
    return judge.holds(reply, one.right)


def some(seed: str, make, count: int) -> list[Case]:
    """Up to `count` cases, as an intent may have few lines that are kept."""
    rng, made = held.HeldOut(seed), []
    for _ in range(count * 3):
        if len(made) < count and (one := make(rng)):
            made.append(one)
    return made


def by_intent(relevance: judge.Relevance, made: list[Case], replies: list[str]) -> dict[str, list[bool]]:
    """For each intent which answers fit."""
    fits = defaultdict(list)
    for one, reply in zip(made, replies, strict=True):
        fits[one.intent].append(relevance.fits(one.messages[-1]["content"], reply, one.intent))
    return dict(fits)


def flat(groups: dict[str, list[bool]]) -> list[bool]:
    """All of them."""
    return [good for group in groups.values() for good in group]


def parsed(reply: str, schema: dict) -> dict | None:
    """The reply as the object that was asked for, or None."""
    try:
        said = json.loads(reply)
    except json.JSONDecodeError:
        return None
    good = isinstance(said, dict) and list(said) == schema["required"]
    return said if good and all(isinstance(value, str) for value in said.values()) else None
