"""`docs/`: snippets run, compile and parse; links and anchors resolve; the navigation names every page."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import subprocess
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import sotto
from conftest import ROOT
from serving import fleet, served
from sotto import _ops, event

DOCS = ROOT / "docs"
PAGES = DOCS / "pages"
NAMES = sorted(path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*.md"))
README = "../../README.md"  # from PAGES
# Pages whose snippets speak to `sotto serve`, at SERVER.
SERVED = {"guide/client.md", "guide/llama-server.md", "guide/server.md"}
SERVER = "http://127.0.0.1:8080"
FLEET = "guide/fleet.md"  # its snippets speak to `sotto fleet serve`, which the environment names
WIDTH = 110
C_FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", "-fsyntax-only")
FENCE = re.compile(r"^( *)```(\S*)[^\n]*\n(.*?)^\1```$", re.M | re.S)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
INCLUDES = "#include <stdio.h>\n#include <sotto/sotto.h>\n"
FRAGMENT = INCLUDES + "void fragment(sotto_engine* engine) {\n(void)engine;\n%s}\n"


class Block(NamedTuple):
    """A fenced block: its language, its code, and the line of the page where the code begins."""

    language: str
    code: str
    line: int


def blocks(name: str, language: str) -> list[Block]:
    """Returns the fenced blocks of one language on a page."""
    text = (PAGES / name).read_text()
    found = [
        Block(match[2], textwrap.dedent(match[3]), text.count("\n", 0, match.start(3)) + 1)
        for match in FENCE.finditer(text)
    ]
    assert 2 * len(found) == len(re.findall(r"^ *(?:```|~~~)", text, re.M)), f"{name}: a fence is not closed"
    return [block for block in found if block.language == language]


def with_blocks(language: str) -> list[str]:
    """Returns the pages that have a fenced block of a language."""
    return [name for name in [*NAMES, README] if blocks(name, language)]


def prose(name: str) -> str:
    """Returns a page without its code, so that no comment is taken for a heading or a link."""
    return re.sub(r"`[^`\n]*`", lambda code: code[0].replace("[", "(").replace("]", ")"), _unfenced(name))


def _unfenced(name: str) -> str:
    return FENCE.sub("", (PAGES / name).read_text())


def slug(heading: str) -> str:
    """Returns the anchor that Python-Markdown gives a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    letters = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", letters).strip().lower())


