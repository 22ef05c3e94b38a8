"""The C# blocks of README and documentation, as sources that must compile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from checks.ground import ROOT

# Blocks repeat a using and leave variables unused.
UNUSED = "-nowarn:0105,0168,0169,0219,0414,0649,8019"
USING = "using System;\nusing Sotto;\nusing UnityEngine;\n"
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
    {keyword} Run()
    {{
{code}    }}
}}
}}
"""
)


def pages() -> list[Path]:
    """Pages that may have C# blocks."""
    package = [path for path in (ROOT / "unity").rglob("*.md") if "Native~" not in path.parts]
    return [ROOT / "README.md", *sorted(package), *sorted((ROOT / "docs/pages").rglob("*.md"))]


def snippets() -> Iterator[str]:
    """Each C# block as a source file; statements become the body of a method."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages())
    for number, code in enumerate(re.findall(r"^```csharp\n(.*?)^```", text, re.M | re.S)):
        if "class " in code:
            yield f"namespace Snippets.Page{number}\n{{\n{USING}{code}}}\n"
        else:
            keyword = "async void" if "await " in code else "void"
            yield FRAGMENT.format(number=number, code=code, keyword=keyword)


def write_snippets(folder: Path) -> list[Path]:
    """Writes each block to a file."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number, code in enumerate(snippets()):
        files.append(folder / f"Snippet{number}.cs")
        files[-1].write_text(code, encoding="utf-8")
    return files
