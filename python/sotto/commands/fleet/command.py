"""Entry point of `sotto fleet`: its subcommands."""

from __future__ import annotations

import argparse

from . import drain, ingress, join, keys, manifests, quotas, serve, top, up, usage, webhook


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto fleet` to `parser`."""
    commands = parser.add_subparsers(dest="fleet_command", metavar="COMMAND", required=True)
    for name, module, what in (
        ("serve", serve, "the control plane and the gateway, with workloads on this machine"),
        ("ingress", ingress, "HAProxy before replicas of this network; sessions stay on their replica"),
        ("up", up, "the head of a Ray cluster, with the control plane and the gateway"),
        ("join", join, "add this machine to a Ray cluster"),
        ("drain", drain, "move the replicas of a node to others, then end the node"),
        ("top", top, "nodes of a Ray cluster, and replicas on them"),
        ("keys", keys, "make, list and revoke tokens of a project"),
        ("quotas", quotas, "limit the requests and tokens of a project or of one key"),
        ("usage", usage, "what projects and keys used"),
        ("manifests", manifests, "YAML for Kubernetes: KubeRay, or Agones"),
        ("webhook", webhook, "where the results of a project's jobs are sent"),
    ):
        command = commands.add_parser(name, help=what, description=what)
        command.set_defaults(run=module.run)
        module.add_arguments(command)


def run(arguments: argparse.Namespace) -> int:
    """Raises `AssertionError`. Never called: each subcommand sets its own `run`."""
    raise AssertionError(arguments.fleet_command)
