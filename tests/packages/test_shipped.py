"""Which modules and models a game ships: one rule in all packages, and each can be left out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from build_folder import PLATFORMS, Installed
from shipped import MODELS, Choice, backend_of, chooser

from conftest import ROOT, run

LINUX, ANDROID = PLATFORMS[0], PLATFORMS[2]
MODULES = {"llama", "llama_cuda", "llama_vulkan", "proxy", "onnx", "diffusion", "diffusion_vulkan"}
NAMES = MODULES | {Path(model.file).stem for model in MODELS}
FILES = (
    *("libsotto.so", "libsotto_unity.so", "sotto_llama-x86-64-v2.so", "sotto_llama-x86-64-v3.so"),
    *("sotto_llama_vulkan-x86-64-v2.so", "sotto_llama_cuda-x86-64-v2.so", "sotto_proxy.so", "sotto_onnx.so"),
    *("sotto_diffusion-x86-64-v2.so", "sotto_diffusion-x86-64-v3.so", "house.gguf", "matting.onnx"),
)


def source(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def quoted(text: str, begin: str, end: str) -> set[str]:
    """The words in quotes between two marks of a source."""
    inside = text[text.index(begin) :]
    return set(re.findall(r'"([\w.]+)"', inside[: inside.index(end)]))


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        ("libsotto.so", ""),
        ("sotto.dll", ""),
        ("libsotto_unity.so", ""),
        ("sotto_godot.dll", ""),
        ("sotto_llama-x86-64-v2.so", "llama"),
        ("libsotto_llama-native.so", "llama"),
        ("sotto_llama_vulkan-x86-64-v3.dll", "llama_vulkan"),
        ("sotto_onnx.so", "onnx"),
        ("sotto_diffusion-native.so", "diffusion"),
        ("sotto_diffusion_vulkan-native.so", "diffusion_vulkan"),
        ("sotto_onnx.so.debug", ""),
        ("libonnxruntime.so.1", ""),
        ("house.gguf", ""),
        ("matting.onnx", ""),
        ("isnet.onnx", ""),
    ],
)
def test_modules_are_known_by_their_names(name: str, backend: str) -> None:
    assert backend_of(name) == backend


def test_every_list_of_models_is_the_same() -> None:
    library = re.findall(
        r'BuiltIn\{"([^"]+)", "([^"]+)", (\w+|"")\}', source("native/core/model/built_in.cpp")
    )
    constants = {'""': "", "kOnnx": "onnx"}
    assert [(name, file, constants[backend]) for name, file, backend in library] == [
        (model.id, model.file, model.backend) for model in MODELS
    ]
    files = {model.file for model in MODELS}
    runtime = re.search(r"set\(models (.*)\)", source("native/cmake/sottoRuntime.cmake"))
    assert runtime is not None and set(runtime[1].split()) == files
    assert quoted(source("python/sotto/_hub.py"), "_BUILT_IN = {", "}") == files
    unity = source("unity/Runtime/Components/SottoFiles.cs")
    assert set(re.findall(r'const string \w+File = "([^"]+)"', unity)) == files
    assert {Path(name).name for name in re.findall(r'"(samples/[^"]+)"', source("pyproject.toml"))} >= files
    assert quoted(source("native/release_wheel.py"), "EMBEDDED =", ")") == files


def test_every_list_of_names_is_the_same() -> None:
    runtime = re.search(r"set\(names (.*)\)", source("native/cmake/sottoRuntime.cmake"))
    assert runtime is not None and set(runtime[1].split()) == NAMES
    assert quoted(source("unreal/Sotto/Source/SottoSDK/SottoSDK.Build.cs"), "Names =", "}") == NAMES
    unity = quoted(source("unity/Editor/SottoParts.cs"), "Names =", "}") | {"onnx"}
    assert unity == MODULES
    for settings in (
        source("unity/Runtime/Components/SottoSettings.cs"),
        source("unreal/Sotto/Source/SottoRuntime/Public/SottoSettings.h"),
    ):
        assert not [name for name in NAMES if name not in settings]


def folder_of_files(folder: Path) -> Path:
    for name in FILES:
        (folder / name).write_text(name)
    return folder


@pytest.mark.parametrize(
    ("left_out", "files"),
    [
        ([], []),
        (["onnx"], ["sotto_onnx.so", "matting.onnx"]),
        (["matting"], ["matting.onnx"]),
        (
            ["diffusion", "house"],
            ["sotto_diffusion-x86-64-v2.so", "sotto_diffusion-x86-64-v3.so", "house.gguf"],
        ),
        (["llama_vulkan"], ["sotto_llama_vulkan-x86-64-v2.so"]),
        (["llama"], ["sotto_llama-x86-64-v2.so", "sotto_llama-x86-64-v3.so"]),
    ],
)
def test_cmake_lists_what_is_not_left_out(left_out: list[str], files: list[str], tmp_path: Path) -> None:
    folder_of_files(tmp_path)
    script = tmp_path / "list.cmake"
    script.write_text(
        f'include("{ROOT}/native/cmake/sottoRuntime.cmake")\n'
        f'sotto_runtime_files(found "{tmp_path}" LEAVE_OUT {" ".join(left_out)})\n'
        "foreach(file IN LISTS found)\n"
        "    get_filename_component(name ${file} NAME)\n"
        "    message(NOTICE ${name})\n"
        "endforeach()\n"
    )
    found = run(["cmake", "-P", script], tmp_path, errors=True).split()
    assert sorted(found) == sorted(set(FILES) - {"libsotto.so", "libsotto_unity.so"} - set(files))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("LEAVE_OUT onyx", "invalid LEAVE_OUT 'onyx': expected one of llama"),
        ("onnx", "invalid argument 'onnx'"),
    ],
)
def test_cmake_refuses_unknown_names(arguments: str, message: str, tmp_path: Path) -> None:
    script = tmp_path / "list.cmake"
    script.write_text(
        f'include("{ROOT}/native/cmake/sottoRuntime.cmake")\n'
        f'sotto_runtime_files(found "{tmp_path}" {arguments})\n'
    )
    done = subprocess.run(["cmake", "-P", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("modules", "models", "left_out"),
    [
        ("*", "*", []),
        ("*", "house.gguf", ["matting.onnx"]),
        ("*", "none", ["house.gguf", "matting.onnx"]),
        ("sotto_[lop]*,sotto_unknown", "*", ["sotto_diffusion-x86-64-v2.so", "sotto_diffusion-x86-64-v3.so"]),
        (
            "sotto_llama-*, sotto_diffusion-*",
            "*",
            [
                *("sotto_llama_cuda-x86-64-v2.so", "sotto_llama_vulkan-x86-64-v2.so", "sotto_onnx.so"),
                *("sotto_proxy.so", "matting.onnx"),
            ],
        ),
    ],
)
def test_packages_leave_out(modules: str, models: str, left_out: list[str], tmp_path: Path) -> None:
    installed = Installed(LINUX, folder_of_files(tmp_path), [], ("", ""))
    installed.leave_out(Choice(chooser(modules), chooser(models)))
    assert installed.left_out == left_out
    assert {path.name for path in tmp_path.iterdir()} == set(FILES) - set(left_out)
    shipped = set(FILES) - set(left_out) - {"libsotto_unity.so"}
    assert {path.name for path in installed.shipped} == shipped
    assert {path.name for path in installed.unity_plugins} == {"libsotto_unity.so"}


def test_on_android_no_model_lies_beside_the_library(tmp_path: Path) -> None:
    for name in ("libsotto.so", "libsotto_llama-native.so", "house.gguf"):
        (tmp_path / name).write_text(name)
    shipped = Installed(ANDROID, tmp_path, [], ("", "")).shipped
    assert [path.name for path in shipped] == ["libsotto.so", "libsotto_llama-native.so"]


def test_the_wheel_must_hold_the_models(tmp_path: Path) -> None:
    script = "import release_wheel, sys, pathlib; print(release_wheel.absent(sys.argv[1:]))"
    names = ["sotto/_bin/house.gguf", "sotto/_bin/libsotto.so"]
    said = run([sys.executable, "-c", script, *names], ROOT / "native")
    assert said.strip() == "['there is no matting.onnx']"
