"""Compares what the Build.cs files name with the files of a packaged plugin."""

from __future__ import annotations

import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from checks.ground import Failed

from .rules import PLATFORMS, Lists, execute

NATIVE = {".dll", ".so", ".dylib", ".lib", ".a", ".gguf", ".onnx"}
SDK = Path("Source", "SottoSDK")
STAND_INS = {  # names that native/packaging gives the binaries of a platform
    "Win64": ("Win64/sotto.dll", "Win64/sotto.lib", "Win64/sotto_llama-sse42.dll", "Win64/house.gguf"),
    "Linux": (
        *("Linux/libsotto.so", "Linux/sotto_llama-sse42.so", "Linux/sotto_onnx.so"),
        *("Linux/sotto_diffusion-sse42.so", "Linux/house.gguf", "Linux/matting.onnx"),
    ),
    "Android": ("Android/arm64-v8a/libsotto.so", "Android/arm64-v8a/libsotto_llama-armv8.so"),
}


def check_lists(zip_path: Path, platforms: Sequence[str] = PLATFORMS) -> str:
    """Checks that the rules name exactly the binaries of a packaged plugin.

    Args:
        zip_path: The plugin's zip, or a folder that it was unpacked in.
        platforms: Target platforms. Empty files stand for the binaries of one that the zip has none for.

    Returns:
        One line of figures, with the platforms that were compared by stand-ins.

    Raises:
        Failed: A named file is missing, or a binary is named by no platform's rules.
    """
    with tempfile.TemporaryDirectory() as folder:
        unpack(zip_path, Path(folder))
        found = sorted(Path(folder).glob("**/*.uplugin"))
        if len(found) != 1:
            raise Failed(f"{zip_path}: expected one .uplugin, found {len(found)}")
        return check_folder(found[0].parent.resolve(), platforms)


def unpack(zip_path: Path, folder: Path) -> None:
    """Unpacks a zip, or copies a folder that it was unpacked in. Raises Failed."""
    try:
        if zip_path.is_dir():
            shutil.copytree(zip_path, folder, dirs_exist_ok=True)
            return
        with zipfile.ZipFile(zip_path) as archive:
            archive.extractall(folder)
    except (OSError, zipfile.BadZipFile) as error:
        raise Failed(f"invalid zip '{zip_path}': {error}; pass the Unreal zip of native/packaging") from error


def check_unpackaged(plugin: Path, headers: Path, platforms: Sequence[str] = PLATFORMS) -> str:
    """As check_lists(), for the sources of a plugin: every binary has a stand-in."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder).resolve() / plugin.name
        shutil.copytree(plugin, copy)
        shutil.copytree(headers, copy / SDK / "include")
        return check_folder(copy, platforms)


def check_without_libraries(plugin: Path, headers: Path, platforms: Sequence[str] = PLATFORMS) -> str:
    """Checks that the rules of a plugin without its libraries name nothing that the linker would miss.

    Raises:
        Failed: A named library or include folder does not exist, or a delay-loaded DLL is not shipped.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder).resolve() / plugin.name
        shutil.copytree(plugin, copy, ignore=shutil.ignore_patterns("lib"))
        shutil.copytree(headers, copy / SDK / "include", dirs_exist_ok=True)
        lists = execute(copy, platforms)
        problems = [
            f"{place} names '{text}', which does not exist"
            for place, text in compiled_with(lists)
            if (path := resolve(text, copy)) is not None and not path.exists()
        ]
        problems += delay_loaded(lists)
        if problems:
            raise Failed("\n".join(problems))
    return "compiles without libraries"


LEFT_OUT = {  # setting -> files of Linux that a game does not get
    "": set(),
    "onnx": {"sotto_onnx.so", "libonnxruntime.so.1", "matting.onnx"},
    "matting": {"matting.onnx"},
    "diffusion": {"sotto_diffusion-sse42.so"},
    "house": {"house.gguf"},
    "llama_vulkan": set(),  # not to be confused with `llama`
}


