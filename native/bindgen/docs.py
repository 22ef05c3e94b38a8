"""Checks that the headers' comments say what a caller must know and C cannot express."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from header import Api, Signature

COMMENT = r"/\*\*((?:(?!\*/).)*)\*/\s*"
WAITING = re.compile(r"\b(waits|may wait)\b", re.I)
THREAD = re.compile(r"@thread\s+(Any[.,]|One at a time per \w+\.)")


def before(text: str, pattern: str) -> str:
    """Returns the comment right before the match of `pattern`, as one text without stars; "" if none."""
    found = re.search(COMMENT + pattern, text, re.S)
    return re.sub(r"^ ?\* ?|^ +$", "", found[1], flags=re.M).strip() if found else ""


def check(api: Api, sources: dict[str, str]) -> None:
    """Raises SyntaxError for the first function or struct whose comment lacks required information."""
    for name, signature in api.functions.items():
        doc = before(sources[api.where[name]], rf"SOTTO_API\s+[\w*\s]+?\b{name}\(")
        for lack in lacks(api, name, signature, doc):
            raise SyntaxError(f"{api.where[name]}: {name} {lack}")
    for name, struct in api.structs.items():
        doc = before(sources[api.where[name]], rf"typedef struct {name} \{{")
        if not struct.frozen and not re.search(r"@since +\d", doc):
            raise SyntaxError(f"{api.where[name]}: {name} has no @since")


def lacks(api: Api, name: str, signature: Signature, doc: str) -> list[str]:
    """Returns what a function's comment lacks or says wrongly, one phrase for each fault."""
    found = [f"has no {tag}" for tag in ("@thread", "@since") if not re.search(rf"{tag} +\S", doc)]
    if makes(api, signature) and not re.search(r"@owner +\S", doc):
        found.append("makes something and has no @owner")
    if "@thread" in doc and not THREAD.search(doc):
        found.append("has a @thread in words of its own")
    if not name.endswith("_create") and not WAITING.search(" ".join(doc.split("\n\n")[0].split())):
        found.append("does not say in its first paragraph whether it may wait")
    strangers = set(re.findall(r"@param\s+(\w+)", doc)) - {arg for _, arg in signature[1]}
    found += [f"describes {stranger}, which is no argument" for stranger in sorted(strangers)]
    return found


def makes(api: Api, signature: Signature) -> bool:
    """Returns true if a function gives the caller an object, a text or a struct with text to own."""
    returned, args = signature
    if returned == "sotto_str":
        return True
    for type_, _ in args:
        struct = api.structs.get(type_.removesuffix("*"))  # None if it is const: an input
        if type_.endswith("**") or type_ == "sotto_str*":
            return True
        if struct and not struct.frozen and any(field.type == "sotto_str" for field in struct.fields):
            return True
    return False
