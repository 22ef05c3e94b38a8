"""The characters that come with the house model: who they are, and what one may ask them."""

from __future__ import annotations

import json
from dataclasses import dataclass

from .._lib import library_folder


@dataclass(frozen=True)
class Persona:
    """A character's sheet, and questions that it has answers to."""

    name: str
    system: str
    questions: list[str]


def personas() -> list[Persona]:
    """All of them."""
    sheets = json.loads((library_folder() / "personas.json").read_text(encoding="utf-8"))
    return [Persona(sheet["name"], sheet["system"], sheet["questions"]) for sheet in sheets]
