"""Chat templates by name, for models whose file has none, or a wrong one."""

from __future__ import annotations

from .._values import invalid
from .errors import ValidationError


def _opening(text: str) -> str:
    """Returns the part of a template that opens the answer."""
    return f"{{%- if add_generation_prompt -%}}{{{{- '{text}' -}}}}{{%- endif -%}}"


def _turns(before: str, between: str, after: str, opening: str, start: str = "") -> str:
    """Returns a template whose turns are `before`, the role, `between`, the content and `after`."""
    turn = f"{{{{- '{before}' + message['role'] + '{between}' + message['content'] + '{after}' -}}}}"
    begun = f"{{{{- '{start}' -}}}}" if start else ""
    return begun + "{%- for message in messages -%}" + turn + "{%- endfor -%}" + _opening(opening)


_COMMAND_R = (
    "{%- set names = {'system': 'SYSTEM', 'user': 'USER', 'assistant': 'CHATBOT', 'tool': 'SYSTEM'} -%}"
    "{%- for message in messages -%}"
    "{{- '<|START_OF_TURN_TOKEN|><|' + names[message['role']] + '_TOKEN|>' -}}"
    "{{- message['content'] + '<|END_OF_TURN_TOKEN|>' -}}"
    "{%- endfor -%}" + _opening("<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>")
)
_GEMMA = (
    "{%- set ns = namespace(system='') -%}"
    "{%- for message in messages -%}"
    "{%- if message['role'] == 'system' -%}"
    "{%- set ns.system = message['content'] + '\\n\\n' -%}"
    "{%- else -%}"
    "{%- set role = 'model' if message['role'] == 'assistant' else 'user' -%}"
    "{{- '<start_of_turn>' + role + '\\n' -}}"
    "{%- if role == 'user' -%}{{- ns.system -}}{%- set ns.system = '' -%}{%- endif -%}"
    "{{- message['content'] + '<end_of_turn>\\n' -}}"
    "{%- endif -%}"
    "{%- endfor -%}" + _opening("<start_of_turn>model\\n")
)
_GPT_OSS = (
    "{{- '<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\\n' -}}"
    "{{- 'Knowledge cutoff: 2024-06\\n\\nReasoning: ' + (reasoning_effort or 'medium') -}}"
    "{{- '\\n\\n# Valid channels: analysis, commentary, final. ' -}}"
    "{{- 'Channel must be included for every message.<|end|>' -}}"
    "{%- for message in messages -%}"
    "{%- if message['role'] in ['system', 'developer'] -%}"
    "{{- '<|start|>developer<|message|># Instructions\\n\\n' + message['content'] + '<|end|>' -}}"
    "{%- elif message['role'] == 'assistant' -%}"
    "{{- '<|start|>assistant<|channel|>final<|message|>' + message['content'] + '<|end|>' -}}"
    "{%- else -%}"
    "{{- '<|start|>user<|message|>' + message['content'] + '<|end|>' -}}"
    "{%- endif -%}"
    "{%- endfor -%}" + _opening("<|start|>assistant")
)
_LLAMA_2 = (
    "{%- set ns = namespace(system='') -%}"
    "{%- for message in messages -%}"
    "{%- if message['role'] == 'system' -%}"
    "{%- set ns.system = '<<SYS>>\\n' + message['content'] + '\\n<</SYS>>\\n\\n' -%}"
    "{%- elif message['role'] == 'assistant' -%}"
    "{{- ' ' + message['content'] + ' </s><s>' -}}"
    "{%- else -%}"
    "{{- '[INST] ' + ns.system + message['content'] + ' [/INST]' -}}{%- set ns.system = '' -%}"
    "{%- endif -%}"
    "{%- endfor -%}"
)
_MISTRAL = (
    "{%- for message in messages -%}"
    "{%- if message['role'] == 'system' -%}"
    "{{- '[SYSTEM_PROMPT]' + message['content'] + '[/SYSTEM_PROMPT]' -}}"
    "{%- elif message['role'] == 'assistant' -%}"
    "{{- message['content'] + '</s>' -}}"
    "{%- else -%}"
    "{{- '[INST]' + message['content'] + '[/INST]' -}}"
    "{%- endif -%}"
    "{%- endfor -%}"
)

TEMPLATES = {
    "chatml": _turns("<|im_start|>", "\\n", "<|im_end|>\\n", "<|im_start|>assistant\\n"),
    "command-r": _COMMAND_R,
    "gemma": _GEMMA,
    "glm4": _turns("<|", "|>\\n", "", "<|assistant|>\\n", "[gMASK]<sop>"),
    "gpt-oss": _GPT_OSS,
    "granite": _turns(
        "<|start_of_role|>",
        "<|end_of_role|>",
        "<|end_of_text|>\\n",
        "<|start_of_role|>assistant<|end_of_role|>",
    ),
    "llama-2": _LLAMA_2,
    "llama-3": _turns(
        "<|start_header_id|>",
        "<|end_header_id|>\\n\\n",
        "<|eot_id|>",
        "<|start_header_id|>assistant<|end_header_id|>\\n\\n",
    ),
    "mistral": _MISTRAL,
    "phi4": _turns("<|im_start|>", "<|im_sep|>", "<|im_end|>", "<|im_start|>assistant<|im_sep|>"),
}


def template_of(name: str) -> str:
    """Returns the Jinja text of a template. Raises `ValidationError` if the name is unknown."""
    if name not in TEMPLATES:
        known = ", ".join(TEMPLATES)
        raise ValidationError(invalid("chat_format", name, f"one of {known}, or None for the model's own"))
    return TEMPLATES[name]
