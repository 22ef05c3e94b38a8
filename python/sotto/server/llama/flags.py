"""The flags of llama-server that mean something here, and what becomes of the others."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import ArgumentError

Read = Callable[[str], Any]


def whole(text: str) -> int:
    """Parses an integer."""
    return int(text)


def number(text: str) -> float:
    """Parses a finite number."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


def _words(text: str) -> list[str]:
    return text.split()


def switch(text: str) -> bool:
    """Parses `on`, `off` and their other names."""
    words = {"on": True, "true": True, "1": True, "enabled": True, "yes": True}
    words.update({"off": False, "false": False, "0": False, "disabled": False, "no": False})
    return words[text.lower()]


class Flag(NamedTuple):
    """A flag with a value.

    Attributes:
        to: Name of the setting.
        names: The flag and its other names.
        read: Parses the value; raises ValueError or KeyError.
        many: Whether the flag may be repeated; its values become a list.
    """

    to: str
    names: str
    read: Read = str
    many: bool = False


VALUES = (
    Flag("model", "-m --model"),
    Flag("hf_repo", "-hf -hfr --hf-repo"),
    Flag("hf_file", "-hff --hf-file"),
    Flag("alias", "-a --alias"),
    Flag("tags", "--tags"),
    Flag("context", "-c --ctx-size", whole),
    Flag("n_predict", "-n --predict --n-predict", whole),
    Flag("batch", "-b --batch-size", whole),
    Flag("ubatch", "-ub --ubatch-size", whole),
    Flag("parallel", "-np --parallel", whole),
    Flag("threads", "-t --threads", whole),
    Flag("threads_batch", "-tb --threads-batch", whole),
    Flag("gpu_layers", "-ngl --gpu-layers --n-gpu-layers"),
    Flag("device", "-dev --device"),
    Flag("flash_attention", "-fa --flash-attn"),
    Flag("kv_k", "-ctk --cache-type-k"),
    Flag("kv_v", "-ctv --cache-type-v"),
    Flag("load_mode", "-lm --load-mode"),
    Flag("rope_freq_base", "--rope-freq-base", number),
    Flag("rope_freq_scale", "--rope-freq-scale", number),
    Flag("rope_scale", "--rope-scale", number),
    Flag("draft", "-md --model-draft --spec-draft-model"),
    Flag("draft_max", "--spec-draft-n-max --draft --draft-n --draft-max", whole),
    Flag("spec_type", "--spec-type"),
    Flag("projector", "-mm --mmproj"),
    Flag("image_tokens", "--image-max-tokens", whole),
    Flag("pooling", "--pooling"),
    Flag("lora", "--lora", many=True),
    Flag("lora_scaled", "--lora-scaled", many=True),
    Flag("chat_template", "--chat-template"),
    Flag("chat_template_file", "--chat-template-file"),
    Flag("chat_template_kwargs", "--chat-template-kwargs"),
    Flag("reasoning", "-rea --reasoning"),
    Flag("reasoning_format", "--reasoning-format"),
    Flag("reasoning_effort", "--reasoning-effort"),
    Flag("reasoning_budget", "--reasoning-budget", whole),
    Flag("reasoning_budget_message", "--reasoning-budget-message"),
    Flag("host", "--host"),
    Flag("port", "--port", whole),
    Flag("keys", "--api-key", many=True),
    Flag("key_file", "--api-key-file"),
    Flag("tls_key", "--ssl-key-file"),
    Flag("tls_cert", "--ssl-cert-file"),
    Flag("timeout", "-to --timeout", number),
    Flag("ping", "--sse-ping-interval", number),
    Flag("tools", "--tools"),
    Flag("cors_origins", "--cors-origins"),
    Flag("cors_methods", "--cors-methods"),
    Flag("cors_headers", "--cors-headers"),
    Flag("slot_dir", "--slot-save-path"),
    Flag("media_dir", "--media-path"),
    Flag("sleep_idle", "--sleep-idle-seconds", whole),
    Flag("keep", "--keep", whole),
    Flag("embd_normalize", "--embd-normalize", whole),
    Flag("stop", "-r --reverse-prompt", many=True),
    Flag("grammar", "--grammar"),
    Flag("grammar_file", "--grammar-file"),
    Flag("json_schema", "-j --json-schema"),
    Flag("json_schema_file", "-jf --json-schema-file"),
    Flag("samplers", "--samplers"),
    Flag("sampler_letters", "--sampler-seq --sampling-seq"),
    Flag("logit_bias", "-l --logit-bias", many=True),
    Flag("seed", "-s --seed", whole),
    Flag("temperature", "--temp --temperature", number),
    Flag("top_k", "--top-k", whole),
    Flag("top_p", "--top-p", number),
    Flag("min_p", "--min-p", number),
    Flag("top_n_sigma", "--top-nsigma --top-n-sigma", number),
    Flag("xtc_probability", "--xtc-probability", number),
    Flag("xtc_threshold", "--xtc-threshold", number),
    Flag("typical_p", "--typical --typical-p", number),
    Flag("repeat_last_n", "--repeat-last-n", whole),
    Flag("repeat_penalty", "--repeat-penalty", number),
    Flag("presence_penalty", "--presence-penalty", number),
    Flag("frequency_penalty", "--frequency-penalty", number),
    Flag("dry_multiplier", "--dry-multiplier", number),
    Flag("dry_base", "--dry-base", number),
    Flag("dry_allowed_length", "--dry-allowed-length", whole),
    Flag("dry_penalty_last_n", "--dry-penalty-last-n", whole),
    Flag("dry_sequence_breakers", "--dry-sequence-breaker", many=True),
    Flag("dynatemp_range", "--dynatemp-range", number),
    Flag("dynatemp_exponent", "--dynatemp-exp", number),
    Flag("mirostat", "--mirostat", whole),
    Flag("mirostat_eta", "--mirostat-lr", number),
    Flag("mirostat_tau", "--mirostat-ent", number),
)

