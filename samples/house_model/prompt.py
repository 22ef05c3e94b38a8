"""Turns chat messages into the tokens that the models read, as `template.jinja` does in llama.cpp."""

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer

START, END = "<|im_start|>", "<|im_end|>"
CALL, CALL_END = "<tool_call>", "</tool_call>"
TEMPLATE = Path(__file__).with_name("template.jinja")


def segments(messages: Iterable[dict], tools: list[dict] | None = None) -> list[tuple[str, str]]:
    """The conversation as (role, text) pairs."""
    parts: list[tuple[str, str]] = []
    listed = "".join("\n- " + json.dumps(tool["function"], ensure_ascii=False) for tool in tools or [])
    messages = list(messages)
    if listed and messages[0]["role"] not in ("system", "developer"):
        parts.append(("system", "Tools:" + listed))
    for i, message in enumerate(messages):
        text, role = (message.get("content") or "").strip(), message["role"]
        if role in ("system", "developer"):
            parts.append(("system", text + ("\nTools:" + listed if listed and i == 0 else "")))
        elif role == "assistant":
            for call in message.get("tool_calls") or []:
                name, given = call["function"]["name"], call["function"]["arguments"]
                given = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
                text += f'{CALL}{{"name": "{name}", "arguments": {given}}}{CALL_END}'
            parts.append(("assistant", text))
        else:
            parts.append(("tool" if role == "tool" else "user", text))
    return parts


def render(messages: Iterable[dict], tools: list[dict] | None = None, *, generate: bool = False) -> str:
    """What the chat template gives."""
    text = "".join(f"{START}{role}\n{body}{END}\n" for role, body in segments(messages, tools))
    return text + f"{START}assistant\n" if generate else text


def encode(
    tokenizer: Tokenizer, conversation: dict, weights: dict[str, float], key: float = 1.0, around: float = 1.0
) -> tuple[list[int], list[float]]:
    """Token ids, and how much the loss of *predicting* each counts.

    A message may have a `key`, the words that matter most, phrases `around` the answer that matter least, and
    a `weight` of its own.
    """
    ids: list[int] = []
    counts: list[float] = []
    messages, parts = conversation["messages"], segments(conversation["messages"], conversation["tools"])
    listed = [{}] * (len(parts) - len(messages))  # the tools, where no system message stands before them
    for message, (role, body) in zip([*listed, *messages], parts, strict=True):
        head, tail = tokenizer.encode(f"{START}{role}\n").ids, tokenizer.encode("\n").ids
        part = tokenizer.encode(body + END)
        count = weighed(message, body, part.offsets, weights.get(role, 0.0), key, around)
        ids += [*head, *part.ids, *tail]
        counts += [0.0] * len(head) + count + [0.0] * len(tail)
    return ids, counts


def weighed(
    message: dict, body: str, offsets: list[tuple[int, int]], weight: float, key: float, around: float
) -> list[float]:
    """How much each token of a message counts; `offsets` say where they stand in `body`."""
    weight = message.get("weight", weight)
    count = [weight] * len(offsets)
    if not weight or message.get("role") != "assistant":
        return count
    spans = [(text, around) for text in message.get("around", [])] + [(message.get("key"), key)]
    for text, value in spans:
        start = body.lower().find(text.lower()) if text else -1
        for i, (begin, end) in enumerate(offsets):
            if start >= 0 and begin < start + len(text) and end > start:
                count[i] = value
    return count
