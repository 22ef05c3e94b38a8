"""Tests of the server: llama.cpp's own, on llama-server and on ours; the client on both; abuse."""

from __future__ import annotations

import json

from .ground import BUILD, JOBS, PYTHON, ROOT, Step, is_full, last_line, run
from .package import installed

ENV = {
    "PYTHONPATH": str(ROOT / "python"),
    "SOTTO_LIBRARY": str(BUILD / "release" / "out" / "libsotto.so"),
}


def check_server() -> str:
    """Builds llama-server, and runs both suites."""
    said = run([PYTHON, "tests/server/llama_suite.py", "--json", "--jobs", JOBS], env=ENV, timeout=7200)
    told = json.loads(said[said.index("{\n") :])
    files = [f"tests/python/test_client_servers{which}.py" for which in ("", "_more")]
    client = run([PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files], env=ENV, timeout=1200)
    return f"{told['ours_passed']} of {told['theirs_passed']} of llama.cpp's tests; {last_line(client)}"


def check_abuse() -> str:
    """Clients that stall, send garbage or vanish: 100 for 10 seconds; with --full, 500 for 2 minutes."""
    command = [installed(), "tests/server/abuse.py", "--json", *(["--full"] if is_full() else [])]
    told = json.loads(run(command, env={"SOTTO_TEST_LIBRARY": str(BUILD / "release" / "out")}))
    return f"{told['clients']} clients; longest silence of another stream {told['silence_s']:g} s"


SERVER = (
    Step(
        "server",
        "llama.cpp's own server tests, on llama-server and on ours",
        check_server,
        needs=["g++", "cmake", "ninja"],
        after=["build"],
        full=True,
    ),
    Step("abuse", "a server and clients that wish it ill", check_abuse, after=["build", "wheel", "python"]),
)
