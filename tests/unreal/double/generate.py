"""Writes `X.generated.h` for headers with UCLASS and USTRUCT, and a file that registers and exports classes.

The double of Unreal's header tool. It reads declarations in the plugin's own style;
`tests/unreal/header_check` checks the headers themselves.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

TYPE = re.compile(
    r"^U(CLASS|STRUCT)\b(?:[^;{]|\n)*?\b(?:class|struct)\s+(?:[A-Z]+_API\s+)?(\w+)\s*"
    r"(?:final\s*)?(?::\s*public\s+(\w+))?[^{;]*\{",
    re.M,
)
REFERENCE = re.compile(
    r"\bUPROPERTY\((?:[^()]|\([^()]*\))*\)\s*((?:TArray<\s*)?TObjectPtr<[^;=]*?>)\s*(\w+)\s*(?:=[^;]*)?;"
)
EXPORTED = re.compile(r"^(?:class|struct)\s+[A-Z]+_API\s+(F\w+)", re.M)
FUNCTION = re.compile(r"\bUFUNCTION\((?:[^()]|\([^()]*\))*\)\s*[^;{]*?\b(\w+)\s*\(")


def bodies(text: str) -> Iterator[tuple[re.Match[str], int, str]]:
    """Yields each class or struct with the line of its GENERATED_BODY() and its text."""
    found = list(TYPE.finditer(text))
    for number, one in enumerate(found):
        end = found[number + 1].start() if number + 1 < len(found) else len(text)
        body = text.find("GENERATED_BODY()", one.end(), end)
        if body < 0:
            raise SystemExit(f"invalid {one[2]}: expected GENERATED_BODY() in its first lines")
        yield one, text.count("\n", 0, body) + 1, text[one.end() : end]


def class_body(name: str, parent: str, body: str) -> str:
    """Returns what GENERATED_BODY() of a class is."""
    functions = ", ".join(f'TEXT("{function}")' for function in sorted(set(FUNCTION.findall(body))))
    visits = " ".join(f"Visitor.Visit({member});" for _, member in REFERENCE.findall(body))
    lines = [
        "public:",
        f"using Super = {parent};",
        f"using ThisClass = {name};",
        "static UClass* StaticClass() {",
        f'    static UClass Class(TEXT("{name}"), DoubleSuperClass<{parent}>(), DoubleMaker<{name}>(), '
        f"{{{functions}}});",
        "    return &Class;",
        "}",
        f"void DoubleVisit(FDoubleVisitor& Visitor) override {{ Super::DoubleVisit(Visitor); {visits} }}",
        "private:",
    ]
    return " \\\n    ".join(lines)


def generate(header: Path, out: Path) -> list[str]:
    """Writes the generated file of a header. Returns the names of its classes."""
    text = header.read_text(encoding="utf-8")
    if f'#include "{header.stem}.generated.h"' not in text:
        return []
    file_id = f"FID_{header.stem}_h"
    written = ["#pragma once", '#include "UObject/ObjectMacros.h"', "#undef CURRENT_FILE_ID"]
    written.append(f"#define CURRENT_FILE_ID {file_id}")
    classes = []
    for one, line, body in bodies(text):
        macro = f"#define {file_id}_{line}_GENERATED_BODY"
        if one[1] == "CLASS":
            written.append(f"class {one[2]};\n{macro} \\\n    {class_body(one[2], one[3], body)}")
            classes.append(one[2])
        else:
            written.append(macro)
    content = "\n".join(written) + "\n"
    target = out / f"{header.stem}.generated.h"
    if not target.exists() or target.read_text(encoding="utf-8") != content:  # keeps the time, for the build
        target.write_text(content, encoding="utf-8")
    return classes


def main() -> None:
    """Generates for all headers of the folders: `generate.py OUT FOLDER...`."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    headers = sorted(header for folder in sys.argv[2:] for header in Path(folder).rglob("*.h"))
    made = [(header, generate(header, out)) for header in headers]
    exported = {header: EXPORTED.findall(header.read_text(encoding="utf-8")) for header in headers}
    lines = ['#include "exported.h"']
    lines += [f'#include "{header.name}"' for header, classes in made if classes or exported[header]]
    touched = [f"{name}::StaticClass();" for _, classes in made for name in classes]
    touched += [f"double_export<{name}>();" for names in exported.values() for name in names]
    lines.append(f"void double_register_classes() {{ {' '.join(touched)} }}")
    target, content = out / "classes.gen.cpp", "\n".join(lines) + "\n"
    if not target.exists() or target.read_text(encoding="utf-8") != content:
        target.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
