"""Compiles the Unity runtime outside Unity and runs it under Mono.

    run.py LIBRARIES

LIBRARIES is a build's `out` folder: libsotto, its modules, the house model, and in `scripted/` the
scripted backend.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MCS = ["mcs", "-nologo", "-langversion:latest", "-unsafe", "-warnaserror"]
UNUSED = "-nowarn:0105,0168,0169,0219,0414,0649"  # snippets repeat a using and leave variables unused
USING = "using Sotto;\nusing UnityEngine;\n"
FRAGMENT = (
    "namespace Snippets.Fragment{number}\n{{\n"
    + USING
    + """class Fragment
{{
    SottoEngine sotto, engine;
    SottoEvent e;
    string Question, Gossip, Bark, said, body;
    void Show(string text) {{ }}
    void Animate() {{ }}
    void Run()
    {{
{code}    }}
}}
}}
"""
)


def compile_to(target: Path, sources: list[Path], *flags: str) -> None:
    runtime = sorted((ROOT / "unity/Runtime").rglob("*.cs"))
    subprocess.run([*MCS, *flags, f"-out:{target}", *map(str, [*sources, *runtime])], check=True)


def without_meta() -> list[Path]:
    """Files of the package that Unity would ignore where it is installed read-only."""
    unity = ROOT / "unity"
    files = [path for path in unity.rglob("*") if path.suffix != ".meta" and "Plugins" not in path.parts]
    return [path for path in files if not path.with_name(path.name + ".meta").exists()]


def layout() -> str:
    """What layout.json says, a line each: `struct size`, then `struct offset field`."""
    structs = json.loads((ROOT / "tests/abi/layout.json").read_text())["structs"]
    lines = []
    for name, struct in structs.items():
        lines.append(f"{name} {struct['size']}")
        lines += [f"{name} {offset} {field}" for field, _, offset in struct["fields"]]
    return "\n".join(lines)


def snippets() -> Iterator[str]:
    """Each C# block of the documentation as a source file; statements become the body of a method."""
    pages = (ROOT / "README.md", ROOT / "unity/README.md", *sorted((ROOT / "docs/pages").rglob("*.md")))
    text = "\n".join(page.read_text() for page in pages)
    for number, code in enumerate(re.findall(r"^```csharp\n(.*?)^```", text, re.M | re.S)):
        if "class " in code:
            yield f"namespace Snippets.Page{number}\n{{\n{USING}{code}}}\n"
        else:
            yield FRAGMENT.format(number=number, code=code)


def main(libraries: Path) -> int:
    if lacking := without_meta():
        print("no .meta beside", *lacking)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        program, lines = Path(folder, "Program.exe"), Path(folder, "layout.txt")
        unity = ["-target:library", "-define:UNITY_5_3_OR_NEWER"]
        compile_to(Path(folder, "Unity.dll"), [HERE / "UnityStub.cs"], *unity)
        pages = []
        for number, code in enumerate(snippets()):
            pages.append(Path(folder, f"Snippet{number}.cs"))
            pages[-1].write_text(code)
        compile_to(Path(folder, "Snippets.dll"), [HERE / "UnityStub.cs", *pages], *unity, UNUSED)
        compile_to(Path(folder, "Editor.dll"), [HERE / "UnityStub.cs"], *unity, "-define:UNITY_EDITOR")
        compile_to(
            program,
            [HERE / name for name in ("Program.cs", "Sessions.cs", "Budget.cs", "Gpu.cs", "Domains.cs")],
        )
        lines.write_text(layout())
        env = {**os.environ, "LD_LIBRARY_PATH": str(libraries), "LC_ALL": "C.UTF-8"}
        command = ["mono", str(program), str(lines), str(libraries)]
        return subprocess.run(command, env=env, check=False, timeout=300).returncode


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]).resolve()))
