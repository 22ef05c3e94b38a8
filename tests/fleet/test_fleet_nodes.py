"""Nodes that join with another version, another model under the same name, or the name of another node."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sotto.errors import ModelLoadError
from sotto.fleet.cluster.fingerprint import fingerprint
from sotto.fleet.cluster.needs import Planned, candidates, fit
from sotto.fleet.control.launch import CannotLaunch
from test_fleet_ray_logic import VERSION, Run, W, hurry, node

__all__ = ["hurry"]  # a fixture of every test here
A, B = Planned(100, "aaaa"), Planned(100, "bbbb")


def pinned(name: str) -> Any:
    """Returns the workload on one node."""
    return type(W)(**{**vars(W), "worker_id": name})


def test_a_node_of_another_version_runs_nothing() -> None:
    old, new = node("a", version="0.0.1"), node("b")
    assert candidates(W, [old, new], VERSION) == [new]
    words = rf"no node has Sotto {VERSION}, as the control plane has; the nodes have a: 0\.0\.1"
    for given, workload in (([old], W), ([old, new], pinned("a"))):
        with pytest.raises(CannotLaunch, match=words):
            candidates(workload, given, VERSION)
    with pytest.raises(CannotLaunch, match="a: unknown"):
        candidates(W, [node("a", version="")], VERSION)


def test_two_nodes_of_one_name() -> None:
    twice = [node("a")._replace(ray_id="1"), node("a")._replace(ray_id="2", host="10.0.0.2"), node("b")]
    assert [one.name for one in candidates(W, twice, VERSION)] == ["b"]
    for given, workload in ((twice[:2], W), (twice, pinned("a"))):
        with pytest.raises(CannotLaunch, match=r"several nodes have the name 'a' \(10.0.0.1, 10.0.0.2\)"):
            candidates(workload, given, VERSION)


def test_different_files_under_one_name_are_refused() -> None:
    nodes = [node("a"), node("b"), node("c")]
    assert fit(W, nodes, {"a": A, "b": A, "c": "no file"}, 1.0, 1).nodes == ("a", "b")
    with pytest.raises(CannotLaunch, match=r"different files under the name 'm' \(a, c: aaaa; b: bbbb\)"):
        fit(W, nodes, {"a": A, "b": B, "c": A}, 1.0, 1)
    assert fit(W, [nodes[1]], {"b": B}, 1.0, 1).nodes == ("b",)  # as with worker_id


def test_a_node_that_joins_with_another_file() -> None:
    """What runs goes on where it is; the next version fails, until the file is the same."""

    async def run() -> None:
        async with Run() as it:
            it.cluster.files = {"a": "aaaa", "b": "bbbb"}
            await it.placement.deploy(W)
            await it.until("ready")
            labels = it.cluster.known["sotto-w0-1"].options["label_selector"]
            assert labels["sotto-node"] == "in(a)"
            it.cluster.has = [node("a"), node("b")]
            await it.placement.deploy(type(W)(**{**vars(W), "generation": 2}))
            failed = await it.until("error", "different files under the name 'm' (a: aaaa; b: bbbb)")
            assert failed.address == "http://here/sotto-w0-1" and list(it.cluster.known) == ["sotto-w0-1"]
            it.cluster.files["b"] = "aaaa"
            it.cluster.has = [node("a"), node("b"), node("c", version="0.0.1")]  # it is tried again
            assert (await it.until("ready")).address == "http://here/sotto-w0-2"
            labels = it.cluster.known["sotto-w0-2"].options["label_selector"]
            assert labels["sotto-node"] == "in(a,b)"

    asyncio.run(run())


def test_fingerprints(tmp_path: Path) -> None:
    content = bytearray(range(256)) * 40_000  # 10 MB, of which 4 MB are read
    one, two = tmp_path / "one.gguf", tmp_path / "two.gguf"
    one.write_bytes(content)
    two.write_bytes(content)
    same = fingerprint(str(one))
    assert len(same) == 16 and fingerprint(str(two)) == same
    seen = {same}
    for place in (0, len(content) - 1):
        two.write_bytes(content[:place] + b"\xee" + content[place + 1 :])
        seen.add(fingerprint(str(two)))
    two.write_bytes(content + b"\0")
    seen.add(fingerprint(str(two)))
    two.write_bytes(b"")
    seen.add(fingerprint(str(two)))
    assert len(seen) == 5
    assert fingerprint("sotto/house") == ""
    with pytest.raises(ModelLoadError, match="nobody/no-such-model"):
        fingerprint("nobody/no-such-model")
