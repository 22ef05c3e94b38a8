"""What a server that answers as llama-server does is started with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import ArgumentError
from ..gate import read_keys
from ..serving import Address, Model
from ..settings import Settings
from . import fields
from .files import folder, read_text
from .load_options import engine_threads, load_options
from .setup import SAMPLING, Setup


@dataclass(frozen=True)
class Adapter:
    """A LoRA adapter that is loaded with the model."""

    path: str
    scale: float


@dataclass(frozen=True)
class Config:
    """A server as its flags describe it."""

    addresses: tuple[Address, ...]
    models: tuple[Model, ...]
    adapters: tuple[Adapter, ...]
    engine: Mapping[str, Any]
    settings: Settings
    setup: Setup
    cors: Mapping[str, Any]
    web_proxy: bool  # whether /cors-proxy answers
    log_json: bool


def config(given: Mapping[str, Any]) -> Config:
    """Returns the server for parsed flags.

    Raises:
        ArgumentError: A value is one that the engine cannot do.
    """
    source = _source(given)
    names = sorted({name.strip() for name in given.get("alias", "").split(",") if name.strip()})
    model = [Model(names[0] if names else _name(source), source, load_options(given))] if source else []
    return Config(
        addresses=_addresses(given),
        models=tuple(model),
        adapters=_adapters(given),
        engine=_engine(given),
        settings=_settings(given),
        setup=_setup(given, tuple(names), source),
        cors={
            "origins": given.get("cors_origins", "localhost" if _serves_pages(given) else "*"),
            "methods": given.get("cors_methods", "GET, POST, DELETE, OPTIONS"),
            "headers": given.get("cors_headers", "*"),
            "credentials": given.get("cors_credentials", True),
        },
        web_proxy=given.get("web_proxy", False),
        log_json=given.get("log_json", False),
    )


def _serves_pages(given: Mapping[str, Any]) -> bool:
    """Returns True if flags ask for what only pages of this machine may use, as llama-server decides it."""
    return bool(given.get("web_proxy") or given.get("tools"))


def _source(given: Mapping[str, Any]) -> str:
    if given.get("model"):
        return str(given["model"])
    repo = given.get("hf_repo", "")
    return f"{repo.partition(':')[0]}/{given['hf_file']}" if repo and given.get("hf_file") else str(repo)


def _name(source: str) -> str:
    return Path(source).name if source.endswith(".gguf") else source


def _addresses(given: Mapping[str, Any]) -> tuple[Address, ...]:
    cert, key = given.get("tls_cert"), given.get("tls_key")
    if (cert is None) != (key is None):
        raise ArgumentError("--ssl-cert-file and --ssl-key-file go together: one of them is missing")
    tls: dict[str, Any] = {"tls_cert": Path(cert), "tls_key": Path(key)} if cert and key else {}
    hosts = [host.strip() for host in given.get("host", "127.0.0.1").split(",") if host.strip()]
    port = given.get("port", 8080)
    if not 0 <= port < 65536:
        raise ArgumentError(f"invalid --port '{port}': expected 0 to 65535")
    if not hosts:
        raise ArgumentError("invalid --host '': expected an address")
    return tuple(
        Address(uds=Path(host), **tls) if host.endswith(".sock") else Address(host, port, **tls)
        for host in hosts
    )


def _adapters(given: Mapping[str, Any]) -> tuple[Adapter, ...]:
    off = 0.0 if given.get("lora_off") else None
    made = [
        Adapter(path, 1.0 if off is None else off)
        for value in given.get("lora", [])
        for path in value.split(",")
        if path
    ]
    for value in given.get("lora_scaled", []):
        for part in value.split(","):
            path, _, scale = part.rpartition(":")
            try:
                made.append(Adapter(path, float(scale) if off is None else off))
            except ValueError:
                path = ""
            if not path:
                raise ArgumentError(f"invalid --lora-scaled '{part}': expected FILE:SCALE")
    return tuple(made)


def _engine(given: Mapping[str, Any]) -> dict[str, Any]:
    made = {"mode": "prioritize_compute", "threads": engine_threads(given)}
    if (device := given.get("device")) is not None:
        made["device"] = {"none": "cpu"}.get(device, device.lower())
    return made


def _settings(given: Mapping[str, Any]) -> Settings:
    keys = tuple(key for value in given.get("keys", []) for key in value.split(",") if key)
    if given.get("key_file"):
        keys += read_keys(read_text("--api-key-file", given["key_file"]))
    saves = folder("--slot-save-path", given.get("slot_dir"))
    made: dict[str, Any] = {name: given[name] for name in ("metrics", "slots", "props") if name in given}
    made.setdefault("metrics", False)
    if given.get("timeout", 0) > 0:
        made["timeout"] = given["timeout"]
    if given.get("sleep_idle", -1) > 0:
        made["sleep_idle"] = given["sleep_idle"]
    if given.get("ping", 0) > 0:
        made["ping"] = given["ping"]
    return Settings(keys=keys, hosts=("*",), slot_dir=str(saves) if saves else None, **made)


def _setup(given: Mapping[str, Any], names: tuple[str, ...], source: str) -> Setup:
    defaults = {**SAMPLING, **{name: given[name] for name in fields.SAMPLING if name in given}}
    for name in ("ignore_eos", "cache_prompt", "stop"):
        if name in given:
            defaults[name] = given[name]
    if "keep" in given:
        defaults["n_keep"] = given["keep"]
    defaults.update(_form(given))
    if "samplers" in given:
        defaults["samplers"] = [name for name in given["samplers"].split(";") if name]
    elif "sampler_letters" in given:
        defaults["samplers"] = given["sampler_letters"]
    return Setup(
        defaults=defaults,
        max_tokens=max(given.get("n_predict", -1), -1),
        overflow="shift" if given.get("context_shift") else "error",
        chat=_chat(given),
        aliases=names,
        tags=tuple(sorted({tag.strip() for tag in given.get("tags", "").split(",") if tag.strip()})),
        model_path=source,
        embeddings=bool(given.get("embeddings") or given.get("reranking") or given.get("pooling")),
        reranking=bool(given.get("reranking")),
        verbose=given.get("verbose", False),
        all_adapters=True,
        media_dir=folder("--media-path", given.get("media_dir")),
        page=given.get("page", True),
    )


def _form(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the form that all answers have by default."""
    schema = given.get("json_schema")
    if given.get("json_schema_file"):
        schema = read_text("--json-schema-file", given["json_schema_file"])
    if schema is not None:
        return {"json_schema": _object("--json-schema", schema)}
    if given.get("grammar_file"):
        return {"grammar": read_text("--grammar-file", given["grammar_file"])}
    return {"grammar": given["grammar"]} if given.get("grammar") else {}


