"""The software bill of materials: CycloneDX 1.6 in JSON, validated against the schema without a network."""

from __future__ import annotations

import json
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from build_folder import Installed
from components import Part, sha256
from release import PackagingError
from shipped import EmbeddedModel

if TYPE_CHECKING:
    from cyclonedx.model.component import Component

SPDX_WORDS = (" OR ", " AND ", " WITH ")


def reference(part: Part) -> str:
    """Returns the name that the dependency graph has for a part."""
    return f"{part.name}@{part.version} ({part.source})"


def component(part: Part) -> Component:
    """Returns the CycloneDX component of a part."""
    from cyclonedx.model import HashAlgorithm, HashType, Property
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.license import DisjunctiveLicense, LicenseExpression
    from packageurl import PackageURL

    licence: DisjunctiveLicense | LicenseExpression
    if any(word in part.licence for word in SPDX_WORDS):
        licence = LicenseExpression(part.licence)
    elif " " in part.licence:
        licence = DisjunctiveLicense(name=part.licence)
    else:
        licence = DisjunctiveLicense(id=part.licence)
    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=part.sha256)] if part.sha256 else []
    return Component(
        type=ComponentType.LIBRARY,
        name=part.name,
        version=part.version,
        bom_ref=reference(part),
        licenses=[licence],
        purl=PackageURL.from_string(part.purl),
        hashes=hashes,
        properties=[Property(name="sotto:source", value=part.source)],
    )


def embedded_models(builds: list[Installed]) -> dict[EmbeddedModel, Path]:
    """Returns the models of all builds, and a file of each: a model is the same file on every platform."""
    return {model: file for build in builds for model, file in build.models.items()}


def model_component(model: EmbeddedModel, path: Path, version: str) -> Component:
    """Returns the CycloneDX component of a model, which this project trained."""
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.license import DisjunctiveLicense

    return Component(
        type=ComponentType.MACHINE_LEARNING_MODEL,
        name=model.id,
        version=version,
        bom_ref=model.id,
        licenses=[DisjunctiveLicense(id=model.licence)],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256(path))],
    )


def libraries(builds: list[Installed], version: str) -> list[Component]:
    """Returns the packaged libraries themselves, as files with their hashes."""
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.component import Component, ComponentType

    return [
        Component(
            type=ComponentType.FILE,
            name=f"{build.platform.name}/{library.name}",
            version=version,
            bom_ref=f"{build.platform.name}/{library.name}",
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256(library))],
        )
        for build in builds
        for library in (*build.libraries, *build.unity_plugins)
    ]


def render(linked: dict[str, list[Part]], builds: list[Installed], version: str, epoch: int) -> str:
    """Returns the bill of materials of a release.

    Raises:
        PackagingError: The package cyclonedx-python-lib is missing, or the result does not fit the schema.
    """
    try:
        from cyclonedx.model.bom import Bom, BomMetaData
        from cyclonedx.model.component import Component, ComponentType
        from cyclonedx.model.license import DisjunctiveLicense
        from cyclonedx.output import make_outputter
        from cyclonedx.schema import OutputFormat, SchemaVersion
    except ImportError as error:
        raise PackagingError(
            f"cannot write the bill of materials: {error}; pip install -r native/packaging/requirements.txt"
        ) from None

    root = Component(
        type=ComponentType.LIBRARY,
        name="sotto",
        version=version,
        bom_ref=f"sotto@{version}",
        licenses=[DisjunctiveLicense(id="MIT")],
        description="An AI runtime that games embed",
    )
    files = libraries(builds, version)
    unique = {reference(part): part for parts in linked.values() for part in parts}
    used = {name: component(unique[name]) for name in sorted(unique)}
    models = [model_component(one, file, version) for one, file in embedded_models(builds).items()]
    content = " ".join(f"{one.bom_ref} {list(one.hashes)}" for one in (*files, *used.values(), *models))
    bom = Bom(
        components=[*files, *used.values(), *models],
        metadata=BomMetaData(component=root, timestamp=datetime.fromtimestamp(epoch, timezone.utc)),
        serial_number=uuid.uuid5(uuid.NAMESPACE_OID, f"sotto {version} {content}"),
    )
    bom.register_dependency(root, [*files, *models])
    for file in files:
        bom.register_dependency(file, [used[reference(part)] for part in linked.get(file.name, [])])
    text = make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2) + "\n"
    if problem := invalid(text):
        raise PackagingError(
            f"the bill of materials does not fit CycloneDX 1.6: {problem}; mend native/packaging/sbom.py"
        )
    return text


def invalid(text: str) -> str:
    """Returns why a bill of materials does not fit the strict schema of CycloneDX 1.6; empty if it fits."""
    # jsonschema's checker of IRIs compiles a grammar for 5 s when it is imported; our document has no IRI.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    try:
        json.loads(text)
    except ValueError as error:
        return str(error)
    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    return "" if problem is None else str(problem)[:400]