def anchors(name: str) -> set[str]:
    """Returns the anchors of a page. A heading that comes twice gets a number."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *$", _unfenced(name), re.M):
        anchor, number = slug(heading), 0
        while (unique := f"{anchor}_{number}" if number else anchor) in found:
            number += 1
        found.add(unique)
    return found


def links(name: str) -> Iterator[str]:
    """Returns the links of a page that lead to a page."""
    for target in LINK.findall(prose(name)):
        if not re.match(r"[a-z]+:", target):
            yield target


@pytest.mark.real
@pytest.mark.parametrize("name", with_blocks("python"))
def test_python_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {"__name__": "docs"}
    monkeypatch.setattr(sotto.log, "set_log_level", lambda level: None)  # it outlives the test
    if name == FLEET and sys.version_info < (3, 11):
        pytest.skip("the fleet needs Python 3.11")
    with (
        served()
        if name in SERVED
        else fleet(tmp_path, monkeypatch)
        if name == FLEET
        else nullcontext() as server
    ):
        for block in blocks(name, "python"):
            code = "\n" * (block.line - 1) + block.code  # a traceback names the page's own line
            if server is not None:
                code = code.replace(SERVER, server.url)
            exec(compile(code, str(PAGES / name), "exec"), space)


def test_python_is_linted(tmp_path: Path) -> None:
    folders = [Path(sys.executable).parent, ROOT / "build" / "check" / "venv" / "bin"]
    ruff = shutil.which("ruff", path=":".join(map(str, folders))) or shutil.which("ruff")
    if ruff is None:
        pytest.skip("no ruff beside this interpreter, in build/check/venv or in PATH")
    for name in with_blocks("python"):
        file = tmp_path / f"{name.replace('/', '_')}.py"
        file.write_text("\n\n".join(block.code for block in blocks(name, "python")))
    ignored = "D,E402,F821,I001"  # blocks follow each other: an import may come late
    rules = ["--ignore", ignored, "--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    done = subprocess.run([ruff, "check", *rules, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(
        [ruff, "format", "--diff", "--config", str(ROOT / "pyproject.toml"), "--no-cache", tmp_path],
        capture_output=True,
        text=True,
    )
    wrong = [line for line in done.stdout.splitlines() if line[:1] in "+-" and line[1:].strip()]
    assert not [line for line in wrong if not line.startswith(("+++", "---"))], done.stdout


@pytest.mark.parametrize("name", with_blocks("c"))
def test_c_compiles(name: str, tmp_path: Path) -> None:
    for block in blocks(name, "c"):
        whole = "main(" in block.code
        source = tmp_path / "block.c"
        source.write_text(block.code if whole else FRAGMENT % block.code)
        done = subprocess.run(["cc", *C_FLAGS, str(source)], capture_output=True, text=True)
        assert done.returncode == 0, f"{name}, line {block.line}:\n{done.stderr}"


@pytest.mark.parametrize("name", with_blocks("cpp"))
def test_cpp_compiles(name: str, tmp_path: Path) -> None:
    for block in blocks(name, "cpp"):
        source = tmp_path / "block.cpp"
        source.write_text(block.code)
        flags = ["-std=c++17", *C_FLAGS[1:]]
        done = subprocess.run(["c++", *flags, str(source)], capture_output=True, text=True)
        assert done.returncode == 0, f"{name}, line {block.line}:\n{done.stderr}"


@pytest.mark.parametrize("name", with_blocks("json"))
def test_json_parses(name: str) -> None:
    for block in blocks(name, "json"):
        try:
            json.loads(block.code)
        except ValueError as error:
            pytest.fail(f"{name}, line {block.line}: {error}")


@pytest.mark.parametrize("name", [*NAMES, README])
def test_links_resolve(name: str) -> None:
    for target in links(name):
        path, _, anchor = target.partition("#")
        there = ((PAGES / name).parent / path if path else PAGES / name).resolve()
        assert there.exists() and there.is_relative_to(ROOT), f"{name} links to {target}: no such file"
        if there.is_relative_to(PAGES):
            page = there.relative_to(PAGES).as_posix()
            assert not anchor or anchor in anchors(page), f"{name} links to {target}: no such heading"
        else:
            assert name == README, f"{name} links to {target}, which is no page"


def test_the_navigation_names_every_page() -> None:
    named = re.findall(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", (DOCS / "mkdocs.yml").read_text(), re.M)
    assert sorted(named) == NAMES


@pytest.mark.parametrize("name", [name for name in NAMES if name != "reference/c.md"])  # which is generated
def test_lines_are_wrapped(name: str) -> None:
    for number, line in enumerate((PAGES / name).read_text().splitlines(), 1):
        assert len(line) <= WIDTH or line.startswith("|"), f"{name}:{number} has {len(line)} columns"
        assert line == line.rstrip(), f"{name}:{number} ends in a space"


def names_in(path: str, pattern: str) -> set[str]:
    """Returns what a pattern finds in a source file."""
    found = set(re.findall(pattern, (ROOT / path).read_text()))
    assert found, f"{path} has nothing like {pattern}"
    return found


@pytest.mark.parametrize(
    ("page", "path", "pattern"),
    [
        ("reference/requests.md", "include/sotto/request.h", r"\b(SOTTO_OP_\w+) *="),
        ("reference/events.md", "include/sotto/event.h", r"\b(SOTTO_EVENT_\w+) *="),
        ("reference/events.md", "include/sotto/base.h", r"\b(SOTTO_ERROR_\w+) *="),
        ("reference/options.md", "native/backends/llama/model/options.cpp", r'^    \{"(\w+)",(?: \[|$)'),
        ("reference/json-results.md", "include/sotto/stats.h", r"^    \w+ +(?!struct_size)(\w+); +/\*\*<"),
    ],
)
def test_references_are_whole(page: str, path: str, pattern: str) -> None:
    told = set(re.findall(r"`(\w+)`", (PAGES / page).read_text()))
    assert names_in(path, f"(?m){pattern}") - told == set()


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("reference/requests.md", [*_ops.OPS, *sotto.RequestOptions.__annotations__]),
        ("reference/events.md", event._KINDS.values()),
        ("reference/options.md", list(inspect.signature(sotto.Engine).parameters)),
        ("reference/json-results.md", sotto.Stats._fields),
        ("reference/json-results.md", [*sotto.Memory.__annotations__, *sotto.Plan.__annotations__]),
    ],
)
def test_references_name_what_python_has(page: str, names: Iterable[str]) -> None:
    told = set(re.findall(r"`(\w+)`", (PAGES / page).read_text()))
    assert set(names) - told == set()


def sources() -> str:
    """Returns the library's sources, with texts that are written in several pieces put together."""
    files = [*(ROOT / "native").rglob("*.?pp"), *(ROOT / "python" / "sotto").rglob("*.py")]
    text = "\n".join(path.read_text() for path in sorted(files))
    return re.sub(r'"\s*\n\s*f?"', "", text).replace('\\"', '"')


def test_error_texts_are_real() -> None:
    page = (PAGES / "guide" / "troubleshooting.md").read_text()
    tables = re.findall(r"^\| error \|.*?(?=^$)", page, re.M | re.S)
    quoted = re.findall(r"^\| `([^`]+)` \|", "\n".join(tables), re.M)
    assert len(quoted) > 20
    said = sources()
    for error in quoted:
        fixed = [piece.strip(" ,;:.") for piece in re.split(r"\.\.\.|[\d.]+|\"[^\"]*\"|'[^']*'", error)]
        for piece in fixed:
            words = piece.split(" ")
            halves = [(" ".join(words[:i]), " ".join(words[i:])) for i in range(len(words))]
            assert any(a in said and b in said for a, b in halves), f"{error!r}: nothing says {piece!r}"
