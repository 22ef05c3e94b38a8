"""A control plane under steady load: whether its memory or descriptors grow, and whether usage is lost.

`python tests/bench/fleet_soak.py [--minutes 20] [--clients 4] [--quick] [--json]`

Runs `sotto fleet serve` with the house model as a user gets it. Clients ask on and on, every other time for a
stream; a key is made and revoked every few seconds. At the end, the usage in the store is compared with what
the clients counted. Growth is the slope of the memory after a warm-up: a quarter of the time, or 4 minutes,
but at most half of the time. Exit status 1 if a limit is exceeded.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

sys.path.append(str(Path(__file__).resolve().parents[1] / "fleet"))

import sotto.fleet as fleet
from fleet_process import Served, serving  # needs the path above

SLUG, EVERY = "smith", 2.0  # seconds between two samples
MAX_GROWTH_MB, MAX_GROWTH_PCT = 8.0, 5.0  # in the time after the warm-up; the larger one of both counts
MAX_MORE_FDS = 8
QUICK = 0.5  # minutes


@dataclass
class Counted:
    """What the clients counted."""

    requests: int = 0
    completion_tokens: int = 0
    prompt_tokens: int = 0
    failed: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, usage: dict[str, int]) -> None:
        """Adds one answer."""
        with self.lock:
            self.requests += 1
            self.prompt_tokens += usage["prompt_tokens"]
            self.completion_tokens += usage["completion_tokens"]


@dataclass
class Process:
    """Samples of a process: time in minutes, resident memory in MB, descriptors."""

    pid: int
    samples: list[tuple[float, float, int]] = field(default_factory=list)

    def sample(self, minute: float) -> None:
        """Reads the process."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        resident = next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]
        self.samples.append((minute, int(resident) / 1024, len(os.listdir(f"/proc/{self.pid}/fd"))))

    def figures(self, name: str, warm: float) -> dict[str, float]:
        """Returns the figures of the samples after a minute, `warm`."""
        after = [one for one in self.samples if one[0] >= warm]
        minutes, memory, descriptors = zip(*after, strict=True)
        slope = statistics.linear_regression(minutes, memory).slope
        grown = slope * (minutes[-1] - minutes[0])
        limit = max(MAX_GROWTH_MB, MAX_GROWTH_PCT / 100 * memory[0])
        tenth = max(len(after) // 10, 1)
        more = min(descriptors[-tenth:]) - max(descriptors[:tenth])
        return {
            f"{name}_start_mb": round(self.samples[0][1], 1),
            f"{name}_warm_mb": round(memory[0], 1),
            f"{name}_end_mb": round(memory[-1], 1),
            f"{name}_mb_per_hour": round(60 * slope, 2),
            f"{name}_grown_mb": round(grown, 2),
            f"{name}_fds_start": descriptors[0],
            f"{name}_fds_end": descriptors[-1],
            f"{name}_ok": grown <= limit and more <= MAX_MORE_FDS,
        }


def client(served: Served, key: str, place: int, counted: Counted, ended: threading.Event) -> None:
    """Asks until the end; notes a failed request and goes on after a second."""
    url, number = f"{served.url}/endpoint/acme/{SLUG}/v1/chat/completions", 0
    with httpx2.Client(trust_env=False, timeout=120, headers={"Authorization": f"Bearer {key}"}) as http:
        while not ended.is_set():
            number += 1
            said = [
                {"role": "user", "content": f"Good day, I am guest {place} and ask for the {number}th time"}
            ]
            body: dict[str, Any] = {"messages": said, "max_tokens": 8, "user": f"guest {place}"}
            if number % 2:
                body |= {"stream": True, "stream_options": {"include_usage": True}}
            try:
                answer = http.post(url, json=body)
                counted.add(usage_of(answer))
            except (httpx2.HTTPError, ValueError, LookupError) as error:
                counted.failed.append(f"{type(error).__name__}: {error}"[:200])
                ended.wait(1.0)


def usage_of(answer: httpx2.Response) -> dict[str, int]:
    """Returns the usage of an answer. Raises `ValueError` if it is none."""
    if answer.status_code != 200:
        raise ValueError(f"status {answer.status_code}: {answer.text[:100]}")
    if not answer.text.startswith("data: "):
        return dict(answer.json()["usage"])
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    if lines[-1] != "[DONE]":
        raise ValueError("the stream broke")
    return dict(json.loads(lines[-2])["usage"])


def provisioned(served: Served) -> str:
    """Makes the project and the workload. Returns a key."""
    sdk = served.command("keys", "create", "acme", "--kind", "sdk", "--new-project")
    mgmt = fleet.ManagementClient(base_url=served.url, sdk_token=sdk, project="acme")
    mgmt.ensure(fleet.WorkloadSpec(name="Smith", slug=SLUG, model="sotto/house", backend="llamacpp"))
    mgmt.wait_until_ready(SLUG, timeout=300, silent=True)
    return served.command("keys", "create", "acme")


def run(minutes: float, clients: int, folder: Path) -> dict[str, Any]:
    """Runs the load. Returns the figures."""
    counted, ended = Counted(), threading.Event()
    with serving(folder, "--drain", "5") as served:
        key = provisioned(served)
        processes = {"plane": Process(served.process.pid), "workload": Process(served.children()[0])}
        threads = [
            threading.Thread(target=client, args=(served, key, place, counted, ended))
            for place in range(clients)
        ]
        for thread in threads:
            thread.start()
        began, revoked = time.monotonic(), 0
        while (passed := time.monotonic() - began) < 60 * minutes:
            for name, process in processes.items():
                try:
                    process.sample(passed / 60)
                except OSError:
                    counted.failed.append(f"the process of the {name} ended")
            made = served.command("keys", "create", "acme").removeprefix("ik_live_")[:8]
            served.command("keys", "revoke", made)
            revoked += 1
            ended.wait(EVERY)
        ended.set()
        for thread in threads:
            thread.join()
        stored = usage_in_store(served)
        figures = {
            name: value
            for kind, process in processes.items()
            for name, value in process.figures(kind, warm_up(minutes)).items()
        }
    lost = {
        f"{name}_lost": getattr(counted, name) - stored[name]
        for name in ("requests", "prompt_tokens", "completion_tokens")
    }
    ok = not counted.failed and not any(lost.values()) and figures["plane_ok"] and figures["workload_ok"]
    return {
        "minutes": minutes, "clients": clients, "requests": counted.requests,
        "completion_tokens": counted.completion_tokens, "failed": len(counted.failed),
        "first_failures": counted.failed[:3], "keys_revoked": revoked, **lost, **figures,
        "ok": bool(ok and counted.requests),
    }  # fmt: skip


def warm_up(minutes: float) -> float:
    """Returns the minutes before the slope counts: the KV cache's pages take memory when they are written."""
    return max(minutes / 4, min(minutes / 2, 4.0))


def usage_in_store(served: Served) -> dict[str, int]:
    """Returns the usage of the project, after what the process still had to write."""
    sdk = served.command("keys", "create", "acme", "--kind", "sdk")
    with httpx2.Client(trust_env=False, headers={"Authorization": f"Bearer {sdk}"}) as http:
        rows = http.get(f"{served.url}/api/projects/acme/usage").raise_for_status().json()
    names = ("requests", "failures", "prompt_tokens", "completion_tokens")
    return {name: sum(row[name] for row in rows) for name in names}


def main() -> int:
    """Prints the figures. Returns 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:g} minutes")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args()
    minutes = QUICK if arguments.quick else arguments.minutes
    if minutes <= 0 or arguments.clients < 1:
        parser.error("expected --minutes above 0 and at least 1 client")
    with tempfile.TemporaryDirectory() as folder:
        figures = run(minutes, arguments.clients, Path(folder))
    if arguments.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:28} {value}")
    return 0 if figures["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
