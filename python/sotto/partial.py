"""`json_field()`: reads a field of a JSON answer while the answer is still being generated."""

from __future__ import annotations

from typing import NamedTuple

from ._call import check, encode, new, text, utf8
from ._lib import lib
from ._values import string, wrong_type


class JsonField(NamedTuple):
    """A field of a JSON object. `complete`: all of its value was read."""

    text: str
    complete: bool


def json_field(json: str, name: str) -> JsonField:
    """Reads a field of a JSON object that may be incomplete.

    Lets a character speak one field of a decision while the rest is generated: join the text so far, and show
    what is new. A string only grows from call to call. Any other value is JSON, once the object is complete.

    >>> json_field('{"say": "Stay awh', "say")
    JsonField(text='Stay awh', complete=False)

    Args:
        json: The object, or its beginning.
        name: Name of a field of the outermost object.

    Returns:
        The field's value so far; empty if the field is absent, null or not there yet.
    """
    if not isinstance(json, str):
        raise wrong_type("json", json, "a str")
    value, complete = new("sotto_str *"), new("int32_t *")
    whole, wanted = utf8("json", encode("json", json)), utf8("name", string("name", name))
    check(lib.sotto_json_field(whole[0], wanted[0], value, complete))
    return JsonField(text(value[0]), complete[0] != 0)