def check_leave_out(plugin: Path, headers: Path) -> str:
    """Checks that a game ships all files of its platform, without those that the project settings leave out.

    Raises:
        Failed: A file is shipped or missing against the setting, or an unknown name is accepted.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder).resolve() / "Plugins" / plugin.name
        shutil.copytree(plugin, copy, ignore=shutil.ignore_patterns("lib"))
        shutil.copytree(headers, copy / SDK / "include", dirs_exist_ok=True)
        (copy / SDK / "lib" / "Linux").mkdir(parents=True)
        names = {Path(name).name for name in STAND_INS["Linux"]} | {"libonnxruntime.so.1"}
        for name in names:
            (copy / SDK / "lib" / "Linux" / name).touch()
        for setting, wanted in LEFT_OUT.items():
            shipped = shipped_with(copy, Path(folder), setting)
            if names - shipped != wanted:
                raise Failed(
                    f"LeaveOut={setting}: leaves out {sorted(names - shipped)}, not {sorted(wanted)}"
                )
        try:
            shipped_with(copy, Path(folder), "onyx")
        except Failed as error:
            if "invalid LeaveOut 'onyx' of the Sotto settings: expected llama, " not in str(error):
                raise
        else:
            raise Failed("LeaveOut=onyx is accepted")
    return f"{len(LEFT_OUT)} settings leave out files"


def shipped_with(plugin: Path, project: Path, setting: str) -> set[str]:
    """The names of the files that a game for Linux ships, with one name in the setting Leave Out."""
    ini = project / "Config" / "DefaultGame.ini"
    ini.parent.mkdir(exist_ok=True)
    array = f"+LeaveOut={setting}\n" if setting else ""
    ini.write_text(f"[Other]\n+LeaveOut=house\n[/Script/SottoRuntime.SottoSettings]\n{array}[Last]\n")
    found = execute(plugin, ("Linux",), project / "Game.uproject")["Linux"]["SottoSDK"]
    if str(ini) not in found.lists.get("ExternalDependencies", []):
        raise Failed(f"SottoSDK.Build.cs does not run again after a change of {ini.name}")
    return {Path(source).name for _, source in found.staged}


def check_folder(plugin: Path, platforms: Sequence[str]) -> str:
    """As check_lists(), for an unpacked plugin, to which stand-ins are added."""
    real = binaries(plugin)
    standing = [platform for platform in platforms if not _has(real, platform)]
    if (plugin / SDK).is_dir():
        for platform in standing:
            for name in STAND_INS[platform]:
                path = plugin / SDK / "lib" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
    native = binaries(plugin)
    lists = execute(plugin, platforms)
    problems, named = [], set()
    for place, text in files(lists):
        path = resolve(text, plugin)
        if path is None:
            continue
        matched = list(matches(path))
        if not matched:
            problems.append(f"{place} names '{text}', which is not packaged")
        named.update(matched)
    problems += [
        f"{path.relative_to(plugin)} is packaged, but no Build.cs names it" for path in sorted(native - named)
    ]
    problems += delay_loaded(lists)
    if problems:
        raise Failed("\n".join(problems))
    by_name = f" ({', '.join(standing)}: empty stand-ins)" if standing else ""
    return f"Build.cs names {len(native)} of {len(native)} binaries for {', '.join(platforms)}{by_name}"


def binaries(plugin: Path) -> set[Path]:
    """The libraries and models of a plugin."""
    return {path for path in plugin.rglob("*") if path.suffix in NATIVE and path.is_file()}


def _has(native: set[Path], platform: str) -> bool:
    return any(platform in path.parts for path in native)


def compiled_with(lists: Lists) -> Iterator[tuple[str, str]]:
    """Yields each file and folder that compiler and linker take from the rules, and where they name it."""
    for platform, modules in lists.items():
        for module, found in modules.items():
            for name in ("PublicAdditionalLibraries", "PublicIncludePaths", "PublicSystemIncludePaths"):
                for text in found.lists.get(name, []):
                    yield f"{module}.Build.cs for {platform}: {name}", text


def files(lists: Lists) -> Iterator[tuple[str, str]]:
    """Yields each file that the rules name, and where."""
    yield from compiled_with(lists)
    for platform, modules in lists.items():
        for module, found in modules.items():
            for _, source in found.staged:
                yield f"{module}.Build.cs for {platform}: RuntimeDependencies", source
            for name, text in found.receipt:
                if name in ("AndroidPlugin", "IOSPlugin"):
                    yield f"{module}.Build.cs for {platform}: {name}", text
                    yield from copied(Path(text))


def copied(path: Path) -> Iterator[tuple[str, str]]:
    """Yields what a build script for Android (UPL) copies; its $S(PluginDir) is the script's own folder."""
    if not path.is_file():
        return  # reported by the caller, who names the script itself
    for element in ElementTree.parse(path).iter():
        source = element.get("src", "").replace("$S(PluginDir)", str(path.parent))
        if element.tag == "copyDir":
            yield path.name, f"{source}/..."
        elif element.tag == "copyFile":
            yield path.name, source


def resolve(text: str, plugin: Path) -> Path | None:
    """Returns the path of a file of the plugin; None if it is a library or a file of the system."""
    text = text.replace("\\", "/").replace("$(PluginDir)", str(plugin))
    if "$(" in text:
        raise Failed(f"'{text}' has a variable whose value a packaged plugin does not know")
    if not PurePosixPath(text).is_absolute():
        return None  # the linker finds it
    return Path(re.sub(r"/\./", "/", str(Path(text))))


def matches(path: Path) -> Iterator[Path]:
    """Yields the files that a path names; `...` stands for all below, as in UnrealBuildTool."""
    text = str(path)
    if text.endswith("/..."):
        yield from (one for one in Path(text[:-4]).rglob("*") if one.is_file())
    elif "*" in path.name:
        yield from path.parent.glob(path.name)
    elif path.exists():
        yield path.resolve()


def delay_loaded(lists: Lists) -> Iterator[str]:
    """Yields delay-loaded DLLs that nothing stages beside the program."""
    for platform, modules in lists.items():
        for module, found in modules.items():
            staged = {PurePosixPath(target.replace("\\", "/")).name for target, _ in found.staged}
            for name in found.lists.get("PublicDelayLoadDLLs", []):
                if name not in staged:
                    yield f"{module}.Build.cs for {platform}: delay-loaded '{name}' is no RuntimeDependency"
