"""all-MiniLM-L6-v2 beside sentence-transformers, onnxruntime and llama.cpp: sentences a second, vectors.

The peers need packages of their own, so each runs in a process of the Python that is named. A sentence has 32
tokens. Time is wall time, or, with `--cpu`, the processor time of one thread: on a machine that others use,
only that can be compared. Runs take turns, and the median of a turn's ratios counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TOKENS, COUNT, BATCH = 32, 200, 64
PEERS = ("sentence-transformers", "onnxruntime", "llama.cpp")
Embed = Callable[[list[str]], Any]


def sentences(folder: Path) -> list[str]:
    """Texts of 32 tokens or a little less, from the corpus of the house model."""
    from tokenizers import Tokenizer

    cut = Tokenizer.from_file(str(folder / "tokenizer.json"))
    cut.no_truncation()
    cut.no_padding()
    files = sorted((ROOT / "samples/house_model/corpus/lines").glob("*.yaml"))
    words = " ".join(line.strip(" -'\"") for file in files for line in file.read_text().splitlines()).split()
    made: list[str] = []
    text = ""
    for word in words:
        if len(cut.encode(f"{text} {word}").ids) > TOKENS:
            made.append(text)
            text = ""
            if len(made) == COUNT:
                return made
        text = f"{text} {word}".strip()
    return made


def timed(embed: Embed, texts: list[str], batch: int, rounds: int, clock: Callable[[], float]) -> float:
    """Median seconds of a batch."""
    took = []
    for at in range(rounds):
        begin = at * batch % (COUNT - batch)
        started = clock()
        embed(texts[begin : begin + batch])
        took.append(clock() - started)
    return statistics.median(took[1:])


def ours(file: Path, threads: int) -> Embed:
    """The engine, with its typed call."""
    import sotto

    engine = sotto.Engine("cpu", mode="prioritize_compute", threads=threads)
    engine.load_model("mind", path=file)
    return lambda texts: engine.embeddings(texts, model="mind").vectors


def sentence_transformers(folder: Path, threads: int) -> Embed:
    """The library that the model comes from, on torch."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    model = SentenceTransformer(str(folder), device="cpu")
    return lambda texts: model.encode(texts, normalize_embeddings=True, batch_size=BATCH)


def onnxruntime(folder: Path, threads: int) -> Embed:
    """The model as ONNX in float32, written by torch."""
    import numpy as np
    import onnxruntime as onnx
    from tokenizers import Tokenizer

    options = onnx.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnx.InferenceSession(exported(folder), options, providers=["CPUExecutionProvider"])
    cut = Tokenizer.from_file(str(folder / "tokenizer.json"))
    cut.enable_truncation(256)
    cut.enable_padding()

    def embed(texts: list[str]) -> Any:
        read = cut.encode_batch(texts)
        ids = np.array([one.ids for one in read], dtype=np.int64)
        mask = np.array([one.attention_mask for one in read], dtype=np.int64)
        return session.run(None, {"ids": ids, "mask": mask})[0]

    return embed


def exported(folder: Path) -> str:
    """Path of the ONNX file, written once."""
    import torch
    from transformers import AutoModel

    file = folder.with_suffix(".onnx")
    if file.exists():
        return str(file)
    bert = AutoModel.from_pretrained(folder, attn_implementation="eager").eval().requires_grad_(False)

    class Pooled(torch.nn.Module):
        def forward(self, ids, mask):  # type: ignore[no-untyped-def]  # torch reads annotations
            hidden = bert(input_ids=ids, attention_mask=mask).last_hidden_state
            weight = mask.unsqueeze(-1).float()
            return torch.nn.functional.normalize((hidden * weight).sum(1) / weight.sum(1), dim=1)

    ids = torch.ones(2, 8, dtype=torch.long)
    axes = {"ids": {0: "b", 1: "t"}, "mask": {0: "b", 1: "t"}, "v": {0: "b"}}
    torch.onnx.export(
        Pooled(), (ids, ids), str(file), input_names=["ids", "mask"], output_names=["v"], dynamic_axes=axes,
        opset_version=17, dynamo=False,
    )  # fmt: skip
    return str(file)


