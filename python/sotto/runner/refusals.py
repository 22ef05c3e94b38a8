"""What the reference interface has and llama.cpp has not: the one table, with the nearest feature of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from .errors import RunnerError


class Refusal(NamedTuple):
    """A feature that is refused. `sentence` says why, and names the nearest feature that there is."""

    name: str
    sentence: str


_ADAPTERS = (
    "llama.cpp does not mix adapters by token; load them with Which.GGUF(adapters=[...]), and name one in "
    "ChatCompletionRequest.adapter"
)
_GGML = (
    "llama.cpp reads GGUF files alone; convert the file with its convert_llama_ggml_to_gguf.py, and use "
    "Which.GGUF"
)
_K_QUANTS = "llama.cpp has k-quants instead; use 'Q4K', or 'Q8_0' for 8 bits"
_UQFF = (
    "llama.cpp has files of its own for quantized weights; quantize with in_situ_quant, or load Which.GGUF"
)
_MATFORMER = "llama.cpp does not slice models; use the smaller model that is published beside the sliced one"
_TOKENIZER = (
    "the tokenizer is part of the GGUF file; convert the model with the tokenizer in its folder, with "
    "Which.Plain"
)
REFUSALS = {
    one.name: one
    for one in (
        Refusal("anymoe_config", _ADAPTERS),
        Refusal("AnyMoeConfig", _ADAPTERS),
        Refusal("AnyMoeExpertType", _ADAPTERS),
        Refusal("Which.XLora", _ADAPTERS),
        Refusal("Which.XLoraGGUF", _ADAPTERS),
        Refusal("Which.XLoraGGML", _ADAPTERS),
        Refusal("Which.LoraGGML", _GGML),
        Refusal("Which.GGML", _GGML),
        Refusal(
            "Which.MultimodalPlain",
            "the converter writes the text model alone; use Which.GGUF with mmproj_filename for a model that "
            "sees or hears",
        ),
        Refusal(
            "Which.DiffusionPlain",
            "llama.cpp does not draw; run the image model beside Sotto, and let a function of tool_callbacks "
            "call it",
        ),
        Refusal(
            "Which.Speech",
            "llama.cpp's library does not speak; run the speech model beside Sotto, and pass it the text of "
            "the answer",
        ),
        Refusal(
            "generate_image",
            "models of this runner answer with text; run the image model beside Sotto, and let a tool of "
            "tool_callbacks call it",
        ),
        Refusal(
            "generate_audio",
            "models of this runner answer with text; run the speech model beside Sotto, and pass it the text "
            "of the answer",
        ),
        Refusal("pa_blk_size", "the KV cache is one arena without blocks; set its tokens with pa_ctxt_len"),
        Refusal(
            "paged_attn",
            "the KV cache is one arena without pages; set its size with pa_ctxt_len or pa_gpu_mem",
        ),
        Refusal(
            "pa_cache_type=F8E4M3",
            'llama.cpp has no such type of KV cache; use options={"kv_type": "q8_0"}, which takes about half',
        ),
        Refusal(
            "num_device_layers on several devices",
            'a model runs on one device; use ["0:NUM"], and the processor computes the other layers',
        ),
        *(
            Refusal(f"in_situ_quant='{name}'", _K_QUANTS)
            for name in ("HQQ4", "HQQ8", "AFQ2", "AFQ3", "AFQ4", "AFQ6", "AFQ8", "FP8", "F8E4M3", "F8Q8")
        ),
        *(Refusal(f"in_situ_quant='{name}'", _K_QUANTS) for name in ("MXFP4", "Q8_1", "Q8K")),
        Refusal("write_uqff", _UQFF),
        Refusal("from_uqff", _UQFF),
        Refusal(
            "topology",
            "llama.cpp quantizes a model with one type; use in_situ_quant, and imatrix for the weights that "
            "need more bits",
        ),
        Refusal("organization=MoQE", "llama.cpp quantizes all weights; use IsqOrganization.Default"),
        Refusal("matformer_config_path", _MATFORMER),
        Refusal("matformer_slice_name", _MATFORMER),
        Refusal("hf_cache_path", "the cache of Hugging Face is that of the process; set HF_HUB_CACHE"),
        Refusal("tokenizer_json", _TOKENIZER.replace("GGUF file", "model's folder, or of its GGUF file")),
        Refusal("tok_model_id", _TOKENIZER),
        Refusal("dtype of a GGUF file", "a GGUF file has its types; use ModelDType.Auto, or in_situ_quant"),
        Refusal(
            "grammar_type='llguidance'",
            "llama.cpp's grammars are regular expressions, Lark and JSON schemas; use grammar_type 'lark'",
        ),
        Refusal(
            "enable_search without search_callback",
            "Sotto has no search engine of its own; pass a function as search_callback, or "
            "sotto.agent.WebSource(url), which asks a SearXNG server",
        ),
        Refusal(
            "extract_description",
            "no tool reads pages by their addresses; pass sotto.agent.WebSource(url, pages=3) as "
            "search_callback, which fetches the pages that a search finds",
        ),
        Refusal(
            "McpServerConfigPy.resources",
            "a runner calls the tools of a server, and reads no resources; let a tool return them",
        ),
        Refusal(
            "working_directory",
            "each session has a work folder of its own; take the files that code wrote from "
            "ChatCompletionResponse.files, and let it read others with SandboxPolicy.extra_fs_read",
        ),
        Refusal(
            "NetworkMode.Full",
            "code of a model has no network; let it write what to fetch, and fetch it with a function of "
            "tool_callbacks",
        ),
        Refusal(
            "extra_fs_write",
            "code writes to the work folder of its session alone; take its files from "
            "ChatCompletionResponse.files",
        ),
        Refusal(
            "extra_env",
            "code gets no environment variables, which often hold secrets; put values into a file, and let "
            "code read it with SandboxPolicy.extra_fs_read",
        ),
    )
}


def refuse(name: str) -> NoReturn:
    """Raises the `RunnerError` of a refused feature."""
    raise RunnerError(f"{name} is not supported: {REFUSALS[name].sentence}")


class Refused:
    """Base class of classes that the table refuses: creating one raises `RunnerError`."""

    refusal = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refuse(self.refusal)


def _refused(name: str) -> type[Refused]:
    return type(name.rpartition(".")[2], (Refused,), {"refusal": name, "__doc__": "Refused; see the table."})


AnyMoeConfig = _refused("AnyMoeConfig")
AnyMoeExpertType = _refused("AnyMoeExpertType")
AnyMoeExpertType.FineTuned = AnyMoeExpertType.LoraAdapter = AnyMoeExpertType  # type: ignore[attr-defined]
WHICH = {name: _refused(name) for name in REFUSALS if name.startswith("Which.")}


def table() -> Iterator[str]:
    """Yields the lines of the table in the documentation."""
    yield "| refused | why, and the nearest feature |"
    yield "|---|---|"
    for one in REFUSALS.values():
        yield f"| `{one.name}` | {one.sentence} |"