SWITCHES: Mapping[str, tuple[str, bool]] = {
    "--embedding": ("embeddings", True),
    "--embeddings": ("embeddings", True),
    "--rerank": ("reranking", True),
    "--reranking": ("reranking", True),
    "--metrics": ("metrics", True),
    "--props": ("props", True),
    "--slots": ("slots", True),
    "--no-slots": ("slots", False),
    "--ui": ("page", True),
    "--webui": ("page", True),
    "--no-ui": ("page", False),
    "--no-webui": ("page", False),
    "--context-shift": ("context_shift", True),
    "--no-context-shift": ("context_shift", False),
    "--kv-unified": ("kv_unified", True),
    "-kvu": ("kv_unified", True),
    "--no-kv-unified": ("kv_unified", False),
    "-no-kvu": ("kv_unified", False),
    "--ignore-eos": ("ignore_eos", True),
    "--lora-init-without-apply": ("lora_off", True),
    "--cache-prompt": ("cache_prompt", True),
    "--no-cache-prompt": ("cache_prompt", False),
    "--mmap": ("mmap", True),
    "--no-mmap": ("mmap", False),
    "--mlock": ("mlock", True),
    "--check-tensors": ("check_tensors", True),
    "-kvo": ("offload_kqv", True),
    "--kv-offload": ("offload_kqv", True),
    "-nkvo": ("offload_kqv", False),
    "--no-kv-offload": ("offload_kqv", False),
    "--no-mmproj": ("no_projector", True),
    "--no-mmproj-auto": ("no_projector", True),
    "-v": ("verbose", True),
    "--verbose": ("verbose", True),
    "--log-verbose": ("verbose", True),
    "--log-jsonl": ("log_json", True),
    "--no-log-jsonl": ("log_json", False),
    "--cors-credentials": ("cors_credentials", True),
    "--no-cors-credentials": ("cors_credentials", False),
    "--ui-mcp-proxy": ("web_proxy", True),
    "--webui-mcp-proxy": ("web_proxy", True),
    "--no-ui-mcp-proxy": ("web_proxy", False),
    "--no-webui-mcp-proxy": ("web_proxy", False),
    "--offline": ("offline", True),
    "--jinja": ("jinja", True),
    "--no-jinja": ("jinja", False),
}

