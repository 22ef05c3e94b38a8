"""`/slots`: what the slots of a model do; save, restore and erase one."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ...errors import SottoError
from ..asking import parse, read_text
from ..errors import HttpError, to_http
from ..routing import Route, service_of
from ..service import Service
from .asking import ask
from .native import LlamaShape
from .setup import Setup

_SHAPE = LlamaShape()
_FORBIDDEN = re.compile(
    r'[\x00-\x1f\x7f-\x9f/\\:*?"<>|\uff0e\u2215\u2216\ufffd\ufeff\ud800-\udfff]|\.\.|^ | $|\.$'
)
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$) *(\.|$)", re.IGNORECASE | re.ASCII)


def routes(setup: Setup) -> tuple[Route, ...]:
    """Returns the routes."""

    async def show(request: Request) -> Response:
        service = service_of(request)
        if not service.settings.slots:
            raise HttpError(501, "This server does not support slots endpoint. Start it with `--slots`")
        model = service.resolve(request.query_params.get("model"))
        listed = await slots(request, service, setup, model)
        if request.query_params.get("fail_on_no_slot") and all(slot["is_processing"] for slot in listed):
            raise HttpError(503, "no slot available")
        return JSONResponse(listed)

    async def act(request: Request) -> Response:
        return JSONResponse(await _act(request, service_of(request)))

    return (
        Route("GET", ("/slots", "/v1/slots"), show, _SHAPE),
        Route("POST", ("/slots/{number}", "/v1/slots/{number}"), act, _SHAPE),
    )


async def slots(request: Request, service: Service, setup: Setup, model: str) -> list[dict[str, Any]]:
    """Returns the slots of a model, as llama-server lists them."""
    told = next(entry for entry in service.models() if entry["id"] == model)
    details = told.get("details", {})
    listed = await ask(request, service, "slots", {"model": model, "action": "list"})
    return [
        {
            "id": slot["id"],
            "n_ctx": slot.get("n_ctx", told.get("context", 0)),
            "speculative": bool(details.get("speculative")),
            "is_processing": slot["is_processing"],
            "n_prompt_tokens": slot.get("n_tokens", 0),
            **{name: slot[name] for name in ("session", "request") if slot.get(name)},
        }
        for slot in listed["slots"]
    ]


async def _act(request: Request, service: Service) -> dict[str, Any]:
    """Saves, restores or erases a slot."""
    folder = service.settings.slot_dir
    if folder is None:
        raise HttpError(501, "This server does not support slots action. Start it with `--slot-save-path`")
    number, action = request.path_params["number"], request.query_params.get("action")
    if not (number.isascii() and number.isdecimal()) or len(number) > 6:
        raise HttpError(400, "Invalid slot ID: expected a number")
    if action not in ("save", "restore", "erase"):
        raise HttpError(400, "Invalid action: expected save, restore or erase")
    wanted: Mapping[str, Any] = {}
    if action != "erase":
        wanted = parse(await read_text(request, service)).fields
    model = service.resolve(request.query_params.get("model") or wanted.get("model"))
    body: dict[str, Any] = {"model": model, "action": action, "id_slot": int(number)}
    if action != "erase":
        path = safe_path(folder, wanted.get("filename"))
        if action == "restore" and not path.is_file():
            raise HttpError(400, "Unable to restore slot: no such file in the slot folder")
        body["path"] = str(path)
    began = time.perf_counter()
    try:
        told = await ask(request, service, "slots", body)
    except SottoError as error:
        raise _failed(action, body, error) from None
    if action == "erase":
        return {"id_slot": int(number), "n_erased": told.get("n_erased", 0)}
    names = ("n_saved", "n_written") if action == "save" else ("n_restored", "n_read")
    return {
        "id_slot": int(number),
        "filename": wanted["filename"],
        **{name: told.get(name, 0) for name in names},
        "timings": {f"{action}_ms": round(1000 * (time.perf_counter() - began), 3)},
    }


def _failed(action: str, body: Mapping[str, Any], error: SottoError) -> Exception:
    """Returns the error of an action: without the server's folder, and with the status of its cause."""
    told = to_http(error)
    message = told.message
    if path := body.get("path"):
        message = message.replace(path, Path(path).name)
    if action == "restore" and "the state holds images or sound" in message:
        return HttpError(400, f"Cannot restore media tokens without an mmproj: {message}")
    if action == "restore" and told.status == 500:
        return HttpError(400, f"Unable to restore slot: {message}")  # the file is damaged, not the server
    if action == "save" and "the system says: " in message:  # a full disk, say: no fault of the client
        return HttpError(500, f"Unable to save slot: {message}")
    return HttpError(told.status, message, type=told.type, headers=told.headers, more=told.more)


def safe_path(folder: str, name: object) -> Path:
    """Returns the path of a saved slot. Raises `HttpError` 400 if the name could mean another folder."""
    if not isinstance(name, str) or not name or len(name.encode(errors="replace")) > 255:
        raise HttpError(400, "Invalid filename: expected 1 to 255 bytes")
    if _FORBIDDEN.search(name) or name == ".":
        raise HttpError(400, "Invalid filename: expected the name of a file, without a folder")
    if _DEVICE.match(name):
        raise HttpError(400, "Invalid filename: expected a name that is no device of Windows")
    return Path(folder) / name
