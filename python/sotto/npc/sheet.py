"""`Sheet`: what a character is and knows from the start, and the system message that says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .._values import wrong_type

_LINES = ("name", "role", "manner", "place", "time", "mood", "visitor")


@dataclass(frozen=True)
class Sheet:
    """A character as its author writes it. Every field is optional but the name.

    `render()` writes the lines that "sotto/house" is trained on; other models read them too. For those,
    `text` holds prose ("You are Mara, ..."), which stands first.

    Attributes:
        name: Name of the character.
        text: Prose before the lines.
        role: Trade or office, such as "innkeeper".
        manner: How the character speaks, such as "gruff".
        place: Where it is.
        time: Time of day and weather, such as "evening, rain".
        mood: Mood at the start, such as "calm".
        visitor: Who speaks to it, where `Character.say()` names no speaker.
        relationships: What persons are to the character: `{"Tobin": "your son"}`.
        prices: Prices by ware: `{"a bed for the night": "9 copper"}`.
        quests: `title (state): task; reward`.
        rumours: Whole sentences, told when somebody asks for news.
        facts: Whole sentences that are true.
        actions: What the character may do in a JSON answer, such as "point".
    """

    name: str
    text: str = ""
    role: str = ""
    manner: str = ""
    place: str = ""
    time: str = ""
    mood: str = ""
    visitor: str = ""
    relationships: Mapping[str, str] = field(default_factory=dict)
    prices: Mapping[str, str] = field(default_factory=dict)
    quests: Sequence[str] = ()
    rumours: Sequence[str] = ()
    facts: Sequence[str] = ()
    actions: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("quests", "rumours", "facts", "actions"):
            given = getattr(self, name)
            if isinstance(given, str) or not isinstance(given, Sequence):
                raise wrong_type(name, given, "a list of str")
        for name in ("prices", "relationships"):
            _pairs(name, getattr(self, name))

    def render(
        self,
        *,
        facts: Iterable[str] = (),
        memories: Iterable[str] = (),
        answer_as: str = "",
        **state: str | Mapping[str, str],
    ) -> str:
        """Returns the system message.

        Args:
            facts: Sentences after those of the sheet.
            memories: Sentences about what happened.
            answer_as: Form of the answer, such as "JSON (say, emotion)"; "": speech.
            **state: Values in the place of the sheet's: `mood`, `visitor`, `place`, `time`, `relationships`.
        """
        said = {name: state.get(name, getattr(self, name)) for name in (*_LINES, "relationships")}
        lines = [self.text.strip()] if self.text.strip() else []
        lines += [f"{name.capitalize()}: {_line(said[name])}" for name in _LINES if said[name]]
        lists = {
            "Relationships": _pairs("relationships", said["relationships"]),
            "Prices": _pairs("prices", self.prices),
            "Quests": self.quests,
            "Rumours": self.rumours,
            "Facts": [*self.facts, *facts],
            "Memories": list(memories),
        }
        for title, entries in lists.items():
            if entries:
                lines += [f"{title}:", *(f"- {_line(entry)}" for entry in entries)]
        if self.actions:
            lines.append(f"Actions: {', '.join(self.actions)}")
        if answer_as:
            lines.append(f"Answer as: {answer_as}")
        return "\n".join(lines)


def _pairs(name: str, given: object) -> list[str]:
    if not isinstance(given, Mapping):
        raise wrong_type(name, given, "a mapping of str")
    return [f"{name}: {value}" for name, value in given.items()]


def _line(text: object) -> str:
    """Returns a text on one line, so that what a player says cannot add a line to the sheet."""
    return " ".join(str(text).split())