# Flags without an effect on answers: of tuning that the engine does itself, or that is always on.
IGNORED: Mapping[str, int] = {
    **dict.fromkeys(
        _words(
            "-C --cpu-mask -Cr --cpu-range --cpu-strict --prio "
            "--poll -Cb --cpu-mask-batch -Crb --cpu-range-batch --cpu-strict-batch --prio-batch "
            "--poll-batch -dt --defrag-thold --numa -sm --split-mode -ts --tensor-split -mg --main-gpu "
            "-fit --fit -fitt --fit-target -fitc --fit-ctx -lzm --lazy-mode --log-colors -lv --verbosity "
            "--log-verbosity --kv-unified-per-slot -ctxcp --ctx-checkpoints --swa-checkpoints -cms "
            "--checkpoint-min-step -cram --cache-ram -mmdev --mmproj-device --image-min-tokens "
            "--mtmd-batch-max-tokens --threads-http --cache-reuse -sps --slot-prompt-similarity -td "
            "--threads-draft --spec-draft-threads -tbd --threads-batch-draft "
            "--spec-draft-n-min --draft-min --draft-n-min "
            "--spec-draft-p-min --draft-p-min --spec-draft-p-split --draft-p-split -ngld "
            "--gpu-layers-draft --n-gpu-layers-draft --spec-draft-ngl -devd --device-draft "
            "--spec-draft-device -ctkd --cache-type-k-draft --spec-draft-type-k -ctvd "
            "--cache-type-v-draft --spec-draft-type-v --ui-config --webui-config --ui-config-file "
            "--webui-config-file --adaptive-decay "
        ),
        1,
    ),
    **dict.fromkeys(
        _words(
            "-cb --cont-batching -nocb --no-cont-batching --swa-full --perf --no-perf -e --escape "
            "--no-escape --repack -nr --no-repack --no-host --op-offload "
            "--no-op-offload --log-disable --log-prefix --no-log-prefix --log-timestamps "
            "--no-log-timestamps -bs --backend-sampling --backend_sampling --cache-idle-slots "
            "--no-cache-idle-slots --warmup --no-warmup --mmproj-auto --mmproj-offload "
            "--no-mmproj-offload --reuse-port --prefill-assistant --spec-draft-backend-sampling "
            "--no-spec-draft-backend-sampling -no-ag --no-agent "
            "--no-models-autoload --models-autoload "
        ),
        0,
    ),
}

REFUSED: Mapping[str, str] = {
    "-mu": "download the file and give it with --model",
    "--model-url": "download the file and give it with --model",
    "-dr": "download the file and give it with --model",
    "--docker-repo": "download the file and give it with --model",
    "-mmu": "download the file and give it with --mmproj",
    "--mmproj-url": "download the file and give it with --mmproj",
    "-hft": "log in with the hub's own command",
    "--hf-token": "log in with the hub's own command",
    "--control-vector": "use --lora",
    "--control-vector-scaled": "use --lora-scaled",
    "--rope-scaling": "use --rope-freq-base and --rope-freq-scale",
    "--yarn-orig-ctx": "use --rope-freq-base and --rope-freq-scale",
    "--yarn-ext-factor": "use --rope-freq-base and --rope-freq-scale",
    "--yarn-attn-factor": "use --rope-freq-base and --rope-freq-scale",
    "--yarn-beta-slow": "use --rope-freq-base and --rope-freq-scale",
    "--yarn-beta-fast": "use --rope-freq-base and --rope-freq-scale",
    "--rpc": "run sotto serve on that machine",
    "--path": "serve the files by a web server",
    "--api-prefix": "mount sotto.server.app() in an application of your own",
    "--log-file": "redirect stderr",
    "--log-prompts-dir": "this server never stores what was said",
    "--models-dir": "name the models: sotto serve NAME=FILE NAME=FILE",
    "--models-preset": "name the models: sotto serve NAME=FILE NAME=FILE",
    "--models-max": "limit memory: sotto serve --budget MB",
    "--tools-runtime": "call tools in the client",
    "--mcp-servers-config": "call tools in the client",
    "--mcp-servers-json": "call tools in the client",
    "-ag": "call tools in the client",
    "--agent": "call tools in the client",
    "--adaptive-target": "use --temp, --top-p or --mirostat",
    "--grp-attn-n": "use --context-shift",
    "--grp-attn-w": "use --context-shift",
    "--override-kv": "change the file with gguf's tools",
    "--override-tensor": "use -ngl",
    "-ot": "use -ngl",
    "--cpu-moe": "use -ngl",
    "-cmoe": "use -ngl",
    "--n-cpu-moe": "use -ngl",
    "-ncmoe": "use -ngl",
    "--spec-synth-len": "measure with a draft model",
    "--spec-synth-rates": "measure with a draft model",
    "-sp": "send return_tokens to see special tokens",
    "--special": "send return_tokens to see special tokens",
    "--spm-infill": "the engine orders infill prompts as the model expects",
    "--skip-chat-parsing": "send reasoning_format none, and no tools",
}  # a flag, and the way out
_GONE = "llama-server's flag '{}' has no counterpart here: {}"
_VALUE_OF = {name: flag for flag in VALUES for name in flag.names.split()}
_ENV = "LLAMA_ARG_"


