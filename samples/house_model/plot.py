"""Draws a run's loss and how often it guessed wrong, from the log that the trainers write."""

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="folder of train.py")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("loss.png"))
    args = parser.parse_args()
    lines = [json.loads(line) for line in (args.run / "log.jsonl").read_text().splitlines()]
    steps = {line["tokens"] / 1e6: line for line in lines}  # a resumed run's later lines count
    at = sorted(steps)
    figure, left = pyplot.subplots(figsize=(7, 3.2), dpi=110, layout="constrained")
    right = left.twinx()
    left.plot(at, [steps[step]["loss"] for step in at], color="tab:blue", label="loss")
    right.plot(at, [1 - steps[step]["right"] for step in at], color="tab:orange", label="wrong tokens")
    left.set(xlabel="million tokens", ylabel="loss of answers", yscale="log")
    right.set(ylabel="share of wrong tokens", ylim=(0, None))
    figure.legend(loc="outside upper right", ncols=2, frameon=False)
    figure.savefig(args.out, metadata={"Software": None})


if __name__ == "__main__":
    main()
