"""Turns chat messages into the tokens that the house model reads, as `template.jinja` does in llama.cpp."""

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

BEGIN, END = "<|begin|>", "<|end|>"
SYSTEM, USER, ASSISTANT, TOOL = "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>"
CALL, CALL_END, PAD = "<tool_call>", "</tool_call>", "<|pad|>"
SPARE = [f"<|spare_{i}|>" for i in range(7)]
SPECIAL = [BEGIN, END, SYSTEM, USER, ASSISTANT, TOOL, CALL, CALL_END, PAD, *SPARE]
VOCAB = 4096
TEMPLATE = Path(__file__).with_name("template.jinja")


def segments(messages: Iterable[dict], tools: list[dict] | None = None) -> list[tuple[str, str]]:
    """The conversation as (role token, text) pairs; each is followed by END in the prompt."""
    parts: list[tuple[str, str]] = []
    listed = "".join("\n- " + json.dumps(tool["function"], ensure_ascii=False) for tool in tools or [])
    messages = list(messages)
    if listed and messages[0]["role"] not in ("system", "developer"):
        parts.append((SYSTEM, "Tools:" + listed))
    for i, message in enumerate(messages):
        text, role = (message.get("content") or "").strip(), message["role"]
        if role in ("system", "developer"):
            parts.append((SYSTEM, text + ("\nTools:" + listed if listed and i == 0 else "")))
        elif role == "assistant":
            for call in message.get("tool_calls") or []:
                name, given = call["function"]["name"], call["function"]["arguments"]
                given = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
                text += f'{CALL}{{"name": "{name}", "arguments": {given}}}{CALL_END}'
            parts.append((ASSISTANT, text))
        else:
            parts.append((TOOL if role == "tool" else USER, text))
    return parts


def render(messages: Iterable[dict], tools: list[dict] | None = None, *, generate: bool = False) -> str:
    """What the chat template gives, without the leading BEGIN that the tokenizer adds."""
    text = "".join(role + body + END for role, body in segments(messages, tools))
    return text + ASSISTANT if generate else text


def encode(
    tokenizer: Tokenizer, conversation: dict, weights: dict[str, float], key: float = 1.0, around: float = 1.0
) -> tuple[list[int], list[float]]:
    """Token ids, and how much the loss of *predicting* each counts.

    A message may have a `key`, the words that matter most, phrases `around` the answer that matter least, and
    a `weight` of its own.
    """
    ids, counts = [tokenizer.token_to_id(BEGIN)], [0.0]
    messages, parts = conversation["messages"], segments(conversation["messages"], conversation["tools"])
    listed = [{}] * (len(parts) - len(messages))  # the tools, where no system message stands before them
    for message, (role, body) in zip([*listed, *messages], parts, strict=True):
        part = tokenizer.encode(body + END)
        count = weighed(message, body, part.offsets, weights[role], key, around)
        ids += [tokenizer.token_to_id(role), *part.ids]
        counts += [0.0, *count]
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


def train_tokenizer(texts: Iterable[str]) -> Tokenizer:
    """A byte-level BPE, split as GPT-2 splits, which llama.cpp calls `gpt-2`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB,
        special_tokens=[AddedToken(t, special=True, normalized=False) for t in SPECIAL],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
        max_token_length=16,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
