"""Prices of nodes: what the workers of a workload cost in an hour."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

_FIELDS = ("usd_per_hour", "workers", "nodes")


@dataclass(frozen=True)
class NodePrice:
    """A type of node.

    Attributes:
        usd_per_hour: Price of one node, in USD per hour; 0 for machines that the studio owns.
        workers: Workers of the workload that fit on one node.
        nodes: Maximum number of nodes of this type; None: no limit.
    """

    usd_per_hour: float
    workers: int = 1
    nodes: int | None = None

    @property
    def usd_per_worker(self) -> float:
        """Price of one worker on a full node, in USD per hour."""
        return self.usd_per_hour / self.workers

    @property
    def max_workers(self) -> float:
        """Maximum number of workers on nodes of this type; infinite without a limit."""
        return math.inf if self.nodes is None else self.nodes * self.workers

    def cost(self, workers: int) -> float:
        """Returns the price of the nodes that `workers` workers need, in USD per hour."""
        return math.ceil(workers / self.workers) * self.usd_per_hour


class PriceTable(Mapping[str, NodePrice]):
    """Node types with their prices.

    >>> table = PriceTable({"small": {"usd_per_hour": 0.1}, "gpu": {"usd_per_hour": 0.8, "workers": 2}})
    >>> round(table.hourly_cost({"small": 3, "gpu": 3}), 2)
    1.9
    """

    def __init__(self, table: Mapping[str, Mapping[str, Any] | NodePrice]) -> None:
        """Checks the table.

        Args:
            table: Node type to `NodePrice`, or to a mapping with its fields.

        Raises:
            ValueError: The table is empty, a field is unknown, or a value is out of range.
        """
        if not isinstance(table, Mapping) or not table:
            raise ValueError(
                f"invalid prices '{table!r}': expected at least one node type; "
                'for machines of your own give {"own": {"usd_per_hour": 0}}'
            )
        self._prices = {name: _price(name, entry) for name, entry in table.items()}

    @classmethod
    def load(cls, path: str | Path) -> PriceTable:
        """Reads a table from a JSON file: `{"<node type>": {"usd_per_hour": 0.8, "workers": 2}}`.

        Raises:
            OSError: The file cannot be read.
            ValueError: The file has no JSON object, or the table is invalid.
        """
        return cls(_read(path, "prices"))

    def __getitem__(self, name: str) -> NodePrice:
        return self._prices[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._prices)

    def __len__(self) -> int:
        return len(self._prices)

    def only(self, names: tuple[str, ...]) -> PriceTable:
        """Returns the table of these node types.

        Raises:
            ValueError: The table has no such node type.
        """
        for name in names:
            if name not in self._prices:
                raise ValueError(
                    f"invalid workers '{name}': expected node types of the price table "
                    f"({', '.join(self._prices)}); add its price, or leave it out"
                )
        return PriceTable({name: self._prices[name] for name in names})

    def hourly_cost(self, workers: Mapping[str, int]) -> float:
        """Returns the price of the nodes that these workers need, in USD per hour.

        Args:
            workers: Node type to number of workers.

        Raises:
            KeyError: The table has no such node type.
        """
        return math.fsum(self._prices[name].cost(count) for name, count in workers.items())


class NodePrices:
    """Prices of the nodes of a fleet, by their names.

    >>> prices = NodePrices(0.1, {"gpu-*": 0.8})
    >>> prices.of("gpu-3"), prices.of("office")
    (0.8, 0.1)
    """

    def __init__(self, usd_per_hour: float = 0.0, table: Mapping[str, float] | None = None) -> None:
        """Checks the prices.

        Args:
            usd_per_hour: Price of a node that no entry names, in USD per hour; 0 for machines of one's own.
            table: Entries: name of a node, or pattern of names with `*`, `?` and `[...]`, to USD per hour;
                the first that names a node is the node's.

        Raises:
            ValueError: A price is negative or not a number.
        """
        self._default = number("node price", usd_per_hour, minimum=0.0)
        entries = {} if table is None else table
        if not isinstance(entries, Mapping):
            raise ValueError(f"invalid node prices '{table!r}': expected an object of names and USD per hour")
        self._table = {name: number(f"node prices.{name}", usd, minimum=0.0) for name, usd in entries.items()}

    @classmethod
    def load(cls, path: str | Path, usd_per_hour: float = 0.0) -> NodePrices:
        """Reads the table from a JSON file: `{"gpu-*": 0.8}`.

        Raises:
            OSError: The file cannot be read.
            ValueError: The file has no JSON object, or a price is invalid.
        """
        return cls(usd_per_hour, _read(path, "node prices"))

    def of(self, node: str) -> float:
        """Returns the price of a node in USD per hour."""
        entry = self._entry(node)
        return self._default if entry is None else self._table[entry]

    def listed(self, node: str, names: Collection[str]) -> bool:
        """Returns True if a node, or the entry that names it, is one of `names`."""
        return node in names or self._entry(node) in names

    def _entry(self, node: str) -> str | None:
        return next((entry for entry in self._table if fnmatchcase(node, entry)), None)


def _read(path: str | Path, what: str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"invalid {what} '{path}': expected a JSON object; {error}") from error


def _price(name: str, entry: Mapping[str, Any] | NodePrice) -> NodePrice:
    where = f"prices.{name}"
    if isinstance(entry, Mapping):
        if unknown := set(entry) - set(_FIELDS):
            raise ValueError(f"invalid {where}.{min(unknown)}: expected one of {', '.join(_FIELDS)}")
        if "usd_per_hour" not in entry:
            raise ValueError(
                f"missing {where}.usd_per_hour: expected a price >= 0; 0 for machines of your own"
            )
        entry = NodePrice(**entry)
    if not isinstance(entry, NodePrice):
        raise ValueError(f"invalid {where} '{entry!r}': expected an object with {', '.join(_FIELDS)}")
    number(f"{where}.usd_per_hour", entry.usd_per_hour, minimum=0.0)
    integer(f"{where}.workers", entry.workers, minimum=1)
    if entry.nodes is not None:
        integer(f"{where}.nodes", entry.nodes, minimum=0)
    return entry


def number(name: str, value: Any, *, minimum: float, maximum: float = math.inf, above: bool = False) -> float:
    """Returns a finite number within its range. `above`: the minimum is exclusive.

    Raises:
        ValueError: The value is not a number, or out of range; the message names `name`.
    """
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not fits or not minimum <= value <= maximum or (above and value == minimum):
        least = f"{'>' if above else '>='} {minimum:g}"
        most = "" if math.isinf(maximum) else f" and <= {maximum:g}"
        raise ValueError(f"invalid {name} '{value!r}': expected a number {least}{most}")
    return float(value)


def integer(name: str, value: Any, *, minimum: int, maximum: int = 1_000_000) -> int:
    """Returns an integer within its range.

    Raises:
        ValueError: The value is not an integer, or out of range; the message names `name`.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise ValueError(f"invalid {name} '{value!r}': expected an integer from {minimum} to {maximum}")
    return value