def parse(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Returns the settings of llama-server's arguments. A flag takes precedence over the environment.

    Raises:
        ArgumentError: A flag is unknown, lacks its value, or has no counterpart here.
    """
    made = _from_environment(os.environ if environment is None else environment)
    given: dict[str, Any] = {}
    left = list(arguments)
    while left:
        name, equals, inline = left.pop(0).partition("=")
        if equals and name.startswith("--"):
            left.insert(0, inline)
        elif equals:
            name += equals + inline
        _take(name, left, given)
    made.update(given)
    return made


def _take(name: str, left: list[str], made: dict[str, Any]) -> None:
    """Reads one flag, and its value from `left`."""
    name = name if not name.startswith("--") else "--" + name[2:].replace("_", "-")
    if name in SWITCHES:
        to, value = SWITCHES[name]
        made[to] = value
    elif (flag := _VALUE_OF.get(name)) is not None:
        if not left:
            raise ArgumentError(f"missing value of '{name}'")
        _keep(flag, name, left.pop(0), made)
    elif name in IGNORED:
        if len(left) < IGNORED[name]:
            raise ArgumentError(f"missing value of '{name}'")
        del left[: IGNORED[name]]
    elif name in REFUSED:
        raise ArgumentError(_GONE.format(name, REFUSED[name]))
    else:
        raise ArgumentError(_unknown(name))


def _keep(flag: Flag, name: str, text: str, made: dict[str, Any]) -> None:
    try:
        value = flag.read(text)
    except (ValueError, KeyError):
        readers: dict[Read, str] = {whole: "an integer", number: "a number"}
        expected = readers.get(flag.read, "another value")
        raise ArgumentError(f"invalid {name} '{text}': expected {expected}") from None
    if flag.many:
        made.setdefault(flag.to, []).append(value)
    else:
        made[flag.to] = value


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Returns the settings of the variables LLAMA_ARG_..., named as the longest name of a flag is."""
    made: dict[str, Any] = {}
    for flag in VALUES:
        for variable in _variables(flag.names.split()):
            if text := environment.get(variable):
                _keep(flag, variable, text, made)
    for name, (to, value) in SWITCHES.items():
        text = environment.get(_ENV + name.lstrip("-").replace("-", "_").upper(), "")
        if text and name.startswith("--"):
            try:
                made[to] = value if switch(text) else not value
            except KeyError:
                raise ArgumentError(f"invalid {_ENV}... '{text}': expected on or off") from None
    if (key := environment.get("LLAMA_API_KEY")) and "keys" not in made:
        made["keys"] = [key]
    return made


_OTHER = {
    "-ngl": "N_GPU_LAYERS",
    "-np": "N_PARALLEL",
    "-hff": "HF_FILE",
    "-b": "BATCH",
    "-ub": "UBATCH",
}  # irregular names


def _variables(names: Sequence[str]) -> list[str]:
    made = [_ENV + name.lstrip("-").replace("-", "_").upper() for name in names if name.startswith("--")]
    return made + [_ENV + _OTHER[name] for name in names if name in _OTHER]


def _unknown(name: str) -> str:
    import difflib

    if not name.startswith("-"):
        return f"unexpected argument '{name}': llama-server takes flags only"
    known = [*_VALUE_OF, *SWITCHES, *IGNORED, *REFUSED]
    near = difflib.get_close_matches(name, known, 1)
    return f"unknown flag '{name}'" + (f"; did you mean '{near[0]}'?" if near else "")
