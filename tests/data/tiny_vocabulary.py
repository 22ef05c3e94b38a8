"""The vocabularies and chat templates of tiny models."""

from pathlib import Path

from gguf_file import BOOL, BYTE, CONTROL, FLOAT32, INT32, NORMAL, STRING, UINT32, UNKNOWN, USER_DEFINED, Gguf

WORDS = [
    "the", "a", "king", "queen", "guard", "gate", "gold", "night", "moon", "river", "song", "sword",
    "who", "what", "where", "is", "was", "and", "of", "to", "in",
]  # fmt: skip
CHAT = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] }}"
    "{{ '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# A template with tools and thinking, for tokens that models with such templates have.
TOOLS = Path(__file__).with_name("tiny_tools.jinja")
FIM = {"fim_pre": "<|fim_prefix|>", "fim_suf": "<|fim_suffix|>", "fim_mid": "<|fim_middle|>"}
MARKS = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
SYNTAX = ["{", "}", "[", "]", ":", '"', '":', '{"', "true", "false", "null", *"0123456789"]

Tokens = list[tuple[str, int, float]]


def vocabulary() -> Tokens:
    """Tokens as (spelling, type, score), in the manner of SentencePiece with byte fallback."""
    tokens = [("<unk>", UNKNOWN, 0.0), ("<s>", CONTROL, 0.0), ("</s>", CONTROL, 0.0)]
    tokens += [(f"<0x{byte:02X}>", BYTE, 0.0) for byte in range(256)]
    tokens += [("<|im_start|>", CONTROL, 0.0), ("<|im_end|>", CONTROL, 0.0)]
    pieces = ["\u2581", *"etaoinshrdlucmfwypvbgkjqxz.,?!'"]
    for word in WORDS:
        pieces += [word[:end] for end in range(2, len(word) + 1)]
        pieces += ["\u2581" + word[:end] for end in range(1, len(word) + 1)]
    return tokens + ranked(pieces)


def tool_vocabulary() -> Tokens:
    """The same, with what tool calls, thinking and filling in are written with."""
    marks = [(mark, USER_DEFINED, 0.0) for mark in MARKS]
    return vocabulary() + [(mark, CONTROL, 0.0) for mark in FIM.values()] + marks + ranked(SYNTAX)


def ranked(pieces: list[str]) -> Tokens:
    """Each once, the first the likeliest."""
    return [(piece, NORMAL, -float(rank)) for rank, piece in enumerate(dict.fromkeys(pieces))]


def add_sentencepiece(file: Gguf, tokens: Tokens) -> None:
    """Adds a vocabulary in the manner of SentencePiece, whose second and third token begin and end."""
    file.value("tokenizer.ggml.model", STRING, "llama")
    file.array("tokenizer.ggml.tokens", STRING, [token for token, _, _ in tokens])
    file.array("tokenizer.ggml.token_type", INT32, [kind for _, kind, _ in tokens])
    file.array("tokenizer.ggml.scores", FLOAT32, [score for _, _, score in tokens])
    file.value("tokenizer.ggml.bos_token_id", UINT32, 1)
    file.value("tokenizer.ggml.eos_token_id", UINT32, 2)
    file.value("tokenizer.ggml.add_space_prefix", BOOL, False)


def add_vocabulary(file: Gguf, spelling: str) -> int:
    """Adds a vocabulary and a chat template, and says how many tokens there are.

    It is spelled in `pieces`; in `text`, pieces without a template; with `tools`; or in `bytes`.
    """
    if spelling == "bytes":
        return add_byte_vocabulary(file)
    tokens = tool_vocabulary() if spelling == "tools" else vocabulary()
    add_sentencepiece(file, tokens)
    if spelling == "tools":
        spellings = [token for token, _, _ in tokens]
        for role, mark in FIM.items():
            file.value(f"tokenizer.ggml.{role}_token_id", UINT32, spellings.index(mark))
        file.value("tokenizer.chat_template", STRING, TOOLS.read_text(encoding="utf-8"))
    elif spelling != "text":
        file.value("tokenizer.chat_template", STRING, CHAT)
    return len(tokens)


def add_byte_vocabulary(file: Gguf) -> int:
    """Adds a vocabulary of bytes and a few merges, in the manner of GPT-2."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in plain]
    spelt = {byte: chr(byte) for byte in plain} | {byte: chr(256 + rank) for rank, byte in enumerate(rest)}
    merges = ["t h", "th e", "\u0120 the", "k i", "n g", "ki ng", "\u0120 king"]
    controls = ["<|im_start|>", "<|im_end|>"]
    longest = ["\u0120" * 256]  # no merge makes it, but a prompt could be made of it for all one knows
    tokens = [spelt[byte] for byte in range(256)] + [merge.replace(" ", "") for merge in merges] + longest
    file.value("tokenizer.ggml.model", STRING, "gpt2")
    file.value("tokenizer.ggml.pre", STRING, "deepseek-llm")  # whose words are found by std::regex
    file.array("tokenizer.ggml.tokens", STRING, tokens + controls)
    file.array("tokenizer.ggml.token_type", INT32, [NORMAL] * len(tokens) + [CONTROL] * len(controls))
    file.array("tokenizer.ggml.merges", STRING, merges)
    file.value("tokenizer.ggml.eos_token_id", UINT32, len(tokens) + 1)
    file.value("tokenizer.chat_template", STRING, CHAT)
    return len(tokens) + len(controls)
