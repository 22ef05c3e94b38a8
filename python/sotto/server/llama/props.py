"""`/props`, and the models in llama-server's form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..errors import HttpError
from ..routing import Route, service_of
from ..service import Service
from . import media, settings
from .native import LlamaShape
from .setup import Setup

_SHAPE = LlamaShape()


def routes(setup: Setup) -> tuple[Route, ...]:
    """Returns the routes of `/props`."""

    async def show(request: Request) -> Response:
        service = service_of(request)
        model = service.resolve(request.query_params.get("model"))
        return JSONResponse({**props(service, setup, model), "build_info": await service.fingerprint()})

    return (
        Route("GET", ("/props", "/v1/props"), show, _SHAPE),
        Route("POST", ("/props", "/v1/props"), _change, _SHAPE),
    )


def props(service: Service, setup: Setup, model: str) -> dict[str, Any]:
    """Returns what `/props` says about a model and the server."""
    told = next(entry for entry in service.models() if entry["id"] == model)
    details: Mapping[str, Any] = told.get("details", {})
    can = details.get("capabilities", {})
    special, templates = details.get("special_tokens", {}), details.get("chat_templates", {})
    limits = service.settings
    return {
        "default_generation_settings": {"params": settings.defaults(setup), "n_ctx": told.get("context", 0)},
        "total_slots": told.get("streams", 0),
        "model_alias": model,
        "model_ftype": details.get("quantization", ""),
        "model_path": setup.model_path,
        "modalities": {"vision": can.get("vision", False), "video": False, "audio": can.get("audio", False)},
        "media_marker": media.MARKER,
        "endpoint_slots": limits.slots,
        "endpoint_props": limits.props,
        "endpoint_metrics": limits.metrics,
        "ui": setup.page,
        "webui": setup.page,
        "ui_settings": {},
        "chat_template": templates.get("default", ""),
        "chat_template_caps": {
            "supports_tools": can.get("tools", False),
            "supports_parallel_tool_calls": can.get("parallel_tool_calls", False),
            "supports_system_role": can.get("system_role", False),
        },
        "bos_token": special.get("bos", {}).get("text", ""),
        "eos_token": special.get("eos", {}).get("text", ""),
        "is_sleeping": sleeping(service, model),
        "cors_proxy_enabled": False,
        **({"chat_template_tool_use": templates["tool_use"]} if templates.get("tool_use") else {}),
    }


def sleeping(service: Service, model: str) -> bool:
    """Returns whether a model has no memory, until a request needs it."""
    for entry in service.engine.memory()["models"]:
        if entry["id"] == model:
            return entry["state"] == "evicted"
    return False


async def _change(request: Request) -> Response:
    if not service_of(request).settings.props:
        raise HttpError(
            501, "This server does not support changing global properties. Start it with `--props`"
        )
    await request.body()
    return JSONResponse({"success": True})


def model_routes(setup: Setup) -> tuple[Route, ...]:
    """Returns the routes of models in llama-server's form, for a server that answers as it does."""

    async def models(request: Request) -> Response:
        service = service_of(request)
        data = [_model(entry, service, setup) for entry in service.models()]
        return JSONResponse({"models": [_listed(entry) for entry in data], "object": "list", "data": data})

    return (Route("GET", ("/v1/models", "/models"), models, _SHAPE),)


def _model(told: Mapping[str, Any], service: Service, setup: Setup) -> dict[str, Any]:
    details = told.get("details", {})
    can = details.get("capabilities", {})
    return {
        "id": told["id"],
        "aliases": list(setup.aliases) or [told["id"]],
        "tags": list(setup.tags),
        "object": "model",
        "created": service.started,
        "owned_by": "llamacpp",
        "architecture": {"input_modalities": ["text", *(["image"] if can.get("vision") else [])]},
        "meta": {
            "n_vocab": details.get("vocabulary", 0),
            "n_ctx": told.get("context", 0),
            "n_ctx_train": details.get("trained_context", 0),
            "n_embd": details.get("embedding_length", details.get("width", 0)),
            "n_params": details.get("parameters", 0),
            "size": details.get("size", 0),
            "ftype": details.get("quantization", ""),
        },
    }


def _listed(told: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a model in the form of Ollama's lists, which some clients of llama-server read."""
    several = len(told["architecture"]["input_modalities"]) > 1
    return {
        "name": told["id"],
        "model": told["id"],
        "modified_at": "",
        "size": "",
        "digest": "",
        "type": "model",
        "description": "",
        "tags": [""],
        "capabilities": ["completion", *(["multimodal"] if several else [])],
        "parameters": "",
        "details": {
            "parent_model": "",
            "format": "gguf",
            "family": "",
            "families": [""],
            "parameter_size": "",
            "quantization_level": "",
        },
    }
