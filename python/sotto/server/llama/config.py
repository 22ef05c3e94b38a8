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
from .setup import SAMPLING, Setup
from .templates import named

_MAX_FILE = 1 << 20


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
    log_json: bool


def config(given: Mapping[str, Any]) -> Config:
    """Returns the server for parsed flags.

    Raises:
        ArgumentError: A value is one that the engine cannot do.
    """
    source = _source(given)
    names = sorted({name.strip() for name in given.get("alias", "").split(",") if name.strip()})
    model = [Model(names[0] if names else _name(source), source, _options(given))] if source else []
    return Config(
        addresses=_addresses(given),
        models=tuple(model),
        adapters=_adapters(given),
        engine=_engine(given),
        settings=_settings(given),
        setup=_setup(given, tuple(names), source),
        cors={
            "origins": given.get("cors_origins", "*"),
            "methods": given.get("cors_methods", "GET, POST, DELETE, OPTIONS"),
            "headers": given.get("cors_headers", "*"),
            "credentials": given.get("cors_credentials", True),
        },
        log_json=given.get("log_json", False),
    )


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


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of the load."""
    parallel = given.get("parallel", -1)
    made: dict[str, Any] = {} if parallel < 1 else {"parallel": parallel}
    if parallel > 64:
        raise ArgumentError(f"invalid --parallel '{parallel}': expected 1 to 64")
    if (context := given.get("context", 0)) > 0:
        shared = 1 if given.get("kv_unified", parallel < 1) else max(parallel, 1)
        made["context"] = max(context // shared, 16)
    if "batch" in given:
        made["batch"] = min(max(given["batch"], parallel, 16), 4096)
    layers = str(given.get("gpu_layers", "auto"))
    if layers not in ("auto", "all"):
        if not layers.lstrip("-").isdecimal():
            raise ArgumentError(f"invalid --gpu-layers '{layers}': expected a number, auto or all")
        if int(layers) >= 0:
            made["gpu_layers"] = int(layers)
    made.update(_memory_options(given))
    if text := _template(given):
        made["chat_template"] = text
    if given.get("pooling") not in (None, "none"):
        made["pooling"] = given["pooling"]
    elif given.get("reranking"):
        made["pooling"] = "rank"
    return made


def _memory_options(given: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    kinds = {given[name].lower() for name in ("kv_k", "kv_v") if name in given}
    if len({given.get("kv_k", "f16").lower(), given.get("kv_v", "f16").lower()}) > 1 or not kinds <= {
        "f16",
        "q8_0",
    }:
        raise ArgumentError(
            f"invalid -ctk and -ctv '{', '.join(sorted(kinds))}': expected f16 or q8_0, the same for both"
        )
    if kinds:
        made["kv_type"] = kinds.pop()
    flash = str(given.get("flash_attention", "auto")).lower()
    made_flash = {"1": "on", "0": "off", "true": "on", "false": "off", "-1": "auto"}.get(flash, flash)
    if made_flash not in ("on", "off", "auto"):
        raise ArgumentError(f"invalid --flash-attn '{flash}': expected on, off or auto")
    if made_flash != "auto":
        made["flash_attention"] = made_flash
    if not given.get("mmap", True) or given.get("load_mode") in ("none", "mlock"):
        made["mmap"] = False
    if given.get("draft"):
        made["draft"] = given["draft"]
    if any(kind.startswith("ngram") for kind in given.get("spec_type", "").split(",")):
        made["speculative"] = "lookup"
    if given.get("projector") and not given.get("no_projector"):
        made["projector"] = given["projector"]
    if "image_tokens" in given:
        made["image_tokens"] = min(max(given["image_tokens"], 64), 16384)
    return made


def _template(given: Mapping[str, Any]) -> str:
    if given.get("chat_template_file"):
        return _text("--chat-template-file", given["chat_template_file"])
    return named(given.get("chat_template", ""))


def _text(flag: str, path: str) -> str:
    """Returns the text of a file. Raises `ArgumentError`."""
    file = Path(path)
    if not file.is_file():
        raise ArgumentError(f"invalid {flag} '{path}': expected a file")
    if file.stat().st_size > _MAX_FILE:
        raise ArgumentError(f"invalid {flag} '{path}': expected at most {_MAX_FILE:,} bytes")
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ArgumentError(f"invalid {flag} '{path}': expected UTF-8") from None


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
    threads = given.get("threads", -1)
    made = {"mode": "prioritize_compute", "threads": max(threads, 0)}
    if (device := given.get("device")) is not None:
        made["device"] = {"none": "cpu"}.get(device, device.lower())
    return made


def _settings(given: Mapping[str, Any]) -> Settings:
    keys = tuple(key for value in given.get("keys", []) for key in value.split(",") if key)
    if given.get("key_file"):
        keys += read_keys(_text("--api-key-file", given["key_file"]))
    folder = _folder("--slot-save-path", given.get("slot_dir"))
    made: dict[str, Any] = {name: given[name] for name in ("metrics", "slots", "props") if name in given}
    made.setdefault("metrics", False)
    if given.get("timeout", 0) > 0:
        made["timeout"] = given["timeout"]
    if given.get("sleep_idle", -1) > 0:
        made["sleep_idle"] = given["sleep_idle"]
    if given.get("ping", 0) > 0:
        made["ping"] = given["ping"]
    return Settings(keys=keys, hosts=("*",), slot_dir=str(folder) if folder else None, **made)


def _folder(flag: str, path: str | None) -> Path | None:
    """Returns a folder; None for no path. Raises `ArgumentError`."""
    if path and not Path(path).is_dir():
        raise ArgumentError(f"invalid {flag} '{path}': expected a folder that exists")
    return Path(path) if path else None


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
        pooling=given.get("pooling"),
        verbose=given.get("verbose", False),
        all_adapters=True,
        media_dir=_folder("--media-path", given.get("media_dir")),
        page=given.get("page", True),
    )


def _form(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the form that all answers have by default."""
    schema = given.get("json_schema")
    if given.get("json_schema_file"):
        schema = _text("--json-schema-file", given["json_schema_file"])
    if schema is not None:
        return {"json_schema": _object("--json-schema", schema)}
    if given.get("grammar_file"):
        return {"grammar": _text("--grammar-file", given["grammar_file"])}
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
