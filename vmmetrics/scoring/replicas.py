"""The reward server on several hosts: replicas of it on a Ray cluster, behind the HTTP proxies of Ray Serve.

Each replica is the same application, with a queue, workers and counts of its own.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable
from importlib.util import find_spec
from threading import Thread
from typing import Any

from vmmetrics.engines.connection import Cluster, Connection
from vmmetrics.errors import SetupError, explain, install
from vmmetrics.scoring.engine import local_workers, whole_configuration
from vmmetrics.scoring.service import Service
from vmmetrics.scoring.settings import Settings
from vmmetrics.utils.server import listener

_NAME = "vmmetrics"
_UNBOUNDED = 10**6  # requests that a replica takes at once: what waits, waits in its own queue
_POLL_SECONDS = 0.2
_END_SECONDS = 5.0  # for Ray Serve to end, once its replicas have


def run_replicas(
    settings: Settings,
    cluster: Cluster,
    replicas: int,
    jobs: int,
    host: str,
    port: int,
    announce: Callable[[str], None],
    **options: Any,
) -> None:
    """Serve on a Ray cluster until KeyboardInterrupt: what was accepted is answered; a second one ends it at once.

    Args:
        settings: How samples are scored; every host needs the same models and versions.
        cluster: The cluster, one that runs already.
        replicas: Servers.
        jobs: Worker processes of each, which take a CPU each.
        host: Address that the proxies listen on, one on every host with a replica.
        port: Their port.
        announce: Receives the URL.
        options: Of :class:`Service`.

    Raises:
        SetupError: Ray Serve is not installed, is in use on the cluster, or cannot start this.
    """
    for package in ("ray", "grpc", "fastapi"):
        if find_spec(package) is None:
            raise SetupError(f"Ray Serve needs {package}: {install('serve,ray-serve')}")
    listener(host, port).close()
    suite = settings.build()
    label, expected, deadline = suite.describe()["label"], _configuration(settings, suite), options["deadline"]

    def build() -> Service:
        if _configuration(settings, settings.build()) != expected:
            raise SetupError("this host has other models or versions than the one that started the server")
        return Service(local_workers(settings, jobs, deadline), settings.metrics, label, **options)

    class Replica:
        app: Service

        def check_health(self) -> None:
            if self.app.end is not None:
                raise self.app.end  # Ray Serve starts another

    connection = Connection(cluster)
    try:
        from ray import serve

        logging.getLogger("ray.serve").setLevel(logging.ERROR)
        if (there := serve.status()).proxies or there.applications:
            raise SetupError(
                "Ray Serve runs on this cluster already, at an address of its own; end it with 'serve shutdown'"
            )
        logs = {"log_level": "ERROR", "enable_access_log": False}
        deployment = serve.deployment(
            serve.ingress(build)(Replica), num_replicas=replicas, max_ongoing_requests=_UNBOUNDED,
            graceful_shutdown_timeout_s=math.ceil(deadline) + 1, graceful_shutdown_wait_loop_s=_POLL_SECONDS,
            ray_actor_options={"num_cpus": jobs},
        )  # fmt: skip
        try:
            serve.start(proxy_location="EveryNode", http_options={"host": host, "port": port}, logging_config=logs)
            serve.run(deployment.bind(), name=_NAME, route_prefix="/", logging_config=logs)
            announce(f"http://{host}:{port}")
            while not connection.lost:
                time.sleep(_POLL_SECONDS)
            raise SetupError("the head of the cluster does not answer any more")
        except KeyboardInterrupt:
            serve.delete(_NAME, _blocking=False)
            while _NAME in serve.status().applications:
                time.sleep(_POLL_SECONDS)
        except SetupError:
            raise
        except Exception as error:  # of many kinds, without what a replica said
            apps = serve.status().applications.values()
            said = [line for app in apps for one in app.deployments.values() for line in one.message.splitlines()]
            why = next((line for line in reversed(said) if "Error: " in line), "")
            raise SetupError(f"Ray Serve ended: {explain(error)} {why}".rstrip()) from error
        finally:
            ending = Thread(target=serve.shutdown, daemon=True)
            ending.start()
            ending.join(_END_SECONDS)
    finally:
        connection.close()


def _configuration(settings: Settings, suite: Any) -> str:
    return json.dumps(whole_configuration(settings, suite), sort_keys=True)
