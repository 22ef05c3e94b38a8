"""`sotto models convert`: writes a model of Hugging Face's layout as a GGUF file."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ..._lib import library_folder
from ..._values import invalid
from ...engine import Engine
from ...errors import ArgumentError, ModelLoadError, SottoError, Status
from .. import arguments as types
from .. import confined, progress, screen
from ..convert import check_packages, source, work
from ..text import size
from . import interrupted

_PACKAGES = ("filelock", "numpy", "safetensors", "sentencepiece", "torch", "tqdm", "transformers", "yaml")
_OUTTYPES = ("F32", "F16", "BF16")  # types that the converter writes itself
_CONVERTED, _QUANTIZED = "converted.gguf", "quantized.gguf"  # in the work folder
_FLOAT32 = 4  # bytes of a weight
_MIN_MEMORY = 4 << 30  # of the child process, in bytes: it loads PyTorch
_NO_LIMIT = float("inf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto models convert` to `parser`."""
    parser.epilog = (
        "Needs pip install 'sotto-runtime[convert]'. The converter is llama.cpp's. FILE is written whole or "
        "not at all. Code and pickles in DIR are never run, and nothing is downloaded."
    )
    parser.add_argument("folder", metavar="DIR", help="a Hugging Face model folder with safetensors")
    parser.add_argument(
        "--to", metavar="FILE", help="the new GGUF file (name of DIR and type, in the working directory)"
    )
    parser.add_argument(
        "--quantize",
        metavar="T",
        help="type of the weights: Q4_K_M, Q8_0, F32, ... (16 bits as in DIR, else F16)",
    )
    parser.add_argument(
        "--imatrix",
        metavar="F",
        help="a text to measure an importance matrix on, or a matrix of llama-imatrix",
    )
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="one per core by default")
    parser.add_argument(
        "--memory",
        type=types.count(1, types.MOST_MB),
        metavar="MB",
        help="memory limit of the converter, where the system is Linux (4096, and twice the weights)",
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Converts the model. Returns the exit status; 130 if Ctrl-C stopped it."""
    check_packages("sotto models convert", _PACKAGES)
    folder = Path(arguments.folder).absolute()
    source.check_folder(folder, "DIR")
    _check_names(folder)
    to = _target(folder, arguments)
    before = interrupted.version(to)
    try:
        note = _convert(folder, to, arguments)
    except KeyboardInterrupt:
        return interrupted.report(to, before)
    if note:
        screen.complain(note)
    bytes_ = to.stat().st_size
    if arguments.json:
        screen.say(screen.dump({"path": str(to), "bytes": bytes_, "source_bytes": _weights(folder)}))
    else:
        screen.say(f"{to} ({size(_weights(folder))} -> {size(bytes_)})")
    return 0


def convert(folder: Path, to: Path, quantize: str | None = None, imatrix: str | None = None) -> None:
    """Converts a model, as the command does with these arguments. `folder` and `to` are absolute.

    Raises:
        ArgumentError: An argument is invalid, or a package of the extra `convert` is missing.
        SottoError: The model is damaged, or cannot be converted or written.
    """
    check_packages("converting a model", _PACKAGES)
    source.check_folder(folder, "DIR")
    _check_names(folder)
    given = argparse.Namespace(quantize=quantize, imatrix=imatrix, threads=0, memory=None, force=False)
    _convert(folder, to, given)


def _convert(folder: Path, to: Path, arguments: argparse.Namespace) -> str:
    """Converts, tries the new file out, and gives it its name. Returns a note if it is too large to try."""
    with work.working(to, "--to", (_CONVERTED, _QUANTIZED)) as stage:
        made = _make(folder, to, stage, arguments)
        note = _check(made, to)
        _publish(made, to, force=arguments.force)
    return note


def _target(folder: Path, arguments: argparse.Namespace) -> Path:
    """Returns the file to write. Raises `ArgumentError` if it exists, or is a folder or a link."""
    suffix = f"-{arguments.quantize}" if arguments.quantize else ""
    to = Path(arguments.to or f"{folder.resolve().name}{suffix}.gguf").absolute()
    if to.is_symlink() or (to.exists() and not to.is_file()):
        raise ArgumentError(invalid("--to", str(to), "a new file; this is a folder, a link or a device"))
    if to.exists() and not arguments.force:
        raise ArgumentError(invalid("--to", str(to), "a new file; this one exists, and --force replaces it"))
    return to


def _check_names(folder: Path) -> None:
    """Raises `ArgumentError` unless the weights have the names that the converter reads."""
    if not list(folder.glob("model*.safetensors")):
        found = next(folder.glob("*.safetensors")).name
        expected = (
            f"a folder with model*.safetensors; this one has {found}, which save_pretrained() would rename"
        )
        raise ArgumentError(invalid("DIR", str(folder), expected))


def _make(folder: Path, to: Path, stage: Path, arguments: argparse.Namespace) -> Path:
    """Converts, and quantizes if another type is wanted than the converter writes. Returns the file."""
    wanted = (arguments.quantize or "").upper()
    further = bool(wanted) and wanted not in _OUTTYPES
    if arguments.imatrix is not None and not further:
        expected = "none without --quantize and a type below 16 bits, such as --quantize Q4_K_M"
        raise ArgumentError(invalid("--imatrix", arguments.imatrix, expected))
    weights = _weights(folder)
    work.check_room(to.parent, "--to", weights * (2 if further else 1))
    with progress.fractions(folder.name) as told, Engine("cpu") as engine:
        if further:
            _check_quantize(engine, folder, stage, arguments)
        converted = stage / _CONVERTED
        request = {"converter": str(_converter()), "folder": str(folder), "to": str(converted)}
        request["outtype"] = wanted.lower() if wanted in _OUTTYPES else "source" if further else "auto"
        memory = _MIN_MEMORY + 2 * weights if arguments.memory is None else arguments.memory << 20
        _call(
            "convert", request, confined.Limits(_NO_LIMIT, memory), folder, lambda done: told("convert", done)
        )
        if not further:
            return converted
        made = stage / _QUANTIZED
        engine.quantize(
            converted,
            made,
            type=wanted,
            imatrix=arguments.imatrix,
            threads=arguments.threads,
            progress=lambda done: told("quantize", done),
        )
        converted.unlink()
    return made


def _check_quantize(engine: Engine, folder: Path, stage: Path, arguments: argparse.Namespace) -> None:
    """Raises what the engine raises for the type and the matrix, before a conversion that takes long."""
    try:
        engine.quantize(
            folder / "config.json",
            stage / _QUANTIZED,
            type=arguments.quantize,
            imatrix=arguments.imatrix,
            threads=arguments.threads,
        )
    except ArgumentError as error:
        raise ArgumentError(str(error).replace("invalid type", "invalid --quantize", 1)) from None
    except SottoError as error:
        if error.status != Status.MODEL:  # config.json is no model, which the engine checks after the others
            raise


def _call(
    name: str, request: dict[str, str], limits: confined.Limits, folder: Path, told: confined.Report
) -> None:
    outcome = confined.call(name, request, limits, told)
    if outcome.verdict == confined.SOUND:
        return
    kind, status, text = outcome.error
    if kind == "ArgumentError":
        raise ArgumentError(text, status)
    if text:
        raise SottoError(text, status)
    raise SottoError(f"'{folder}' cannot be converted: the converter ended: {outcome.why}", Status.INTERNAL)


def _check(made: Path, to: Path) -> str:
    """Loads the new file in a child process. Returns a note if it is too large; raises if it is unusable."""
    outcome = confined.call("check", {"path": str(made)}, confined.Limits.of(made))
    if outcome.verdict in (confined.TIMEOUT, confined.MEMORY):
        return f"{to}: not tried out: {outcome.why.partition(';')[0]}; sotto models check tries it out"
    if outcome.verdict != confined.SOUND:
        raise ModelLoadError(
            f"the converted model cannot be used: {outcome.why}; is config.json that of the weights?",
            Status.MODEL,
        )
    return ""


def _publish(made: Path, to: Path, *, force: bool) -> None:
    made.chmod(0o600)
    with made.open("rb") as opened:
        os.fsync(opened.fileno())
    if to.exists() and not force:
        raise SottoError(f"'{to}' exists now; --force replaces it", Status.STATE)
    os.replace(made, to)


def _weights(folder: Path) -> int:
    """Returns the bytes of the safetensors."""
    return sum(file.stat().st_size for file in folder.glob("model*.safetensors"))


def _converter() -> Path:
    """Returns the folder of llama.cpp's converter, which the build installs beside the library."""
    found = library_folder() / "llama_cpp"
    if not (found / "convert_hf_to_gguf.py").is_file():
        raise SottoError(
            f"'{found}' has no converter: install the wheel, or build this checkout", Status.NOT_FOUND
        )
    return found
