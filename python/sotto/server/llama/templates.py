"""Chat templates that llama-server knows by name, as Jinja."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import ArgumentError

_CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_LLAMA3 = (
    "{% for message in messages %}<|start_header_id|>{{ message.role }}<|end_header_id|>\n\n"
    "{{ message.content | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
_COMMAND_R = (
    "{% for message in messages %}<|START_OF_TURN_TOKEN|>"
    "{% if message.role == 'system' %}<|SYSTEM_TOKEN|>{% elif message.role == 'user' %}<|USER_TOKEN|>"
    "{% else %}<|CHATBOT_TOKEN|>{% endif %}{{ message.content | trim }}<|END_OF_TURN_TOKEN|>{% endfor %}"
    "{% if add_generation_prompt %}<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>{% endif %}"
)
_GEMMA = (
    "{% set ns = namespace(system='') %}{% for message in messages %}"
    "{% if message.role == 'system' %}{% set ns.system = message.content | trim %}{% else %}"
    "<start_of_turn>{{ 'model' if message.role == 'assistant' else message.role }}\n"
    "{% if ns.system and message.role != 'assistant' %}{{ ns.system }}\n\n{% set ns.system = '' %}{% endif %}"
    "{{ message.content | trim }}<end_of_turn>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
_PHI3 = (
    "{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
_ZEPHYR = (
    "{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}<|endoftext|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
_VICUNA = (
    "{% for message in messages %}{% if message.role == 'system' %}{{ message.content }}\n\n"
    "{% elif message.role == 'user' %}USER: {{ message.content }}\n"
    "{% else %}ASSISTANT: {{ message.content }}</s>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)
NAMED: Mapping[str, str] = {
    "chatml": _CHATML,
    "llama3": _LLAMA3,
    "command-r": _COMMAND_R,
    "gemma": _GEMMA,
    "phi3": _PHI3,
    "zephyr": _ZEPHYR,
    "vicuna": _VICUNA,
}
_OTHERS = (
    "llama2 llama2-sys llama2-sys-bos llama2-sys-strip llama4 mistral-v1 mistral-v3 "
    "mistral-v3-tekken mistral-v7 mistral-v7-tekken monarch openchat orion phi4 deepseek "
    "deepseek2 deepseek3 chatglm3 chatglm4 minicpm exaone3 exaone4 rwkv-world granite gigachat "
    "megrez yandex bailing smolvlm falcon3 vicuna-orca glmedge hunyuan-moe hunyuan-dense gpt-oss "
    "kimi-k2 seed_oss grok-2 pangu-embedded solar-open exaone-moe "
)  # names of llama-server that this server does not know


def named(text: str) -> str:
    """Returns the Jinja of a template: `text` itself, unless it is a name that llama-server knows.

    Raises:
        ArgumentError: The name is one of llama-server's that this server does not know.
    """
    if text in _OTHERS.split():
        known = ", ".join(sorted(NAMED))
        raise ArgumentError(
            f"invalid --chat-template '{text}': expected {known}, or Jinja; "
            "give the template as a file with --chat-template-file"
        )
    return NAMED.get(text, text)
