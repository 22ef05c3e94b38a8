"""Shows that the checks of Build.cs files and of .uplugin files find what they look for."""

from __future__ import annotations

import copy
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from checks.ground import Failed

from .archive import check_lists, check_without_libraries
from .descriptor import form

RULES = """
using System.IO;
using UnrealBuildTool;

public class SampleSDK : ModuleRules
{
    public SampleSDK(ReadOnlyTargetRules Target) : base(Target)
    {
        Type = ModuleType.External;
        PublicSystemIncludePaths.Add(Path.Combine(ModuleDirectory, "include"));
        if (Target.Platform == UnrealTargetPlatform.Win64)
        {
            PublicAdditionalLibraries.Add(Path.Combine(ModuleDirectory, "lib", "Win64", "sample.lib"));
            PublicDelayLoadDLLs.Add("sample.dll");
            string Library = Path.Combine(ModuleDirectory, "lib", "Win64", "sample.dll");
            RuntimeDependencies.Add("$(BinaryOutputDir)/sample.dll", Library);
        }
        else if (Target.Platform == UnrealTargetPlatform.Linux)
        {
            RuntimeDependencies.Add("$(PluginDir)/Source/SampleSDK/lib/Linux/...");
        }
    }
}
"""
FOLDER = "Sample/Source/SampleSDK"
PACKAGED = {
    "Sample/Sample.uplugin": "{}",
    f"{FOLDER}/SampleSDK.Build.cs": RULES,
    f"{FOLDER}/include/sample.h": "",
    f"{FOLDER}/lib/Win64/sample.lib": "",
    f"{FOLDER}/lib/Win64/sample.dll": "",
    f"{FOLDER}/lib/Linux/libsample.so": "",
}
DESCRIPTOR = {
    "FileVersion": 3,
    "Version": 1,
    "VersionName": "0.1.0",
    "FriendlyName": "Sample",
    "Description": "A sample.",
    "Category": "AI",
    "CreatedBy": "Sample",
    "Modules": [{"Name": "Sample", "Type": "Runtime", "LoadingPhase": "Default"}],
}


def check_controls() -> int:
    """Runs all controls. Returns their number; raises Failed at the first that finds nothing."""
    _accepts(PACKAGED)
    rejected = _archives()
    for wanted, files in rejected:
        _rejects(files, wanted)
    if wrong := form(DESCRIPTOR):
        raise Failed(f"control of the .uplugin schema: {wrong}")
    _rejects_unconditional()
    descriptors = _descriptors()
    for wanted, change in descriptors:
        document = copy.deepcopy(DESCRIPTOR)
        change(document)
        if not any(wanted in problem for problem in form(document)):
            raise Failed(f"control of the .uplugin schema: '{wanted}' was not found, but {form(document)}")
    return len(rejected) + len(descriptors) + 3


def _archives() -> list[tuple[str, dict[str, str]]]:
    """What must be found, and the files of a zip that has it wrong."""
    rules = f"{FOLDER}/SampleSDK.Build.cs"
    without = {name: text for name, text in PACKAGED.items() if not name.endswith("sample.dll")}
    unstaged = RULES.replace(
        'RuntimeDependencies.Add("$(BinaryOutputDir)/sample.dll", Library)', "PrivateDefinitions.Add(Library)"
    )
    return [
        ("sample.dll', which is not packaged", without),
        (
            "forgotten.dll is packaged, but no Build.cs names it",
            {**PACKAGED, f"{FOLDER}/lib/Win64/forgotten.dll": ""},
        ),
        ("delay-loaded 'sample.dll' is no RuntimeDependency", {**PACKAGED, rules: unstaged}),
        (
            "PublicDelayLoadDlls",
            {**PACKAGED, rules: RULES.replace("PublicDelayLoadDLLs", "PublicDelayLoadDlls")},
        ),
        ("$(NoSuchDir)", {**PACKAGED, rules: RULES.replace("$(PluginDir)", "$(NoSuchDir)")}),
    ]


def _descriptors() -> list[tuple[str, Callable[[dict[str, object]], object]]]:
    """What must be found, and the change that makes a .uplugin wrong."""

    def module(**changes: str) -> Callable[[dict[str, object]], object]:
        return lambda document: document["Modules"][0].update(changes)  # type: ignore[index]

    return [
        ("'Modules' is a required property", lambda document: document.pop("Modules")),
        ("3 was expected", lambda document: document.update(FileVersion=2)),
        ("'PostInit' is not one of", module(LoadingPhase="PostInit")),
        ("'Plugin' is not one of", module(Type="Plugin")),
        ("'WhitelistPlatforms' was unexpected", module(WhitelistPlatforms="Win64")),
        # An engine of another version would refuse the plugin, or ask.
        ("'EngineVersion' was unexpected", lambda document: document.update(EngineVersion="5.3.0")),
    ]


def _accepts(files: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_lists(_packed(Path(folder), files), ("Win64", "Linux"))


def _rejects(files: dict[str, str], wanted: str) -> None:
    try:
        _accepts(files)
    except Failed as error:
        if wanted in str(error):
            return
        raise Failed(f"control of Build.cs: expected '{wanted}', found: {error}") from error
    raise Failed(f"control of Build.cs: '{wanted}' was not found")


def _rejects_unconditional() -> None:
    """Without its libraries, the sample names an import library that does not exist."""
    with tempfile.TemporaryDirectory() as folder:
        plugin = Path(folder, "Sample")
        for name, text in PACKAGED.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        try:
            check_without_libraries(plugin, plugin / "Source" / "SampleSDK" / "include", ("Win64",))
        except Failed as error:
            if "sample.lib', which does not exist" in str(error):
                return
            raise Failed(f"control of Build.cs without libraries: {error}") from error
    raise Failed("control of Build.cs without libraries: nothing was found")


def _packed(folder: Path, files: dict[str, str]) -> Path:
    path = folder / "sample.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path
