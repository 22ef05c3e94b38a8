"""`sotto fleet serve` with real processes: provision, call, delete, with both clients; and what it leaves."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import inferencekey
import pytest

import sotto.fleet as fleet
from fleet_mock import spec
from fleet_process import Served, serving
from sotto import cli
from tiny_encoder import RANK, TinyEncoder

PACKAGES = pytest.mark.parametrize("package", [fleet, inferencekey])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A control plane for all tests of this module."""
    with serving(tmp_path_factory.mktemp("served")) as made:
        yield made


@pytest.fixture(scope="module")
def tokens(served: Served) -> tuple[str, str]:
    """A token of each plane, as the command prints them."""
    sdk = served.command("keys", "create", "acme", "--kind", "sdk", "--new-project")
    return sdk, served.command("keys", "create", "acme")


@pytest.mark.row("D-189", "D-190", "D-031", "D-013", "D-052", "D-060", "D-061", "D-093", "D-054", "D-021")
@PACKAGES
def test_provision_call_delete(
    served: Served, tokens: tuple[str, str], package: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end-to-end example of the reference, with the house model: it leaves nothing."""
    monkeypatch.setenv("INFERENCEKEY_BASE_URL", served.url)
    monkeypatch.setenv("INFERENCEKEY_SDK_TOKEN", tokens[0])
    mgmt = package.ManagementClient.from_env(project="acme")
    ref = mgmt.ensure(
        package.WorkloadSpec(
            name="support-bot",
            slug="support-bot",
            model="sotto/house",
            backend="llamacpp",
        )
    )
    assert (ref.project_slug, ref.workload_slug) == ("acme", "support-bot")
    try:
        phases: list[str] = []
        mgmt.wait_until_ready(ref.workload_slug, timeout=300, on_progress=lambda e: phases.append(e.phase))
        assert list(dict.fromkeys(phases)) == ["scheduling", "provisioning", "bootstrapping", "ready"]
        assert len(served.children()) == 1
        key = served.command("keys", "create", "acme", "--workload", ref.workload_slug)
        data = package.DataClient.from_env(project="acme")
        endpoint = data.endpoint(ref.workload_slug, api_key=key)
        out = endpoint.generate_text(prompt="Hola", temperature=0.0, max_tokens=12)
        assert out.model == "sotto/house" and out.text and out.finish_reason in ("stop", "length")
        assert out.raw["usage"]["completion_tokens"] <= 12
        chunks = list(endpoint.generate_text_stream(prompt="Hola", temperature=0.0, max_tokens=12))
        assert "".join(one.text for one in chunks) and chunks[-1].finish_reason
        with pytest.raises(package.ApiError, match="embed"):  # the house model has no embeddings
            endpoint.embed(input=["a", "b"])
        with pytest.raises(package.PermissionDenied, match="project_scope_mismatch"):
            data.endpoint("another", api_key=key).generate_text(prompt="a")
    finally:
        assert mgmt.delete(ref.workload_slug) is True
    assert mgmt.delete(ref.workload_slug) is False
    assert served.children() == []
    end = time.monotonic() + 30
    while "requests" not in served.command("usage", "acme"):
        assert time.monotonic() < end
        time.sleep(0.05)
    with pytest.raises(package.ApiError):
        endpoint.generate_text(prompt="a")


@PACKAGES
@pytest.mark.row("D-089", "D-091", "D-093", "D-154", "D-158", "D-189")
def test_embeddings_and_ranking(
    served: Served, tokens: tuple[str, str], package: Any, tmp_path: Path
) -> None:
    """The other tasks of the end-to-end example, with tiny models that embed and rank."""
    TinyEncoder(1).write(tmp_path / "encoder.gguf")
    TinyEncoder(2, RANK).write(tmp_path / "ranker.gguf")
    mgmt = package.ManagementClient(base_url=served.url, sdk_token=tokens[0], project="acme")
    data = package.DataClient(base_url=served.url, project="acme", api_key=tokens[1])
    try:
        for slug, task in (("encoder", "embedding"), ("ranker", "reranker")):
            model = str(tmp_path / f"{slug}.gguf")
            mgmt.ensure(package.WorkloadSpec(slug, slug, model, "llamacpp", task_type=task))
            mgmt.wait_until_ready(slug, timeout=300, silent=True)
        one, two, again = data.endpoint("encoder").embed(input=["a b", "c d", "a b"]).embeddings
        assert len(one) == len(two) > 1 and one != two and one == pytest.approx(again, abs=1e-5)
        ranked = data.endpoint("ranker").rerank(query="a", documents=["b", "c", "d"]).results
        assert sorted(item.index for item in ranked) == [0, 1, 2]
        scores = [item.relevance_score for item in ranked]
        assert scores == sorted(scores, reverse=True)
    finally:
        assert mgmt.delete("encoder") and mgmt.delete("ranker")
    assert served.children() == []


@pytest.mark.row("D-013", "D-189", "D-061")
def test_the_sample(served: Served, tokens: tuple[str, str]) -> None:
    sample = Path(__file__).resolve().parents[2] / "samples" / "python" / "fleet.py"
    variables = {"BASE_URL": served.url, "SDK_TOKEN": tokens[0], "API_KEY": tokens[1]}
    env = {**os.environ, **{f"INFERENCEKEY_{name}": value for name, value in variables.items()}}
    said = subprocess.run(
        [sys.executable, str(sample)], env=env, check=True, capture_output=True, text=True
    ).stdout
    assert said.count("\n> ") == 3 and said.endswith("deleted\n") and served.children() == []


@pytest.mark.row("D-056", "D-061")
def test_ctrl_c_cleans_up(served: Served, tokens: tuple[str, str]) -> None:
    script = f"""
import signal, time
import sotto.fleet as fleet
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
mgmt = fleet.ManagementClient(base_url={served.url!r}, sdk_token={tokens[0]!r}, project="acme")
ref = mgmt.ensure(fleet.WorkloadSpec("n", "ctrl-c", "sotto/house", "llamacpp"))
try:
    print("made", flush=True)
    time.sleep(60)
finally:
    print(mgmt.delete(ref.workload_slug), flush=True)
"""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script], stdout=pipe, stderr=pipe, text=True) as one:
        assert one.stdout is not None and one.stdout.readline() == "made\n"
        one.send_signal(signal.SIGINT)
        said, complained = one.communicate(timeout=60)
    assert said == "True\n" and "KeyboardInterrupt" in complained
    assert served.children() == []


@PACKAGES
@pytest.mark.row("D-133", "D-103", "D-104", "D-147", "D-148", "D-149")
@pytest.mark.parametrize(
    "fields, words",
    [
        ({"model": "/nowhere/model.gguf"}, "/nowhere/model.gguf"),
        ({"model": "nobody/no-such-model"}, "no-such-model"),
        (
            {"backend": "vllm", "command": "vllm serve m --max-model-len 8192"},
            "no node has the program 'vllm'",
        ),
        ({"backend": "sglang"}, "no node has the program 'sglang'"),
        ({"backend": "ollama"}, "no node has the program 'ollama'"),
        ({"worker_id": "w7"}, "no node 'w7'"),
        ({"gpu_resource_id": "gpu9"}, "no node has the GPU 'gpu9'"),
    ],
)
def test_what_no_node_can_run(
    served: Served, tokens: tuple[str, str], package: Any, fields: dict[str, Any], words: str
) -> None:
    mgmt = package.ManagementClient(base_url=served.url, sdk_token=tokens[0], project="acme")
    given = {"name": "n", "slug": "cannot", "model": "sotto/house", "backend": "llamacpp", **fields}
    mgmt.ensure(package.WorkloadSpec(**given))
    try:
        with pytest.raises(package.ApiError) as failed:
            mgmt.wait_until_ready("cannot", timeout=120, silent=True)
        assert words in str(failed.value)
    finally:
        mgmt.delete("cannot")
    assert served.children() == []


def test_a_model_that_fits_nowhere(served: Served, tokens: tuple[str, str]) -> None:
    mgmt = fleet.ManagementClient(base_url=served.url, sdk_token=tokens[0], project="acme")
    mgmt.ensure(spec(slug="large", model="sotto/house", config={"budget_mb": 8}))
    with pytest.raises(fleet.ApiError, match=r"sotto/house needs .* MB"):  # the words of `sotto plan`
        mgmt.wait_until_ready("large", timeout=120, silent=True)
    mgmt.delete("large")


def test_a_command_of_llama_server(served: Served, tokens: tuple[str, str]) -> None:
    house = Path(__file__).resolve().parents[2] / "samples" / "house_model" / "house.gguf"
    mgmt = fleet.ManagementClient(base_url=served.url, sdk_token=tokens[0], project="acme")
    mgmt.ensure(
        spec(
            slug="flags", model="house", command=f"llama-server -m '{house}' -c 1024 --port 1 --host 0.0.0.0"
        )
    )
    mgmt.wait_until_ready("flags", timeout=300, silent=True)
    data = fleet.DataClient(base_url=served.url, project="acme", api_key=tokens[1])
    assert data.endpoint("flags").generate_text(prompt="Hi", max_tokens=4).text
    assert mgmt.delete("flags") and served.children() == []


def test_a_new_version_takes_over_while_the_old_one_answers(served: Served, tokens: tuple[str, str]) -> None:
    mgmt = fleet.ManagementClient(base_url=served.url, sdk_token=tokens[0], project="acme")
    endpoint = fleet.DataClient(base_url=served.url, project="acme", api_key=tokens[1]).endpoint("rolling")
    mgmt.ensure(spec(slug="rolling", model="sotto/house"))
    mgmt.wait_until_ready("rolling", timeout=300, silent=True)
    before = served.children()
    mgmt.ensure(spec(slug="rolling", model="sotto/house", config={"options": {"context": 1024}}))
    answers = 0
    while served.children() == before or len(served.children()) != 1:
        answers += bool(endpoint.generate_text(prompt="Hi", max_tokens=2).text)  # none fails
    assert answers and endpoint.generate_text(prompt="Hi", max_tokens=2).text
    mgmt.ensure(spec(slug="rolling", model="/nowhere.gguf"))
    with pytest.raises(fleet.ApiError):
        mgmt.wait_until_ready("rolling", timeout=120, silent=True)
    assert endpoint.generate_text(prompt="Hi", max_tokens=2).text  # the version before goes on
    assert mgmt.delete("rolling") and served.children() == []


def test_a_process_that_dies_is_started_again(served: Served, tokens: tuple[str, str]) -> None:
    mgmt = fleet.ManagementClient(base_url=served.url, sdk_token=tokens[0], project="acme")
    mgmt.ensure(spec(slug="mortal", model="sotto/house"))
    mgmt.wait_until_ready("mortal", timeout=300, silent=True)
    (pid,) = served.children()
    os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 120
    while served.children() in ([], [pid]):
        assert time.monotonic() < end
        time.sleep(0.05)
    mgmt.wait_until_ready("mortal", timeout=120, silent=True)
    endpoint = fleet.DataClient(base_url=served.url, project="acme", api_key=tokens[1]).endpoint("mortal")
    assert endpoint.generate_text(prompt="Hi", max_tokens=2).text
    mgmt.delete("mortal")


def test_commands(served: Served, tokens: tuple[str, str]) -> None:
    key = served.command("keys", "create", "acme", "--name", "phone", "--workload", "My Smith")
    listed = served.command("keys", "list", "acme")
    assert f"{key[:16]}  acme/my-smith  inference  phone" in listed and key[17:] not in listed
    served.command("keys", "revoke", key[8:16])
    assert "revoked 2" in served.command("keys", "list")
    served.command("quotas", "set", "acme", "tokens", "100", "--key", tokens[1][8:16])
    served.command("quotas", "set", "acme", "requests", "5", "--seconds", "3600")
    assert served.command("quotas", "list", "acme") == (
        f"key {tokens[1][8:16]}: 100 tokens in 60 s\nproject: 5 requests in 3600 s"
    )
    served.command("quotas", "set", "acme", "tokens", "0", "--key", tokens[1][8:16])
    served.command("quotas", "set", "acme", "requests", "0", "--seconds", "3600")
    assert served.command("quotas", "list", "acme") == ""
    assert served.command("webhook", "acme", "http://127.0.0.1:1/hook").startswith("whsec_")
    assert served.command("webhook", "acme", "none") == ""
    assert stat.S_IMODE(Path(served.database).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "words, what",
    [
        (("keys", "create", "nobody"), "no project 'nobody'"),
        (("keys", "create", "Nobody!", "--new-project"), "invalid project 'Nobody!'"),
        (("keys", "create", "acme", "--scope", "all"), "invalid scopes"),
        (("keys", "create", "acme", "--kind", "sdk", "--workload", "a"), "invalid workload"),
        (("keys", "revoke", "00000000"), "no token"),
        (("webhook", "acme", "ftp://x"), "invalid url"),
        (("quotas", "set", "acme", "tokens", "5", "--key", "00000000"), "no key"),
        (("usage", "--database", "mysql://x/y"), "invalid --database"),
        (("usage", "--database", "/proc/x/y.db"), "cannot open --database"),
    ],
)
def test_commands_that_fail(
    served: Served,
    tokens: tuple[str, str],
    words: tuple[str, ...],
    what: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = [] if "--database" in words else ["--database", served.database]
    assert cli.main(["fleet", *words, *given]) == 2
    said = capsys.readouterr()
    assert what in said.err and said.out == ""
