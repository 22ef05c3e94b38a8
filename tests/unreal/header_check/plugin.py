"""Finds the modules of an Unreal plugin and reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from clang.cindex import Cursor

from .model import Module
from .sources import Source
from .unit import Ground, read_module

EXTERNAL = re.compile(r"^\s*Type = ModuleType\.External;", re.M)  # headers and libraries, nothing to compile


@dataclass(frozen=True)
class ModuleFolder:
    """A folder Source/<name> with its <name>.Build.cs."""

    root: Path

    @property
    def name(self) -> str:
        """The module's name."""
        return self.root.name

    @cached_property
    def sources(self) -> list[Source]:
        """Sources, then headers: the order in which they are parsed."""
        found = sorted(path for path in self.root.rglob("*") if path.suffix in (".h", ".cpp"))
        return [Source.read(path) for path in sorted(found, key=lambda path: path.suffix)]

    @property
    def headers(self) -> list[Source]:
        """The headers alone."""
        return [source for source in self.sources if source.is_header]

    @property
    def public(self) -> Path:
        """Headers for other modules."""
        return self.root / "Public"

    @property
    def own(self) -> tuple[Path, ...]:
        """Include folders that the module itself sees."""
        return self.public, self.root / "Private", self.root


@dataclass(frozen=True)
class Plugin:
    """A plugin's folder, with its .uplugin."""

    root: Path

    @property
    def modules(self) -> list[ModuleFolder]:
        """The modules that are compiled, by name. Raises FileNotFoundError if no module is found."""
        found = sorted(self.root.glob("Source/*/*.Build.cs"))
        if not found:
            wanted = "expected Source/<module>/<module>.Build.cs in it"
            raise FileNotFoundError(
                f"invalid plugin '{self.root}': {wanted}; pass the folder of the .uplugin"
            )
        return [ModuleFolder(path.parent) for path in found if not EXTERNAL.search(path.read_text())]

    def read(
        self, ground: Ground, only: Callable[[Source], bool] | None = None
    ) -> Iterator[tuple[Module, list[Cursor]]]:
        """Reads every module that has C++. `only`: chooses files; a module without any is left out."""
        modules = self.modules
        exports = [f"{module.name.upper()}_API" for module in modules]
        public = [module.public for module in modules]
        for module in modules:
            sources = [one for one in module.sources if only is None or only(one)]
            if not sources:
                continue
            others = [one for other in modules for one in other.headers if one not in sources]
            own = [*module.own, *public]
            yield read_module(module.name, ground, sources, others=others, own=own, exports=exports)
