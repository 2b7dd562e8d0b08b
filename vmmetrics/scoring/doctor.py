"""``vmmetrics doctor``: what an installation, and each node of a Ray cluster, has and lacks, with the cure."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vmmetrics.engines.connection import Cluster, Connection
from vmmetrics.engines.node import CLOCK_SECONDS, describe_node, node_time
from vmmetrics.errors import SetupError, install
from vmmetrics.metrics.registry import label
from vmmetrics.perception.presets import preset_names
from vmmetrics.scoring.settings import Settings
from vmmetrics.utils.storage import provenance
from vmmetrics.utils.storage.provenance import differences
from vmmetrics.utils.weights.folder import inspect
from vmmetrics.utils.weights.manifest import Published, load_manifest, select, weight_path

_NEEDED = {  # distribution: module
    "numpy": "numpy", "scipy": "scipy", "av": "av", "pillow": "PIL", "opencv-python-headless": "cv2",
    "ai-edge-litert": "ai_edge_litert.interpreter", "typer": "typer", "rich": "rich",
}  # fmt: skip
_EXTRAS = {  # module: (what it adds, command)
    "pyarrow": ("scores.parquet, clips in Parquet files", install("parquet")),
    "pandas": ("Table.to_pandas", install("parquet")),
    "spacy": ("subjects of prompts by grammar", install("spacy")),
    "torch": ("'vmmetrics cas train', VideoMAE checkpoints, clips from .pt files", install("cas")),
    "transformers": ("the published models (preset vmbench)", install("vmbench")),
    "sentencepiece": ("the tokeniser of Q-Align (preset vmbench)", install("vmbench")),
    "huggingface_hub": ("data sets and weights from the Hugging Face Hub", install("hf")),
    "ray": ("clusters (--engine ray)", install("ray")),
    "torchmetrics": ("the torchmetrics wrapper", install("torchmetrics")),
}
_REINSTALL = install(options="--force-reinstall")
_ANSWER_SECONDS = 120.0  # for a node to answer
_SCRATCH_BYTES = 2 * 10**9  # free on the disk of temporary files, below which that is a fault
_GB = 10**9


class Finding(NamedTuple):
    """Result of one check.

    Attributes:
        name: Thing that was checked.
        good: True if it works, False if not, None for an optional part that is absent.
        text: Details.
        cure: Command that fixes it, or None.
    """

    name: str
    good: bool | None
    text: str
    cure: str | None = None


def check_up() -> dict[str, list[Finding]]:
    """Check packages, extras, weights, presets and the machine; return findings by heading."""
    return {
        "Machine": [_machine()],
        "Packages": [_package(name, module) for name, module in _NEEDED.items()],
        "Extras": [
            Finding(module, None, f"not installed; adds {purpose}", cure)
            if find_spec(module) is None
            else Finding(module, True, f"{provenance.version_of(module) or 'version unknown'}; {purpose}")
            for module, (purpose, cure) in _EXTRAS.items()
        ],
        "Weights": [_weight(name) for name in load_manifest()],
        "Published weights (preset vmbench)": [_published(entry) for entry in select(["vmbench"])],
        "Presets": [_preset(name) for name in preset_names()],
        "Current folder": [_folder()],
    }


def _machine() -> Finding:
    machine = provenance.machine()
    python = provenance.recorded_versions()["python"]
    memory = f", {machine['memory_gb']} GB" if machine["memory_gb"] else ""
    text = f"{machine['processor']}, {machine['cpus']} processors{memory}; {machine['system']}; Python {python}"
    return Finding("machine", True, text)


def _package(name: str, module: str) -> Finding:
    version = provenance.version_of(name)
    if name == "opencv-python-headless" and version is None:
        version = provenance.version_of("opencv-python")
    try:
        import_module(module)
    except Exception as error:  # a library that cannot be loaded raises whatever it likes
        return Finding(name, False, f"cannot be loaded: {error}", f"pip install --force-reinstall {name}")
    return Finding(name, True, version or "version unknown")


def _weight(name: str) -> Finding:
    entry = load_manifest()[name]
    try:
        path = weight_path(name)
    except SetupError as error:
        return Finding(name, False, str(error), _REINSTALL)
    return Finding(name, True, f"{path}, {entry.bytes / 1e6:.1f} MB, {entry.licence}, SHA-256 verified")


def _published(entry: Published) -> Finding:
    """Report the state of a published checkpoint; one that was never fetched is no fault."""
    inspection = inspect(entry, effort="sizes")
    if inspection.whole:
        return Finding(entry.name, True, f"{inspection.path}, {entry.licence}")
    if not inspection.files and not inspection.faults:
        return Finding(entry.name, None, f"not in {inspection.folder}; needed by {entry.used_by}", inspection.command)
    return Finding(entry.name, False, inspection.problem, inspection.command)


def _preset(name: str) -> Finding:
    """Score a synthetic clip of a moving square with a preset, from perception to scores."""
    y, x = np.mgrid[:64, :64]
    frames = np.stack([np.where(abs(x - 16 - 4 * t) + abs(y - 32) < 12, 230, 40 + x // 2) for t in range(6)])
    try:
        suite = Settings(preset=name).build()
        scores = suite.score_clip(np.repeat(frames[..., None], 3, axis=-1).astype(np.uint8), fps=8, layout="THWC")
    except SetupError as error:  # what the embedded one needs is shipped; others may be absent
        return Finding(name, False if name == "embedded" else None, str(error))
    except Exception as error:  # the doctor has to survive whatever is broken
        return Finding(name, False, f"cannot run: {type(error).__name__}: {error}", _REINSTALL)
    if scores.errors:
        return Finding(name, False, "; ".join(f"{label(m)}: {e}" for m, e in scores.errors.items()), _REINSTALL)
    return Finding(name, True, f"runs: scored a test clip in {scores.seconds:.1f} s")


def _folder() -> Finding:
    here = Path.cwd()
    if os.access(here, os.W_OK):
        return Finding(str(here), True, "runs can be written here")
    return Finding(str(here), False, "not writable; choose another directory with --out")


def describe() -> dict[str, Any]:
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
    """Check every node of a cluster; return findings by node.

    Raises:
        SetupError: Ray is not installed, or the cluster cannot be reached.
    """
    with contextlib.closing(Connection(cluster)) as connection:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        def on(node: str, function: Callable[[], Any]) -> Any:
            strategy = NodeAffinitySchedulingStrategy(node, soft=False)
            return ray.remote(num_cpus=0, max_retries=0, scheduling_strategy=strategy)(function).remote()

        pending = {name: on(name, describe) for name in connection.nodes}
        local, findings = describe(), {}
        for name, node in connection.nodes.items():
            title = f"Node {node['NodeManagerHostname']} ({node['NodeManagerAddress']}, {name[:8]})"
            room = ", ".join(f"{node['Resources'].get(kind, 0):g} {kind}" for kind in ("CPU", "GPU"))
            findings[title] = [Finding("room", True, room)]
            try:
                remote = ray.get(pending.get(name) or on(name, describe), timeout=_ANSWER_SECONDS)
                before = time.time()
                clock = ray.get(on(name, node_time), timeout=_ANSWER_SECONDS)
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
