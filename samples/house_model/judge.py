"""Judges answers: whether they hold a fact, invent one, fit what was said, or break words."""

import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random

import words as w
from exchanges import exchanges
from forms import DIALOGUES, forms, loaded
from manners import MANNERS

SAYS_NOTHING = re.compile(
    r"(?:do|did|does|could|can|would|will|have|has|had|is|was)(?: not|n't)|cannot|\bno\b|\bnot\b|never|"
    r"nobody|"
    r"nothing|"
    r"no one|unknown|neither|guess|wish i knew|new (?:name )?to me|if i knew|somebody else|elsewhere|escapes|"
    r"make something up|tell me first|first talk|\?$",
    re.IGNORECASE,
)
MOST_WORDS = 45


def holds(reply: str, right: list[str]) -> bool:
    """Whether the reply has one of the strings, whole and letter for letter but for capitals."""
    return any(re.search(rf"(?<!\w){re.escape(key)}(?!\w)", reply, re.IGNORECASE) for key in right if key)


def terms(text: str) -> list[str]:
    """Its words in lower case."""
    return re.findall(r"[a-z]+(?:'[a-z]+)*", text.lower().replace("\u2019", "'"))


@cache
def vocabulary() -> frozenset[str]:
    """Every word of the corpus."""
    texts = [
        text
        for one in exchanges()
        for text in (one.visitor, one.reply, *(t for pair in one.before for t in pair))
    ]
    for path in DIALOGUES.glob("*.yaml"):
        texts += [part for one in loaded(path)["dialogues"] for turn in one["turns"] for part in turn]
    for form in forms().values():
        texts += [text for ask in form.asks for text in (*ask.answers, *ask.questions, *ask.held)]
    for manner in MANNERS.values():
        texts += [phrase for phrases in manner.values() for phrase in phrases]
    for value in vars(w).values():
        parts = (
            value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        )
        texts += [part for part in parts if isinstance(part, str)]
    return frozenset(word for text in texts for word in terms(text))


def broken(reply: str, known: str) -> list[str]:
    """Words of the reply that neither the corpus nor the conversation has."""
    there = vocabulary() | set(terms(known))
    return [word for word in terms(reply) if word not in there and word.removesuffix("'s") not in there]


def names_of(text: str) -> list[str]:
    """Capitalised words that do not begin a sentence, and numbers."""
    inside = re.sub(r"(?:^|[.!?:;]\s+|[\"'])\w+", " ", text)
    return [
        name for name in re.findall(r"\b(?:[A-Z][a-z]{2,}|\d+)\b", inside) if name.lower() not in ("i", "i'm")
    ]


def invents(reply: str, known: str) -> bool:
    """Whether the reply to a question that the sheet does not answer claims something.

    It does where it names what neither the sheet nor the visitor named, or where it neither says that this is
    unknown nor asks back.
    """
    there = known.lower()
    return any(name.lower() not in there for name in names_of(reply)) or not SAYS_NOTHING.search(reply)


def loops(replies: list[str]) -> int:
    """Places where four words follow themselves twice, or where an answer comes thrice in five turns."""
    found = 0
    for at, reply in enumerate(replies):
        found += bool(re.search(r"(\b\w+(?:\W+\w+){3}\b)(?:\W+\1){2}", reply))
        found += replies[max(0, at - 4) : at + 1].count(reply) >= 3 and len(terms(reply)) > 3
    return found


def distinct_2(replies: list[str]) -> float:
    """Different pairs of neighbouring words, as a share of all such pairs."""
    pairs = [pair for reply in replies for pair in pairwise(terms(reply))]
    return len(set(pairs)) / max(1, len(pairs))