def _object(flag: str, text: str) -> dict[str, Any]:
    try:
        made = json.loads(text)
    except ValueError:
        made = None
    if not isinstance(made, dict):
        raise ArgumentError(f"invalid {flag} '{text[:60]}': expected a JSON object")
    return made


def _chat(given: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if (form := given.get("reasoning_format")) is not None:
        if form not in ("none", "auto", "deepseek"):
            raise ArgumentError(f"invalid --reasoning-format '{form}': expected none, auto or deepseek")
        made["reasoning_format"] = form
    if "reasoning_effort" in given:
        made["reasoning_effort"] = given["reasoning_effort"]
    if given.get("reasoning") == "off" or given.get("reasoning_budget") == 0:
        made["reasoning_effort"] = "none"
    elif given.get("reasoning", "auto") not in ("on", "auto"):
        raise ArgumentError(f"invalid --reasoning '{given['reasoning']}': expected on, off or auto")
    if given.get("reasoning_budget", -1) > 0:
        made["reasoning_budget_tokens"] = given["reasoning_budget"]
    if "reasoning_budget_message" in given:
        made["reasoning_budget_message"] = given["reasoning_budget_message"]
    if "chat_template_kwargs" in given:
        made["chat_template_kwargs"] = _object("--chat-template-kwargs", given["chat_template_kwargs"])
    return made
