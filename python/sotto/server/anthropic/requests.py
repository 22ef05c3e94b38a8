"""Requests of Anthropic's Messages API as chats of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import HttpError
from .blocks import invalid, list_at, messages_of, object_at, system_text, text_at

MAX_TOKENS = 4096  # without `max_tokens`, as llama-server has it
_DROPPED = frozenset(
    {
        *("messages", "system", "tools", "tool_choice", "stop_sequences", "thinking", "output_config"),
        *("output_format", "metadata", "service_tier", "cache_control", "container", "diagnostics"),
        *("inference_geo", "speed", "context_management", "user_profile_id", "workspace_id"),
    }
)
_REFUSED = {"mcp_servers": "the server calls no tools itself; run them in the client"}
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_EFFORTS = {"max": "xhigh"}


def to_chat(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the engine's chat request for a Messages request.

    Fields that Anthropic's API does not have, such as `seed` or `session`, pass unchanged.

    Raises:
        HttpError: 400: the message names the field.
    """
    for name, reason in _REFUSED.items():
        if fields.get(name):
            raise HttpError(400, f"invalid {name}: {reason}")
    if fields.get("n") not in (None, 1):
        raise invalid("n", fields["n"], "1: a message has one answer; send several requests")
    if fields.get("messages") is None:
        raise HttpError(400, "missing messages: expected an array of messages")
    given = {name: value for name, value in fields.items() if value is not None}
    body: dict[str, Any] = {name: value for name, value in given.items() if name not in _DROPPED}
    body["messages"] = _messages(given)
    body.setdefault("max_tokens", MAX_TOKENS)
    if "session" not in given and _is_prefilled(body["messages"]):
        body.setdefault("continue_final_message", True)
    if "stop_sequences" in given:
        body["stop"] = list_at("stop_sequences", given["stop_sequences"])
    if "metadata" in given:
        object_at("metadata", given["metadata"])
    body.update(_tools(given), **_thinking(given), **_output(given))
    return body


def _messages(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    messages = messages_of(given["messages"])
    if not messages and "session" not in given:
        messages = [{"role": "user", "content": ""}]  # as llama-server answers an empty conversation
    if "system" in given and (system := system_text(given["system"])):
        messages.insert(0, {"role": "system", "content": system})
    return messages


def _is_prefilled(messages: list[dict[str, Any]]) -> bool:
    """Returns True if the conversation ends with the beginning of the answer."""
    return messages[-1]["role"] == "assistant" and "tool_calls" not in messages[-1]


def _tools(given: Mapping[str, Any]) -> dict[str, Any]:
    tools = [_tool(f"tools[{at}]", one) for at, one in enumerate(list_at("tools", given.get("tools", [])))]
    body: dict[str, Any] = {"tools": tools} if tools else {}
    if "tool_choice" not in given:
        return body
    choice = object_at("tool_choice", given["tool_choice"])
    kind = choice.get("type")
    if kind == "tool":
        name = text_at("tool_choice.name", choice.get("name"))
        body["tool_choice"] = {"type": "function", "function": {"name": name}}
    elif isinstance(kind, str) and kind in _CHOICES:
        body["tool_choice"] = _CHOICES[kind]
    else:
        raise invalid("tool_choice.type", kind, '"auto", "any", "tool" or "none"')
    if choice.get("disable_parallel_tool_use") is True:
        body["parallel_tool_calls"] = False
    return body


def _tool(path: str, one: object) -> dict[str, Any]:
    tool = object_at(path, one)
    if tool.get("type") not in (None, "custom"):
        expected = '"custom"; the server has no tools of its own'
        raise invalid(f"{path}.type", tool["type"], expected)
    function: dict[str, Any] = {
        "name": text_at(f"{path}.name", tool.get("name")),
        "parameters": object_at(f"{path}.input_schema", tool.get("input_schema")),
    }
    if tool.get("description") is not None:
        function["description"] = text_at(f"{path}.description", tool["description"])
    return {"type": "function", "function": function}


def _thinking(given: Mapping[str, Any]) -> dict[str, Any]:
    if "thinking" not in given:
        return {}
    thinking = object_at("thinking", given["thinking"])
    kind = thinking.get("type")
    if kind == "disabled":
        return {"reasoning_effort": "none"}
    if kind == "enabled" and "budget_tokens" in thinking:
        budget = thinking["budget_tokens"]
        if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
            raise invalid("thinking.budget_tokens", budget, "an integer from 0")
        return {"reasoning_budget_tokens": budget}
    if kind not in ("enabled", "adaptive", "between_tools"):
        raise invalid("thinking.type", kind, '"enabled", "adaptive" or "disabled"')
    return {}


def _output(given: Mapping[str, Any]) -> dict[str, Any]:
    config = object_at("output_config", given.get("output_config", {}))
    body: dict[str, Any] = {}
    if (effort := config.get("effort")) is not None:
        text_at("output_config.effort", effort)
        body["reasoning_effort"] = _EFFORTS.get(effort, effort)
    form = config.get("format") or given.get("output_format")
    if form is not None:
        form = object_at("output_config.format", form)
        if form.get("type") != "json_schema":
            raise invalid("output_config.format.type", form.get("type"), '"json_schema"')
        schema = object_at("output_config.format.schema", form.get("schema"))
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "output", "schema": schema},
        }
    return body
