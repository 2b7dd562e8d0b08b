"""Options shared by several commands."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from vmmetrics.cli.terminal import usage

if TYPE_CHECKING:
    from vmmetrics.utils.endpoint.client import Client


# Bounds of the numbers that options take: nothing larger is meant, and what counts by them must not overflow.

MAX_COUNT = 10**9
"""Upper bound of counts of clips, prompts, frames, tokens, pixels or draws."""
MAX_JOBS = 1024
"""Upper bound of processes and threads."""
MAX_SEED = 2**63 - 1
"""Largest random seed that torch accepts."""
MAX_FPS = 1000.0
"""As :data:`vmmetrics.video.timing.MAX_FPS`, which would load numpy into every command."""
MAX_SECONDS = 1e6
"""Maximum timeout in seconds: eleven days (system calls overflow at 24)."""
MAX_PRICE = 1e9
"""Upper bound of costs, in the currency of the prices."""


_Number = TypeVar("_Number", bound=float | tuple[float, ...] | None)


def finite(value: _Number) -> _Number:
    """Return an option's float, floats or None; the range check of an option lets NaN pass.

    Raises:
        typer.BadParameter: One is NaN or infinite.
    """
    numbers = value if isinstance(value, tuple | list) else (value,)
    if not all(number is None or math.isfinite(number) for number in numbers):
        raise typer.BadParameter(f"expected a finite number but got {value}")
    return value


def numbers(parts: Iterable[str], text: str, expected: str) -> tuple[float, ...]:
    """Return the numbers that an option's text consists of, all finite.

    Raises:
        typer.BadParameter: A part is none; the message says what was expected instead of the text.
    """
    try:
        return finite(tuple(float(part) for part in parts))
    except ValueError as error:
        raise typer.BadParameter(f"expected {expected} but got {text!r}") from error


def option(text: str, *names: str, **more: Any) -> Any:
    """Return an option with this help."""
    return typer.Option(*names, help=text, **more)


def names_option(text: str, **more: Any) -> Any:
    """Return an option that takes names, or numbers, with commas between; a config file may list them."""
    return option(text, metavar="A,B,...", **more)


def out_option(text: str, **more: Any) -> Any:
    """Return an option that says where results are written."""
    return option(text, "--out", "-o", **more)


def argument(text: str, **more: Any) -> Any:
    """Return an argument with this help, which says its default where it has one."""
    return typer.Argument(help=text, show_default=False, **more)


def _run_plugins(paths: list[Path] | None) -> list[Path] | None:
    from vmmetrics.utils.plugins import run_plugins

    run_plugins([str(path) for path in paths or ()])
    return paths


def _plugin_option(what: str, callback: Callable[..., Any] | None = None) -> Any:
    text = f"Python file that registers {what}; it is executed. Repeatable."
    return option(text, "--plugin", callback=callback, show_default=False)


Plugins = Annotated[list[Path] | None, _plugin_option("plugins")]
BenchmarkPlugins = Annotated[list[Path] | None, _plugin_option("a benchmark", _run_plugins)]


OwnIndex = Annotated[
    Path | None, option("Index of your own, of 'vmmetrics calibrate', under its name.", "--index", metavar="FILE")
]


def count_option(text: str, low: int = 1) -> Any:
    """Return an option that takes a whole number."""
    return typer.Option(min=low, max=MAX_COUNT, help=text)


def seed_option(text: str) -> Any:
    """Return an option that takes a seed."""
    return typer.Option(min=0, max=MAX_SEED, help=text)


JOBS = "Worker processes. Scores do not depend on it. With 0, none: a clip that crashes ends the run."


def jobs_option(text: str, low: int = 1, *names: str) -> Any:
    """Return an option that takes a number of processes, or under other names of threads."""
    return typer.Option(*(names or ("--jobs", "-j")), min=low, max=MAX_JOBS, help=text)


def threads_option(text: str) -> Any:
    """Return an option that takes a number of requests at a time."""
    return jobs_option(text, 1, "--threads")


def number_option(text: str, low: float | None = None, high: float | None = None) -> Any:
    """Return an option that takes a finite number, or several, in a range."""
    return typer.Option(min=low, max=high, callback=finite, help=text)


def share_option(text: str) -> Any:
    """Return an option that takes a number from 0 to 1."""
    return number_option(text, 0, 1)


# Options of the commands that ask a model behind an endpoint, and the client that they describe.

KEY_VARIABLE = "VMMETRICS_ENDPOINT_KEY"
"""As :data:`vmmetrics.utils.endpoint.messages.KEY_VARIABLE`, which would load the client into every command."""

Url = Annotated[str | None, option("OpenAI-compatible endpoint (http://localhost:8000/v1).")]
ModelThere = Annotated[str | None, option("Model name at the endpoint.")]
MaxTokens = Annotated[int, count_option("Maximum tokens per answer.")]
PerMinute = Annotated[float | None, number_option("Maximum requests per minute and endpoint.", 0.01, MAX_COUNT)]
Threads = Annotated[int, threads_option("Concurrent requests.")]
PricePerMillion = Annotated[
    tuple[float, float] | None,
    option("Price of a million input and output tokens, for the cost estimate.", callback=finite, metavar="IN OUT"),
]
MaxCost = Annotated[float | None, number_option("Maximum cost: stop before it is exceeded.", 0, MAX_PRICE)]
KeyEnv = Annotated[str, option("Environment variable with the endpoint's key.")]
Yes = Annotated[bool, option("Do not ask to confirm the cost.", "--yes", "-y")]


OutputFormat = Literal["text", "json", "csv", "markdown", "latex"]
Format = Annotated[OutputFormat, option("Output format on stdout; messages go to stderr.", "--format")]
CollapsedAs = Annotated[
    Literal["zero", "skip"],
    option("INDEX of stills, slide shows and noise in means that are tested: 0, or left out.", "--collapsed"),
]
FailMissing = Annotated[
    float | None,
    typer.Option(
        "--fail-missing",
        min=0.0,
        max=1.0,
        help="Exit with 4 if a larger share of a model's clips failed or has no INDEX (gated CAS or MSS), collapsed "
        "ones aside. Default: 0.1 with a gate, else no check.",
        show_default=False,
    ),
]
Limit = Annotated[int | None, count_option("Use only the first N clips.")]
MaxSeconds = Annotated[
    float | None, number_option("Only prompts whose motion fits so many seconds (tag seconds).", 0.1, MAX_SECONDS)
]
Verify = Annotated[bool, option("Hash files scored before even if size and time agree.", "--verify")]
DryRun = Annotated[bool, option("Print what would be done; compute and write nothing.", "--dry-run")]
Clips = Annotated[  # texts: a path would lose a slash of an address
    list[str],
    argument(
        "Files, folders, quoted patterns, Parquet files, hf://datasets/ORG/NAME; s3://, gs:// and https:// addresses; "
        "lists of these (clips.jsonl, urls.txt).",
    ),
]
Scratch = Annotated[
    str | None,
    option(
        "Folder for downloaded clips, and its size limit. Default: 10GB of the temporary folder.",
        metavar="DIR[:SIZE]",
    ),
]
Relist = Annotated[bool, option("List addresses again; otherwise a resumed run keeps its list.", "--relist")]
Mirror = Annotated[
    str | None, option("Mirror the run directory to this address (s3://bucket/runs/mine).", metavar="URI")
]
RunFolder = Annotated[
    Path | None, out_option("Run directory; resumes what is there. Default: a new folder in vmmetrics-runs/.")
]
PromptsBeside = Annotated[Path | None, option("Prompt list (JSON, JSONL, CSV). Default: looked for beside the clips.")]
AssumeFps = Annotated[
    float | None, number_option("Frames per second where a clip states none. Default: 8.", 0.01, MAX_FPS)
]
Timeout = Annotated[
    float | None,
    number_option("Timeout per clip in seconds. Default: 3600.", 0.1, MAX_SECONDS),
]
EngineName = Annotated[Literal["local", "ray"], option("Where workers run: on this machine, or on a Ray cluster.")]
Address = Annotated[str | None, option("Ray: auto, or HOST:PORT of the head. Default: a local cluster for this run.")]
CpusPerJob = Annotated[float | None, number_option("Ray: CPUs per worker. Default: 1.", 0, MAX_JOBS)]
GpusPerJob = Annotated[
    float | None, number_option("Ray: GPUs per worker; with 0.25 four share one. Default: 0.", 0, MAX_JOBS)
]
Retries = Annotated[
    int | None,
    typer.Option(min=1, max=100, help="Ray: retries of a clip whose worker died. Default: 2."),
]
MaxMemory = Annotated[
    str | None,
    option(
        "Memory limit per clip, such as 2GB; longer videos go in windows, other clips are downscaled. Default: 4GB."
    ),
]
FollowLinks = Annotated[
    bool, option("Follow symlinks that point outside the given folders; without it such a clip fails.")
]
AllowFailures = Annotated[bool, option("Exit with 0 even if clips failed.")]
ClipFolder = Annotated[Path, argument("Folder of the clips.")]
DEVICE_VARIABLE = "VMMETRICS_DEVICE"
"""As :data:`vmmetrics.utils.tensors.DEVICE_VARIABLE`, which lives in a module that only torch users import."""


def check_device(text: str | None) -> str | None:
    """Check that torch has a device here, and make it the default of this process and of its workers."""
    if text is None:
        return None
    from vmmetrics.utils.tensors import devices

    with usage("--device"):
        available = devices()
        if text not in available and text != "auto":
            raise ValueError(f"no device is called {text!r} here; there is {', '.join(available)}")
    if text != "auto":
        os.environ[DEVICE_VARIABLE] = text
    return text


Device = Annotated[
    str | None,
    option("Device of the models: cpu, cuda, cuda:1, ... Default: a GPU if available.", callback=check_device),
]
Seed = Annotated[int, seed_option("Random seed.")]
LIST_HELP = "'library', 'core', 'core-300', 'mini', 'pairs', or a list (.json, .jsonl)."
PromptList = Annotated[str, argument(LIST_HELP, metavar="LIST")]
PictureFile = Annotated[Path | None, option("File for the chart (.png, .svg).")]
Parse = Annotated[bool, option("Count parts of speech, if spaCy is installed.")]
Embedding = Annotated[bool, option("Find nearest neighbours, if the embedding is installed.")]
Temperature = Annotated[float, number_option("Sampling temperature of the model that writes.", 0, 2)]
ScoredBy = Annotated[str, option("Protocol of the scores: vmmetrics or upstream.")]
RunArgument = Annotated[Path, argument("Folder of a run.")]
DataOfRun = Annotated[Path | None, option("The benchmark's data. Default: the path used by the run.")]
BenchmarkName = Annotated[str, argument("Benchmark; see 'vmmetrics understand list'.")]
Videos = Annotated[Path | None, option("Folder of the videos. Default: with the data.")]


@dataclass
class CostOptions:
    """Options of the commands that may pay for answers."""

    key_env: KeyEnv = KEY_VARIABLE
    price_per_million: PricePerMillion = None
    max_cost: MaxCost = None
    yes: Yes = False


@dataclass
class EndpointOptions(CostOptions):
    """Options of the commands that ask a model behind an endpoint."""

    url: Url = None
    model: ModelThere = None
    per_minute: PerMinute = None
    threads: Threads = 4

    def client(self, replies: Path, **asking: Any) -> Client | None:
        """Return the client of the endpoint; None where no endpoint is named.

        Args:
            replies: Folder where replies are kept.
            asking: Other fields of :class:`~vmmetrics.utils.endpoint.messages.EndpointSettings`.

        Raises:
            typer.BadParameter: The options do not go together, or one cannot be.
        """
        from vmmetrics.utils.endpoint.client import Client
        from vmmetrics.utils.endpoint.messages import EndpointSettings

        if (self.url is None) != (self.model is None):
            raise typer.BadParameter("--url and --model go together")
        if self.url is None or self.model is None:
            if self.price_per_million is not None or self.max_cost is not None:
                raise typer.BadParameter("--price-per-million and --max-cost need --url and --model")
            return None
        price, output_price = self.price_per_million or (None, None)
        asking |= {"per_minute": self.per_minute, "key_variable": self.key_env}
        with usage():
            settings = EndpointSettings(self.url, self.model, input_price=price, output_price=output_price, **asking)
        return Client(settings, replies, self.max_cost)


def check_outputs(lists: Sequence[str | Path], outputs: Sequence[Path | None]) -> None:
    """Refuse, before any work, outputs that would overwrite a list that is read, or one another.

    Args:
        lists: Lists that are read, as given.
        outputs: Files that will be written; None for those not asked for.

    Raises:
        typer.BadParameter: One would.
    """
    from vmmetrics.utils.weights.manifest import shipped_list

    written = [os.path.realpath(path) for path in outputs if path is not None]  # a loop of symlinks raises nothing
    if set(written) & {os.path.realpath(shipped_list(name)) for name in lists}:
        raise typer.BadParameter("an output would overwrite an input list; choose another name")
    if len(set(written)) < len(written):
        raise typer.BadParameter("two outputs have the same path; give them different names")


def check_picture(path: Path | None) -> None:
    """Refuse a name that no picture can have, before anything is worked out."""
    if path is not None and path.suffix.lower() not in (".png", ".svg"):
        raise typer.BadParameter(f"expected a name in .png or .svg but got {path}", param_hint="--picture")
