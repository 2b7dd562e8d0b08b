"""``vmmetrics serve``: rewards over HTTP."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from vmmetrics.cli.options import (
    MAX_SECONDS,
    EngineName,
    OwnIndex,
    count_option,
    jobs_option,
    names_option,
    number_option,
    option,
)
from vmmetrics.cli.stopping import stoppable
from vmmetrics.cli.terminal import open_consoles, usage
from vmmetrics.errors import SetupError, cannot, install
from vmmetrics.utils.request_rules import HOST, NAMES

KEY_VARIABLE = "VMMETRICS_SERVE_KEY"
"""Environment variable of the key."""


def serve(
    host: Annotated[str, option("Address to listen on; another than this machine's needs a key.")] = HOST,
    port: Annotated[int, option("Port; 0 takes a free one.", min=0, max=65535)] = 8080,
    key_file: Annotated[
        Path | None,
        option(f"File with the key that requests must bring as 'Authorization: Bearer KEY'; also {KEY_VARIABLE}."),
    ] = None,
    root: Annotated[
        list[Path] | None, option("Folder whose clips requests may name by path; repeatable. Default: none.")
    ] = None,
    metrics: Annotated[str | None, names_option("Metrics to score and offer. Default: all.")] = None,
    index: OwnIndex = None,
    jobs: Annotated[int, jobs_option("Worker processes.")] = 1,
    queue: Annotated[int, count_option("Samples that may wait; more are answered with 429.")] = 256,
    deadline: Annotated[float, number_option("Seconds for a request, else 504.", 0.1, MAX_SECONDS)] = 300.0,
    max_bytes: Annotated[str, option("Largest body, else 413.", metavar="SIZE")] = "256MB",
    engine: EngineName = "local",
    address: Annotated[str | None, option("Ray: auto, or HOST:PORT of the head of a cluster that runs.")] = None,
    replicas: Annotated[int, count_option("Ray: servers, each with --jobs workers and a queue.")] = 1,
) -> None:
    """Serve rewards over HTTP: POST /score, in the form of UniRL's reward service or a plain one.

    GET /openapi.json describes it; /health, /rewards and /metrics (Prometheus) tell its state. It speaks no TLS:
    put a proxy before it. Ctrl-C and SIGTERM answer what was accepted, then stop; a second Ctrl-C stops at once.
    Exit codes: 0 stopped, 2 wrong usage or setup, models that cannot be loaded included.
    """
    for package in ("starlette", "uvicorn", "python_multipart"):
        if find_spec(package) is None:
            raise SetupError(f"The server needs {package}: {install('serve')}")
    from vmmetrics.cli.running import parse_bytes, parse_names
    from vmmetrics.metrics import METRICS
    from vmmetrics.scoring.engine import local_workers
    from vmmetrics.scoring.rewards import sample_settings
    from vmmetrics.scoring.service import Service, run

    _, messages = open_consoles()
    key = _key(key_file)
    if key is None and host not in (name.strip("[]") for name in NAMES):
        raise typer.BadParameter(f"{host} needs a key: --key-file or {KEY_VARIABLE}", param_hint="--host")
    for folder in root or ():
        if not folder.is_dir():
            raise typer.BadParameter(f"{folder} is no folder", param_hint="--root")
    with usage("--metrics"):
        chosen = METRICS if metrics is None else parse_names(metrics)
        settings = sample_settings(chosen, jobs, None if index is None else str(index.absolute()))
    size = parse_bytes(max_bytes, "--max-bytes")

    def announce(url: str) -> None:
        messages.print(f"{url} (Ctrl-C ends it)", soft_wrap=True)

    options: dict[str, Any] = {
        "queue": queue, "deadline": deadline, "max_bytes": size, "key": key, "roots": root or (),
    }  # fmt: skip
    if engine == "ray":
        if address is None or port == 0:
            raise typer.BadParameter("Ray needs --address of a cluster, and a --port", param_hint="--engine")
        from vmmetrics.engines.connection import Cluster
        from vmmetrics.scoring.replicas import run_replicas

        with usage("--address"):
            cluster = Cluster(address)
        with stoppable(), suppress(KeyboardInterrupt):
            run_replicas(settings, cluster, replicas, jobs, host, port, announce, **options)
        return
    with stoppable(), suppress(KeyboardInterrupt):
        label = settings.build().describe()["label"]  # what is missing shows before anything is served
        service = Service(local_workers(settings, jobs, deadline), settings.metrics, label, **options)
        run(service, host, port, announce)


def _key(file: Path | None) -> str | None:
    """Return the key in a file or in the environment; None where there is none.

    Raises:
        SetupError: The file cannot be read, or has none.
    """
    if file is None:
        return os.environ.get(KEY_VARIABLE, "").strip() or None
    try:
        key = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise cannot("read", file, error if isinstance(error, OSError) else OSError(str(error))) from error
    if not key:
        raise SetupError(f"{file} has no key")
    return key
