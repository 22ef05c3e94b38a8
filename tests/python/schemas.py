"""Makes random JSON schemas of everything that response_format can be held to."""

from __future__ import annotations

import random
from typing import Any

Schema = dict[str, Any]

NAMES = [
    "name",
    "age",
    "mood",
    "weapon-1",
    "home town",
    "Größe",
    "a",
    "ab",
    "abc",
    "b",
    "*",
    'say "hi"',
    "it.em",
]
WORDS = ["sword", "shield", "a\nb", 'q"q', "back\\slash", "snö", "", "sword of kings", "🗡"]
PATTERNS = [
    "^[a-z]{1,8}$",
    r"^\d{3}-\d{4}$",
    "^(red|green|blue)$",
    "^[A-Z][a-z]*$",
    r"^\w+@\w+\.(com|org)$",
    "^.{0,5}$",
    '^[^"]{1,4}$',
    r"^\S{2}$",
    "^x+?y*$",
    "^$",
    r"^[^\W\d]{1,3}$",
    r'^"\\[a-c]"$',
    "^a|b$",
    "ice",
]
FORMATS = ["date", "time", "date-time", "uuid"]


class Maker:
    """Makes one schema per seed. `small` keeps answers short."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._names = 0

    def document(self) -> Schema:
        """A schema of any type at its root, and what it refers to."""
        kind = self._random.randrange(6)
        if kind == 0:
            return self._list_of_itself()
        if kind == 1:
            return self._tree()
        return self.schema(3)

    def schema(self, depth: int) -> Schema:
        """A schema with no more than `depth` levels below it."""
        random_ = self._random
        leaves = [self._string, self._integer, self._number, self._enum, self._const, self._plain]
        inner = [
            self._object,
            self._object,
            self._array,
            self._tuple,
            self._any_of,
            self._one_of,
            self._all_of,
        ]
        inner += [self._open_object, self._types]
        made = random_.choice(inner if depth > 0 and random_.random() < 0.7 else leaves)
        schema = made(depth - 1)
        if random_.random() < 0.1:
            schema = {"title": "A title", "description": "what it is", **schema, "$comment": "none"}
        return schema

    def _plain(self, depth: int) -> Schema:
        return {"type": self._random.choice(["null", "boolean", "integer", "number"])}

    def _string(self, depth: int) -> Schema:
        kind = self._random.randrange(4)
        if kind == 0:
            return {"type": "string", "pattern": self._random.choice(PATTERNS)}
        if kind == 1:
            return {"type": "string", "format": self._random.choice(FORMATS), "maxLength": 40}
        if kind == 2:
            return {"type": "string", "format": self._random.choice(FORMATS)}
        least = self._random.randrange(5)
        return {"type": "string", "minLength": least, "maxLength": least + self._random.randrange(8)}

    def _bounds(self, *, whole: bool) -> Schema:
        random_ = self._random
        scale = 10 ** random_.randrange(0, 7)
        numbers = sorted(random_.uniform(-scale, scale) for _ in range(2))
        low, high = (round(number) if whole else round(number, random_.randrange(6)) for number in numbers)
        schema: Schema = {}
        if random_.random() < 0.7:
            schema["exclusiveMinimum" if random_.random() < 0.3 else "minimum"] = low - 1
        if random_.random() < 0.7:
            schema["exclusiveMaximum" if random_.random() < 0.3 else "maximum"] = high + 1
        return schema

    def _integer(self, depth: int) -> Schema:
        if self._random.random() < 0.15:
            return {
                "type": "integer",
                "minimum": -30,
                "maximum": 100,
                "multipleOf": self._random.randrange(1, 9),
            }
        return {"type": "integer", **self._bounds(whole=self._random.random() < 0.8)}

    def _number(self, depth: int) -> Schema:
        return {"type": "number", **self._bounds(whole=self._random.random() < 0.2)}

    def _value(self) -> Any:
        random_ = self._random
        return random_.choice(
            [
                None,
                True,
                False,
                0,
                -7,
                2.5,
                1e300,
                random_.choice(WORDS),
                [1, "a"],
                {"k": random_.choice(WORDS)},
                {},
            ]
        )

    def _enum(self, depth: int) -> Schema:
        random_ = self._random
        if random_.random() < 0.3:
            return {"enum": [f"{random_.choice(WORDS)}{i}" for i in range(random_.randrange(9, 40))]}
        values: list[Any] = []
        for _ in range(random_.randrange(1, 6)):
            if (value := self._value()) not in values:
                values.append(value)
        return {"enum": values}

    def _const(self, depth: int) -> Schema:
        return {"const": self._value()}

    def _members(self, depth: int) -> Schema:
        names = self._random.sample(NAMES, self._random.randrange(1, 5))
        required = [name for name in names if self._random.random() < 0.5]
        schema: Schema = {"type": "object", "properties": {name: self.schema(depth) for name in names}}
        return schema | ({"required": required} if required else {})

    def _object(self, depth: int) -> Schema:
        schema = self._members(depth)
        if self._random.random() < 0.5:
            schema["additionalProperties"] = False
        return schema

    def _open_object(self, depth: int) -> Schema:
        schema = self._members(0)
        schema["properties"].pop("*", None)
        schema["required"] = [name for name in schema.get("required", []) if name != "*"]
        return schema | {"additionalProperties": self._plain(depth)}

    def _array(self, depth: int) -> Schema:
        least = self._random.randrange(3)
        return {
            "type": "array",
            "items": self.schema(depth),
            "minItems": least,
            "maxItems": least + self._random.randrange(3),
        }

    def _tuple(self, depth: int) -> Schema:
        schema: Schema = {
            "type": "array",
            "prefixItems": [self.schema(depth) for _ in range(self._random.randrange(1, 4))],
        }
        if self._random.random() < 0.5:
            schema["items"] = False
        elif self._random.random() < 0.5:
            schema |= {"items": self._plain(depth), "minItems": 3}
        return schema

    def _any_of(self, depth: int) -> Schema:
        return {"anyOf": [self.schema(depth) for _ in range(self._random.randrange(1, 4))]}

    def _one_of(self, depth: int) -> Schema:
        kinds = self._random.sample(["cat", "dog", "owl"], 2)
        branches = []
        for kind in kinds:
            branch = self._members(depth)
            branch["properties"] = {"kind": {"const": kind}} | branch["properties"]
            branches.append(branch | {"required": ["kind", *branch.get("required", [])]})
        return {"oneOf": branches}

    def _all_of(self, depth: int) -> Schema:
        one, other = self._members(0), self._members(0)
        for name in one["properties"]:
            other["properties"].pop(name, None)
        other["required"] = [name for name in other.get("required", []) if name in other["properties"]]
        return {"allOf": [one, other], "type": "object", "properties": {"z": {"type": "boolean"}}}

    def _types(self, depth: int) -> Schema:
        types = self._random.sample(["null", "boolean", "integer", "string"], self._random.randrange(1, 4))
        return {"type": types, "minimum": 0, "maximum": 99, "minLength": 1, "maxLength": 5}

    def _list_of_itself(self) -> Schema:
        node = {
            "type": "object",
            "properties": {
                "value": self.schema(0),
                "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]},
            },
            "required": ["value", "next"] if self._random.random() < 0.5 else ["value"],
        }
        return {"$ref": "#/$defs/node", "$defs": {"node": node}}

    def _tree(self) -> Schema:
        return {
            "type": "object",
            "properties": {
                "leaf/1": self.schema(0),
                "twigs": {"type": "array", "items": {"$ref": "#"}, "maxItems": 1},
                "bark": {"$ref": "#/properties/leaf~11"},
            },
            "additionalProperties": False,
        }
