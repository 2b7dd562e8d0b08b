"""Check of the nodes of a Ray cluster against this machine, for ``vmmetrics doctor --engine ray``."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from vmmetrics.engines.actors import CLOCK_SECONDS
from vmmetrics.engines.connection import Cluster, Connection
from vmmetrics.engines.node import describe_node, node_time
from vmmetrics.errors import SetupError
from vmmetrics.scoring.checkup import Finding
from vmmetrics.utils.storage.provenance import differences
from vmmetrics.utils.weights.folder import inspect
from vmmetrics.utils.weights.manifest import load_manifest, select, weight_path

_LOOK_SECONDS = 120.0  # for a node to be looked at
_SCRATCH_BYTES = 2 * 10**9  # free on the disk of temporary files, below which that is a fault
_GB = 10**9


def look() -> dict[str, Any]:
    """Return what this node has, its weights included."""
    shipped = {}
    for name in load_manifest():
        try:
            weight_path(name)
            shipped[name] = ""
        except SetupError as error:
            shipped[name] = str(error)
    published = [entry.name for entry in select(["vmbench"]) if inspect(entry, effort="sizes").whole]
    return {**describe_node(), "shipped": shipped, "published": published}


def check_cluster(cluster: Cluster) -> dict[str, list[Finding]]:
    """Look at every node of a cluster; findings by node.

    Raises:
        SetupError: Ray is not installed, or the cluster cannot be reached.
    """
    with contextlib.closing(Connection(cluster)) as connection:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        def on(node: str, function: Callable[[], Any]) -> Any:
            strategy = NodeAffinitySchedulingStrategy(node, soft=False)
            return ray.remote(num_cpus=0, max_retries=0, scheduling_strategy=strategy)(function).remote()

        pending = {name: on(name, look) for name in connection.nodes}
        local, findings = look(), {}
        for name, node in connection.nodes.items():
            title = f"Node {node['NodeManagerHostname']} ({node['NodeManagerAddress']}, {name[:8]})"
            room = ", ".join(f"{node['Resources'].get(kind, 0):g} {kind}" for kind in ("CPU", "GPU"))
            findings[title] = [Finding("room", True, room)]
            try:
                remote = ray.get(pending.get(name) or on(name, look), timeout=_LOOK_SECONDS)
                before = time.time()
                clock = ray.get(on(name, node_time), timeout=_LOOK_SECONDS)
            except ray.exceptions.RayError as error:
                text = str(error).strip().splitlines()[-1]
                findings[title].append(Finding("vmmetrics", False, f"cannot be run there: {text}"))
            else:
                findings[title] += _findings(local, remote, clock - (before + time.time()) / 2)
        return findings


def _findings(local: Mapping[str, Any], remote: Mapping[str, Any], skew: float) -> list[Finding]:
    versions = differences(local["versions"], remote["versions"], names=("here", "there"))
    versions += differences({"code": local["code"]}, {"code": remote["code"]}, names=("here", "there"))
    missing_files = [f"{name}: {fault}" for name, fault in remote["shipped"].items() if fault]
    missing = sorted(set(local["published"]) - set(remote["published"]))
    scratch = remote["scratch"]
    room = f"{scratch['folder']}: {scratch['free'] / _GB:.1f} of {scratch['bytes'] / _GB:.1f} GB free"
    gpus = [
        Finding("GPU", True, f"{gpu['name']}: {gpu['free'] / _GB:.1f} of {gpu['bytes'] / _GB:.1f} GB free")
        for gpu in remote["gpus"]
    ]
    return [
        Finding("versions", not versions, "; ".join(versions) or "as here"),
        Finding(
            "weights", not missing_files, "; ".join(missing_files) or f"{len(remote['shipped'])} shipped, verified"
        ),
        Finding("published weights", not missing, f"absent: {', '.join(missing)}" if missing else "as here"),
        *(gpus or [Finding("GPU", None, "none")]),
        Finding("scratch disk", scratch["free"] >= _SCRATCH_BYTES, room),
        Finding("clock", abs(skew) <= CLOCK_SECONDS, f"{skew:+.1f} s from here"),
    ]
