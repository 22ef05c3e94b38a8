"""`sotto fleet manifests`: fields that the documentation of KubeRay and Agones names, values, and bad input.

The manifests are linted here, and not run: no Kubernetes is on the machine of the tests.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from sotto import cli
from sotto.fleet.cluster import settings
from sotto.fleet.cluster.needs import Planned, candidates, fit
from test_fleet_ray_logic import W, node

# Fields by the place of an object: those that may be there; with "!", those that have to be.
META = {"name!", "namespace", "labels", "annotations"}
POD = {"initContainers", "containers!", "volumes", "securityContext", "serviceAccountName", "nodeSelector"}
CONTAINER = {
    "name!", "image!", "command", "args", "env", "ports", "resources", "readinessProbe", "livenessProbe",
    "volumeMounts", "securityContext", "imagePullPolicy",
}  # fmt: skip
PROBE = {
    "tcpSocket", "httpGet", "exec", "periodSeconds", "timeoutSeconds", "failureThreshold",
    "initialDelaySeconds",
}  # fmt: skip
KUBERAY = {
    "": {"apiVersion!", "kind!", "metadata!", "spec!"},
    "metadata": META,
    "spec": {"rayVersion", "headGroupSpec!", "workerGroupSpecs", "gcsFaultToleranceOptions",
             "enableInTreeAutoscaling", "suspend"},
    "spec.gcsFaultToleranceOptions": {"redisAddress!", "redisUsername", "redisPassword",
                                      "externalStorageNamespace"},
    "spec.headGroupSpec": {"serviceType", "rayStartParams!", "template!", "labels", "resources"},
    "spec.workerGroupSpecs[]": {"groupName!", "replicas", "minReplicas!", "maxReplicas!", "numOfHosts",
                                "rayStartParams!", "template!", "labels", "resources", "idleTimeoutSeconds"},
}  # fmt: skip
AGONES = {
    "": {"apiVersion!", "kind!", "metadata!", "spec!"},
    "metadata": META,
    "spec": {"replicas", "scheduling", "strategy", "template!", "allocationOverflow", "priorities"},
    "spec.strategy": {"type!", "rollingUpdate"},
    "spec.strategy.rollingUpdate": {"maxSurge", "maxUnavailable"},
    "spec.template": {"metadata", "spec!"},
    "spec.template.spec": {"container", "ports", "health", "sdkServer", "players", "counters", "lists",
                           "scheduling", "template!", "eviction"},
    "spec.template.spec.ports[]": {"name", "range", "portPolicy", "container", "containerPort", "hostPort",
                                   "protocol"},
    "spec.template.spec.health": {"disabled", "initialDelaySeconds", "periodSeconds", "failureThreshold"},
}  # fmt: skip
START_PARAMS = {
    "port", "node-manager-port", "num-cpus", "num-gpus", "memory", "object-store-memory", "include-dashboard",
}  # fmt: skip


def made(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    """Runs the command. Returns its documents, which are the same after another trip through YAML."""
    assert cli.main(["fleet", "manifests", *words]) == 0
    text = capsys.readouterr().out
    assert "&id" not in text and "*id" not in text  # no references
    found = list(yaml.safe_load_all(text))
    assert list(yaml.safe_load_all(yaml.safe_dump_all(found))) == found
    return found


def check(place: Any, fields: set[str], where: str) -> None:
    """Fails if an object has a field that is unknown, or lacks one."""
    known = {one.rstrip("!") for one in fields}
    wanted = {one.rstrip("!") for one in fields if one.endswith("!")}
    assert wanted <= set(place) <= known, (where, wanted - set(place), set(place) - known)


def check_all(manifest: Any, schema: dict[str, set[str]]) -> None:
    """Checks each place that a schema names."""
    for path, fields in schema.items():
        places = [manifest]
        for step in [one for one in path.split(".") if one]:
            many = step.endswith("[]")
            places = [one[step.rstrip("[]")] for one in places if step.rstrip("[]") in one]
            places = [inner for one in places for inner in one] if many else places
        for place in places:
            check(place, fields, path)


def check_pod(spec: Any) -> None:
    """Checks the spec of a pod: fields, mounts of volumes that are there, sizes, names."""
    check(spec, POD, "pod")
    volumes = {one["name"] for one in spec.get("volumes", ())}
    for container in [*spec.get("initContainers", ()), *spec["containers"]]:
        check(container, CONTAINER, container["name"])
        assert {one["name"] for one in container.get("volumeMounts", ())} <= volumes
        for name in ("readinessProbe", "livenessProbe"):
            if name in container:
                check(container[name], PROBE, name)
        for sizes in container.get("resources", {}).values():
            assert all(isinstance(one, str) for one in sizes.values())
            assert re.fullmatch(r"\d+Mi", sizes["memory"]) and sizes["cpu"].isdecimal()
        assert all(isinstance(one.get("value", ""), str) for one in container.get("env", ()))
        ports = {one["name"] for one in container.get("ports", ())}
        assert all(re.fullmatch(r"[a-z-]{1,15}", one) for one in ports)


def test_kuberay(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--image", "r.example/sotto:1", "--name", "tavern", "--namespace", "games", "--nodes", "3"]
    words += ["--cores", "6", "--memory", "12000", "--gpu", "gpu0=24576", "--redis", "redis:6379"]
    cluster, service = made(capsys, "kuberay", *words, "--models", "models")
    assert (cluster["apiVersion"], cluster["kind"]) == ("ray.io/v1", "RayCluster")
    check_all(cluster, KUBERAY)
    spec = cluster["spec"]
    assert spec["gcsFaultToleranceOptions"] == {"redisAddress": "redis:6379"}
    groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    for group in groups:
        assert set(group["rayStartParams"]) <= START_PARAMS
        assert all(isinstance(one, str) for one in group["rayStartParams"].values())
        check_pod(group["template"]["spec"])
        ray = group["template"]["spec"]["containers"][0]  # KubeRay runs Ray in the first container
        assert {one["name"]: one["value"] for one in ray["env"]}["RAY_AUTH_MODE"] == "token"
        assert {"name": "models", "mountPath": "/models", "readOnly": True} in ray["volumeMounts"]
    head = groups[0]
    assert head["rayStartParams"]["num-cpus"] == "0" and "labels" not in head
    names = [one["labels"]["sotto-node"] for one in groups[1:]]
    assert names == ["tavern-1", "tavern-2", "tavern-3"] and all(settings.check_name(one) for one in names)
    worker = groups[1]
    assert worker["labels"] == {
        "sotto-node": "tavern-1", "sotto-version": settings.version_label(), "sotto-gpu": "gpu0",
        "sotto-gpu-mb": "24576",
    }  # fmt: skip
    assert worker["rayStartParams"]["memory"] == str(12000 << 20)
    assert worker["template"]["spec"]["containers"][0]["resources"]["limits"] == {
        "cpu": "6", "memory": "13024Mi", "nvidia.com/gpu": "1",
    }  # fmt: skip
    assert service["spec"]["selector"] == {"ray.io/cluster": "tavern", "ray.io/node-type": "head"}
    assert (service["metadata"]["namespace"], service["spec"]["ports"][0]["targetPort"]) == (
        "games", "gateway",
    )  # fmt: skip


def test_the_control_plane_of_the_manifest_can_be_started(capsys: pytest.CaptureFixture[str]) -> None:
    """Its command is one that `sotto` takes; nodes with its labels are candidates of a workload."""
    cluster, _ = made(capsys, "kuberay", "--image", "i")
    assert "gcsFaultToleranceOptions" not in cluster["spec"]
    control = cluster["spec"]["headGroupSpec"]["template"]["spec"]["containers"][1]
    assert [one["name"] for one in control["env"]] == ["POD_IP", "SOTTO_FLEET_DATABASE"]
    arguments = cli.parser().parse_args(control["command"][1:])
    assert (arguments.placement, arguments.port) == ("ray", 8090)
    assert control["command"][0] == "sotto"
    labels = cluster["spec"]["workerGroupSpecs"][0]["labels"]
    nodes = [node(labels[settings.NODE], version=labels[settings.VERSION])]
    assert candidates(W, nodes, settings.version_label()) == nodes
    assert fit(W, nodes, {"sotto-1": Planned(10)}, 1.0, 1).nodes == ("sotto-1",)


def test_agones(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "--image",
        "r.example/game:2",
        "--endpoint",
        "http://sotto-gateway.games.svc",
        "--project",
        "acme",
    ]
    (fleet,) = made(capsys, "agones", *words, "--nodes", "5", "--port", "26000", "--namespace", "games")
    assert (fleet["apiVersion"], fleet["kind"], fleet["spec"]["replicas"]) == ("agones.dev/v1", "Fleet", 5)
    check_all(fleet, AGONES)
    server = fleet["spec"]["template"]["spec"]
    check_pod(server["template"]["spec"])
    assert server["ports"] == [
        {"name": "game", "portPolicy": "Dynamic", "containerPort": 26000, "protocol": "UDP"}
    ]
    (container,) = server["template"]["spec"]["containers"]
    assert container["env"] == [
        {"name": "INFERENCEKEY_BASE_URL", "value": "http://sotto-gateway.games.svc"},
        {"name": "INFERENCEKEY_PROJECT", "value": "acme"},
        {
            "name": "INFERENCEKEY_API_KEY",
            "valueFrom": {"secretKeyRef": {"name": "sotto-game", "key": "api-key"}},
        },
    ]


@pytest.mark.parametrize(
    "words, what",
    [
        (["kuberay", "--image", "a b"], "invalid --image 'a b'"),
        (["kuberay", "--image", "i", "--name", "My Fleet"], "invalid --name 'My Fleet'"),
        (["kuberay", "--image", "i", "--name", "x" * 41], "invalid --name"),
        (["kuberay", "--image", "i", "--namespace", "-"], "invalid --namespace '-'"),
        (["kuberay", "--image", "i", "--gpu", "gpu0"], "invalid --gpu 'gpu0': expected ID=MB"),
        (["kuberay", "--image", "i", "--redis", "redis"], "invalid --redis 'redis': expected HOST:PORT"),
        (["kuberay", "--image", "i", "--redis", "redis:99999"], "invalid --redis"),
        (["kuberay", "--image", "i\n- evil: 1"], "invalid --image"),
        (
            ["agones", "--image", "i", "--project", "p", "--endpoint", "gateway"],
            "invalid --endpoint 'gateway'",
        ),
        (["agones", "--image", "i", "--project", "p", "--endpoint", "http://u:p@h"], "invalid --endpoint"),
    ],
)
def test_bad_input_is_named(capsys: pytest.CaptureFixture[str], words: list[str], what: str) -> None:
    assert cli.main(["fleet", "manifests", *words]) == 2
    said = capsys.readouterr()
    assert what in said.err and said.out == ""