def llama_cpp(file: Path, threads: int) -> Embed:
    """llama.cpp with every default of its own build, through its Python binding."""
    from llama_cpp import Llama

    of_threads = {"n_threads": threads, "n_threads_batch": threads}
    room = {"n_batch": 2048, "n_ubatch": 2048, "n_ctx": 512 * BATCH}
    model = Llama(str(file), embedding=True, verbose=False, **of_threads, **room)
    return lambda texts: model.embed(texts, normalize=True)


def work(which: str, folder: Path, file: Path, threads: int, cpu: bool) -> None:
    """Answers each line of the standard input with the times of a turn and, the first time, with vectors."""
    made = {
        "ours": lambda: ours(file, threads),
        "sentence-transformers": lambda: sentence_transformers(folder, threads),
        "onnxruntime": lambda: onnxruntime(folder, threads),
        "llama.cpp": lambda: llama_cpp(file, threads),
    }
    embed = made[which]()
    texts, clock = json.loads(sys.stdin.readline()), time.process_time if cpu else time.perf_counter
    vectors = [[float(x) for x in embed([text])[0]] for text in texts]
    print(json.dumps(vectors), flush=True)
    for _ in sys.stdin:
        times = [timed(embed, texts, 1, 41, clock), timed(embed, texts, BATCH, 4, clock)]
        print(json.dumps(times), flush=True)


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="all-MiniLM-L6-v2 as Hugging Face has it")
    parser.add_argument("--file", type=Path, required=True, help="the GGUF file of sotto/minilm")
    parser.add_argument(
        "--python", type=Path, default=Path(sys.executable), help="the Python that has the peers"
    )
    parser.add_argument("--peers", nargs="+", default=PEERS[:2], choices=PEERS)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument(
        "--cpu", action="store_true", help="processor time of one thread instead of wall time"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        return work(asked.work, asked.folder, asked.file, asked.threads, asked.cpu)
    threads = 1 if asked.cpu else asked.threads
    same = ["--folder", asked.folder, "--file", asked.file, "--threads", str(threads), *["--cpu"] * asked.cpu]
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import embed, json; "
    script += f"print(json.dumps(embed.sentences(embed.Path({str(asked.folder)!r}))))"
    texts = json.loads(
        subprocess.run([asked.python, "-c", script], capture_output=True, text=True, check=True).stdout
    )
    running, vectors = {}, {}
    for name in ("ours", *asked.peers):
        python = sys.executable if name == "ours" else asked.python
        command = [python, __file__, "--work", name, *same]
        running[name] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        vectors[name] = tell(running[name], json.dumps(texts))
    turns = [{name: tell(one, "turn") for name, one in running.items()} for _ in range(asked.turns)]
    for one in running.values():
        one.stdin.close()
        one.wait()
    print(
        json.dumps(report(turns, vectors, asked.peers, asked.cpu, threads), indent=None if asked.json else 2)
    )


def tell(process: subprocess.Popen[str], line: str) -> Any:
    """Passes a line to a worker, and returns its answer."""
    assert process.stdin is not None and process.stdout is not None
    print(line, file=process.stdin, flush=True)
    return json.loads(process.stdout.readline())


def report(
    turns: list[dict[str, list[float]]], vectors: dict[str, Any], peers: list[str], cpu: bool, threads: int
) -> dict[str, Any]:
    """All figures: rates, ratios to the best peer of each turn, and the least cosine."""
    ratios = [
        statistics.median(min(turn[name][at] for name in peers) / turn["ours"][at] for turn in turns)
        for at in (0, 1)
    ]
    rates = {
        name: [
            round(size / statistics.median(turn[name][at] for turn in turns), 1)
            for at, size in ((0, 1), (1, BATCH))
        ]
        for name in turns[0]
    }
    truth = vectors.get("sentence-transformers") or vectors[peers[0]]
    pairs = zip(vectors["ours"], truth, strict=True)
    return {
        "clock": "cpu" if cpu else "wall",
        "threads": threads,
        "sentences_per_s": rates,
        "batch1_ratio": round(ratios[0], 3),
        "batch64_ratio": round(ratios[1], 3),
        "cosine_min": round(
            min(sum(x * y for x, y in zip(left, right, strict=True)) for left, right in pairs), 6
        ),
    }


if __name__ == "__main__":
    main()