STANDS = re.compile(
    r"\b(still|already|promis\w+|agreed|you said|said you|your word|took|taken|you have (?:a|one|work)|"
    r"you've (?:a|got|one|work)|first|yet|unfinished|half|remember|forg\w+|waiting|await\w*|given you|"
    r"gave you|"
    r"gone|back|how (?:does|did|is|are|goes|fares)|going|finish\w*|begun|start\w*|under way|engaged|"
    r"entrusted|"
    r"undertook|in hand|one thing at a time|until|plate|pending|another|busy|assigned|"
    r"your (?:task|job|work|errand|part)|one (?:task|duty|job|errand))\b",
    re.IGNORECASE,
)
PROMISED = re.compile(
    r"\b(already|promis\w+|agreed|you said|said you|your word|you took|you've taken|gave you|given you|"
    r"have a (?:job|task)|got a (?:job|task)|you forg\w+|how (?:does it|goes it|is it)|under way|undertook|"
    r"not (?:finished|done)|isn't (?:finished|done))\b",
    re.IGNORECASE,
)
OFFERS = re.compile(
    r"\b(need|look(?:ing)? for|seek|somebody|someone|anyone|whoever|hire|one (?:job|thing)|there's|there is|"
    r"i'd (?:pay|give)|could you|would you|interested|take it or)\b",
    re.IGNORECASE,
)
PAID = re.compile(
    r"\b(already|paid|never|twice|no (?:task|errand|work|job)|nobody|you had|before)\b", re.IGNORECASE
)
OVER = re.compile(
    r"\b(already|paid|pay|did|done|finish\w*|over|closed|gave|given|nothing|no|not|more|any ?more|settled|"
    r"behind|"
    r"had|took|went|have|complete\w*|rest|twice|left|empty|none|ended|mended|thank\w*|end|"
    r"crossed|parted|content|\w+n't)\b",
    re.IGNORECASE,
)
REFUSES = re.compile(
    r"\b(no|not|never|nothing|none|nobody|without|\w+n't|only|cannot|nowhere|neither|wrong|error|whose|"
    r"elsewhere|too|enough|did you|yet)\b",
    re.IGNORECASE,
)


def fits_quest(reply: str, name: str, state: str, task: str, reward: str) -> bool:
    """Whether the reply to a question of the form `name` is one that the state of the quest allows.

    Of what the corpus wrote for each state, it passes 97 of 100.
    """
    tells_task, tells_reward = holds(reply, [task]), holds(reply, [reward])
    if state == "none":
        return bool(REFUSES.search(reply))
    if name == "reward":
        return tells_reward
    if name == "done":
        allowed = {
            "open": bool(tells_task or REFUSES.search(reply)),
            "under way": not tells_task and not (PAID.search(reply) and not tells_reward),
            "done": not tells_task and bool(OVER.search(reply)),
        }
        return allowed[state]
    if state == "open":
        return tells_task and not PROMISED.search(reply)
    if state == "under way":
        stands = tells_task or bool(STANDS.search(reply))
        return stands and (not OFFERS.search(reply) or bool(PROMISED.search(reply)))
    return not tells_task and bool(OVER.search(reply))


class Relevance:
    """Judges whether a reply answers a line: another language model finds it likelier after that line.

    The line is compared with nine that players say on other occasions, and has to be among the first three.
    """

    def __init__(self, base: Path, lines: list[tuple[str, str]]) -> None:
        """`base`: the GGUF of SmolLM2-135M-Instruct. `lines`: what players say, each with its intent."""
        from gguf import GGUFReader

        from export import opened
        from vocabulary import tokenizer_of

        self.tokenizer, self.house = tokenizer_of(GGUFReader(base)), opened(base)
        self.house.bfloat16()
        self.lines, self.rng = lines, Random(5)

    def likelihood(self, lines: list[str], reply: str) -> list[float]:
        """The log likelihood of the reply after each line."""
        import torch

        answer = self.tokenizer.encode(reply).ids
        heads = [
            self.tokenizer.encode(f"<|im_start|>user\n{line}<|im_end|>\n<|im_start|>assistant\n").ids
            for line in lines
        ]
        longest = max(map(len, heads)) + len(answer)
        rows = [[*head, *answer] + [2] * (longest - len(head) - len(answer)) for head in heads]
        ids = torch.tensor(rows)
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            hidden = self.house(ids, torch.arange(longest).expand(ids.shape))
            before = [
                hidden[row, len(head) - 1 : len(head) - 1 + len(answer)] for row, head in enumerate(heads)
            ]
            scores = self.house.logits(torch.stack(before)).float().log_softmax(-1)
        wanted = torch.tensor(answer).expand(len(rows), -1)[..., None]
        return scores.gather(-1, wanted)[..., 0].sum(1).tolist()

    def fits(self, line: str, reply: str, intent: str) -> bool:
        """Whether the reply is an answer to the line, in at most 45 words."""
        if not 0 < len(reply.split()) <= MOST_WORDS:
            return False
        others = [other for other, of in self.rng.sample(self.lines, 40) if of != intent][:9]
        own, *rest = self.likelihood([line, *others], reply)
        return sum(score >= own for score in rest) < 3
