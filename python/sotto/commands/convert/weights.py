"""Converts a model with CTranslate2's own converter, and writes what its backend needs beside the weights."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import transformers
from ctranslate2.converters import TransformersConverter
from ctranslate2.converters.transformers import _MODEL_LOADERS
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

from ...backends.ctranslate2.sentence import POOLING_FOLDER
from ...errors import ModelLoadError, SottoError, Status
from . import verify
from .gguf import as_folder
from .source import cannot_convert, damaged, is_gguf, read_json
from .target import COPIED

Report = Callable[[float], None]  # fraction from 0 to 1
_PADDED = ("roberta", "xlm-roberta", "camembert")  # their first positions are for padding
_UNUSED = ("pooler", "classifier")  # parts that no operation needs


class _Converter(TransformersConverter):  # type: ignore[misc]
    """CTranslate2's converter; keeps the tokenizer and the configuration, and refuses missing weights."""

    def __init__(self, folder: Path, report: Report) -> None:
        super().__init__(str(folder))
        self._report = report
        self.tokenizer: Any = None
        self.model: Any = None
        self.sample: list[int] = []  # tokens that both models read
        self.expected: Any = None  # values that the converted model is to compute

    def load_model(self, model_class: Any, path: str, **options: Any) -> Any:
        self._report(0.3)
        self.model, loaded = model_class.from_pretrained(
            path,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
            **options,
        )
        self._report(0.5)
        missing = sorted(key for key in loaded["missing_keys"] if not set(key.split(".")) & set(_UNUSED))
        if missing:
            raise ValueError(f"the weights lack {missing[0]} and {len(missing) - 1} others")
        vocabulary = self.model.config.get_text_config().vocab_size
        self.sample = verify.sample(vocabulary, _positions(self.model))
        self.expected = verify.expected(self.model, self.sample)
        _restore_attributes(self.model.config.get_text_config())
        return self.model

    def _load(self) -> Any:
        spec = super()._load()
        limit = getattr(self.model.config.get_text_config(), "final_logit_softcapping", None)
        if limit:  # of Gemma 2: CTranslate2 computes it, but its loader leaves it out
            spec.decoder.final_logit_softcapping = np.float32(limit)
        return spec

    def load_tokenizer(self, tokenizer_class: Any, path: str, **options: Any) -> Any:
        self.tokenizer = tokenizer_class.from_pretrained(
            path, local_files_only=True, trust_remote_code=False, **options
        )
        if languages := getattr(self.tokenizer, "lang_token_to_id", None):  # of M2M100
            vocabulary = self.tokenizer.get_vocab()  # transformers 5 leaves the languages out
            self.tokenizer.get_vocab = lambda: {**vocabulary, **languages}
        return self.tokenizer


def convert(source: Path, out: Path, quantization: str | None, report: Report) -> None:
    """Writes the converted model into `out`, an empty folder.

    Args:
        source: Hugging Face folder or GGUF file, checked.
        out: Where to write. Siblings "source" and "gguf" may be written too.
        quantization: Type of the weights; None: as the source has them.
        report: Called with the fraction done.

    Raises:
        ModelLoadError: The model is damaged, or CTranslate2 has no such architecture.
        OSError: The disk is full.
    """
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _convert(source, out, quantization, report)
    except (OSError, MemoryError, SottoError):
        raise
    except Exception as error:
        raise _cannot(source, error) from error


def _convert(source: Path, out: Path, quantization: str | None, report: Report) -> None:
    report(0.0)
    folder = source
    if is_gguf(source):
        folder = out.with_name("source")
        as_folder(source, folder)
        report(0.2)
    _check_architecture(folder)
    _check_rope(folder)
    converter = _Converter(folder, report)
    converter.convert(str(out), quantization=quantization, force=True)
    report(0.8)
    _complete(folder, out, converter)
    report(0.9)
    _verify(out, converter, quantization)
    report(1.0)


