"""The bill of materials fits CycloneDX 1.6, and says what is linked."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from components import PinnedSources, every_part, users
from release import sibling
from sbom import invalid
from shipped import MODELS

from conftest import ROOT, VERSION, Packages

HERE_ONLY = {"GCC runtime libraries", "LLVM runtime libraries"}


@pytest.fixture(scope="module")
def text(packages: Packages) -> str:
    return packages.file("*.cdx.json").read_text()


@pytest.fixture(scope="module")
def bom(text: str) -> dict[str, Any]:
    return json.loads(text)


@pytest.fixture(scope="module")
def by_name(bom: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in bom["components"]}


def test_it_fits_the_schema(text: str, bom: dict[str, Any]) -> None:
    assert invalid(text) == ""
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.6")
    assert (bom["metadata"]["component"]["name"], bom["metadata"]["component"]["version"]) == (
        "sotto",
        VERSION,
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"CycloneDX"', '"SomethingElse"'),
        ('"id": "MIT"', '"id": "MIT-ish"'),
        ('"type": "library"', '"type": "librarian"'),
        ('"alg": "SHA-256"', '"alg": "SHA-257"'),
        ('"name": "ggml"', '"nom": "ggml"'),
        ("{", "["),
    ],
)
def test_the_validation_refuses(old: str, new: str, text: str) -> None:
    assert old in text
    assert invalid(text.replace(old, new, 1)) != ""


def test_files_are_the_packaged_libraries(by_name: dict[str, Any], unpacked: Callable[[str], Path]) -> None:
    files = {name: one for name, one in by_name.items() if one["type"] == "file"}
    assert set(files) >= {
        "linux-x86_64/libsotto.so",
        "linux-x86_64/sotto_llama-native.so",
        "linux-x86_64/sotto_onnx.so",
        "linux-x86_64/sotto_diffusion-native.so",
        "windows-x86_64/sotto.dll",
    }
    for name, one in files.items():
        platform, file = name.split("/")
        (library,) = unpacked(f"sotto-sdk-*-{platform}*").rglob(file)
        assert one["hashes"][0]["content"] == hashlib.sha256(library.read_bytes()).hexdigest()


def test_embedded_models_are_components(by_name: dict[str, Any], unpacked: Callable[[str], Path]) -> None:
    for model in MODELS:
        (file,) = unpacked("sotto-sdk-*-linux-*").rglob(model.file)
        one = by_name[model.id]
        assert (one["type"], one["licenses"][0]["license"]["id"]) == (
            "machine-learning-model",
            model.licence,
        )
        assert one["hashes"][0]["content"] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_archives_have_the_hash_of_the_fetched_file(by_name: dict[str, Any]) -> None:
    licences = sibling("licences")
    llama, zstd = licences.versions()
    for name, archive in (
        ("llama.cpp", f"llama_cpp_python-{llama}.tar.gz"),
        ("ggml", f"llama_cpp_python-{llama}.tar.gz"),
        ("Zstandard", f"zstandard-{zstd}.tar.gz"),
    ):
        content = (licences.deps() / archive).read_bytes()
        assert by_name[name]["hashes"][0]["content"] == hashlib.sha256(content).hexdigest(), name


def test_versions_are_those_of_the_sources(by_name: dict[str, Any]) -> None:
    tree = PinnedSources().llama
    numbered = ("nlohmann-json", "xxHash", "miniaudio", "stb_image", "Zstandard", "ggml")
    for name in numbered:
        assert re.fullmatch(r"\d+\.\d+(\.\d+)?", by_name[name]["version"]), name
    json_header = (tree / "vendor/nlohmann/json.hpp").read_text()
    assert f"version {by_name['nlohmann-json']['version']}" in json_header
    assert f"v{by_name['miniaudio']['version']}" in (tree / "vendor/miniaudio/miniaudio.h").read_text()[:400]


def test_every_component_has_a_licence_and_a_hash(bom: dict[str, Any]) -> None:
    for one in bom["components"]:
        if one["type"] == "library":
            assert one["licenses"], one["name"]
        if one["name"] not in HERE_ONLY:
            assert re.fullmatch("[0-9a-f]{64}", one["hashes"][0]["content"]), one["name"]


def test_every_licence_text_belongs_to_a_component() -> None:
    parts = every_part(PinnedSources())
    texts = {name for name, _ in sibling("licences").texts()}
    of_models = {model.text for model in MODELS}
    assert ({part.text for part in parts} | of_models) - {""} == texts


def test_every_row_of_the_notices_is_a_component() -> None:
    names = {part.name.lower() for part in every_part(PinnedSources())}
    rows = re.findall(r"^\| (?!what \||---)([^|]+) \|", (ROOT / "THIRD_PARTY.md").read_text(), re.M)
    assert len(rows) >= 10
    for row in rows:
        shown = re.findall(r"\[([^\]]+)\]", row) or [row]
        for name in shown:
            words = name.lower().replace("nlohmann/json", "nlohmann-json").split(" and ")
            assert all(any(word.strip() in known for known in names) for word in words), name


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("libsotto.so", {"core"}),
        ("sotto_llama-x86-64-v2.so", {"sotto_llama"}),
        ("sotto_llama_vulkan-x86-64-v3.dll", {"sotto_llama", "vulkan"}),
        ("sotto_llama_cuda-native.so", {"sotto_llama", "cuda"}),
        ("sotto_proxy.dll", {"sotto_proxy"}),
        ("sotto_onnx.so", {"sotto_onnx"}),
        ("sotto_diffusion-x86-64-v3.so", {"sotto_diffusion"}),
        ("sotto_diffusion_vulkan-native.so", {"sotto_diffusion", "vulkan"}),
    ],
)
def test_parts_go_by_the_name_of_the_library(library: str, expected: set[str]) -> None:
    assert users(library) == expected


def test_dependencies_name_what_each_library_links(bom: dict[str, Any]) -> None:
    graph = {one["ref"]: one.get("dependsOn", []) for one in bom["dependencies"]}
    core = " ".join(graph["linux-x86_64/libsotto.so"])
    module = " ".join(graph["linux-x86_64/sotto_llama-native.so"])
    assert "Zstandard" in core and "llama.cpp" not in core
    assert "llama.cpp" in module and "miniaudio" in module and "Zstandard" not in module
    assert "Vulkan" not in core + module and "CUDA" not in core + module
    onnx = " ".join(graph["linux-x86_64/sotto_onnx.so"])
    diffusion = " ".join(graph["linux-x86_64/sotto_diffusion-native.so"])
    assert "ONNX Runtime's C header" in onnx and "ggml" not in onnx
    assert "stable-diffusion.cpp" in diffusion and "ggml" in diffusion and "llama.cpp@" not in diffusion
