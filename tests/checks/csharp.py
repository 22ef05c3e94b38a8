"""The C# step: the Unity package on three runtimes, reloads under load, bytes in a frame, .meta files."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

from .ground import BUILD, PYTHON, Failed, run

OUT = BUILD / "release" / "out"
NEEDS = ("mcs", "mono", "npm", "as", "ld")  # of SYSTEM
FRAMES = 240
MAX_P99_US = 500.0  # beside other work; tests/bench/csharp_drain.py has the limit on a machine at rest


def check_csharp() -> str:
    """The Unity package outside Unity: compiled, run on three runtimes, reloaded, and weighed."""
    from csharp.metas import check_metas
    from csharp.reloads import contexts, domains
    from csharp.run import report

    said = [check_metas(), *domains(OUT), drain()]  # they judge times: nothing runs beside them
    with ThreadPoolExecutor(2) as both:
        suites = both.submit(report, OUT)
        loaded = both.submit(contexts, OUT)
        return "; ".join([*said, suites.result(), *loaded.result()])


def drain() -> str:
    """Managed bytes of the drain, to the byte, and its time."""
    command = [PYTHON, "tests/bench/csharp_drain.py", "--build", BUILD / "release", "--runs", "1"]
    figures = json.loads(run([*command, "--frames", str(FRAMES)], timeout=120))
    if not figures["exact"] or figures["p99_us"] > MAX_P99_US:
        raise Failed(f"managed bytes or time of the drain: {figures}")
    return (
        f"drain: {figures['managed_bytes']} bytes for {figures['texts']} texts, 0 without text, "
        f"p99 {figures['p99_us']} us"
    )