def _cannot(source: Path, error: Exception) -> SottoError | OSError:
    system = re.search(r"\(os error (\d+)\)", str(error))  # as libraries in Rust write it
    if system is not None:
        number = int(system[1])
        return OSError(number, os.strerror(number))
    doubt = "it is damaged, or of an architecture that CTranslate2 or transformers does not convert"
    return cannot_convert(source, error, doubt)


def _check_architecture(source: Path) -> None:
    kind = read_json(source / "config.json").get("model_type")
    if CONFIG_MAPPING_NAMES.get(kind) not in _MODEL_LOADERS:
        known = sorted(name for name, config in CONFIG_MAPPING_NAMES.items() if config in _MODEL_LOADERS)
        raise ModelLoadError(
            f"unsupported architecture '{kind}': expected one of {', '.join(known)}", Status.UNSUPPORTED
        )


def _check_rope(source: Path) -> None:
    """Raises `ModelLoadError` for the rope scaling of Llama 3.1, which CTranslate2 computes wrong."""
    config = read_json(source / "config.json")
    for rope in (config.get("rope_parameters"), config.get("rope_scaling")):
        if isinstance(rope, dict) and rope.get("rope_type", rope.get("type")) == "llama3":
            raise ModelLoadError(
                f"'{source}' cannot be converted: CTranslate2 computes other values with the rope scaling "
                "'llama3'; use a GGUF file of the model with the llama backend",
                Status.UNSUPPORTED,
            )


def _restore_attributes(config: Any) -> None:
    """Sets what CTranslate2 reads of a configuration, and transformers 5 has no longer or elsewhere."""
    if not hasattr(config, "position_embedding_type"):
        config.position_embedding_type = "absolute"  # the only type that is left
    theta = (getattr(config, "rope_parameters", None) or {}).get("rope_theta")
    if theta is not None:
        config.rope_theta = theta


def _verify(out: Path, converter: _Converter, quantization: str | None) -> None:
    model, converter.model = converter.model, None
    most = verify.max_error(quantization, str(model.dtype).removeprefix("torch."))
    decoder = model.can_generate()
    del model  # the weights are read once more
    gc.collect()
    if converter.expected is not None:
        verify.check(out, converter.expected, converter.sample, decoder=decoder, most=most)


def _complete(source: Path, out: Path, converter: _Converter) -> None:
    pooling = [f"{file.name}/config.json" for file in source.iterdir() if POOLING_FOLDER.fullmatch(file.name)]
    for name in (*COPIED, *pooling):
        if (source / name).is_file():
            (out / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(source / name, out / name)
    _write_tokenizer(source, out, converter.tokenizer)
    if converter.model.can_generate() and not (out / "generation_config.json").exists():
        converter.model.generation_config.save_pretrained(out)
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    positions = _positions(converter.model)
    if positions is not None:
        config["max_position_embeddings"] = positions
    _write_json(out / "config.json", config)


def _write_tokenizer(source: Path, out: Path, tokenizer: Any) -> None:
    if not (out / "tokenizer.json").exists() and tokenizer.is_fast:
        tokenizer.backend_tokenizer.save(str(out / "tokenizer.json"))
    file = out / "tokenizer_config.json"
    config = read_json(file) if file.exists() else {}
    if not isinstance(config, dict):
        raise damaged(source / file.name, "it is no JSON object")
    template = tokenizer.chat_template
    if template and "chat_template" not in config:
        if isinstance(template, dict):
            template = [{"name": name, "template": text} for name, text in template.items()]
        config["chat_template"] = template
    for name, token in tokenizer.special_tokens_map.items():
        if isinstance(token, str):
            config.setdefault(name, token)
    _write_json(file, config)


def _positions(model: Any) -> int | None:
    """Returns the most tokens of one input that are computed right; None: there is no such limit.

    That is the number of positions or, if it is less, the sliding window: beyond the window, CTranslate2
    computes other values than transformers.
    """
    config = model.config.get_text_config()
    positions: int | None = getattr(config, "max_position_embeddings", None)
    if positions is not None and config.model_type in _PADDED:
        positions -= int(config.pad_token_id) + 1
    known = [size for size in (positions, getattr(config, "sliding_window", None)) if size is not None]
    return min(known, default=None)


def _write_json(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
