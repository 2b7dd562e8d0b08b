"""The ``vmmetrics`` command: its groups and commands, each imported and built when it is asked for."""

from __future__ import annotations

from typing import Annotated

import typer

from vmmetrics.cli.command import group

cas = group(
    "Commonsense adherence: labels, and classifiers that learn from them.",
    {
        "label": "cas:label",
        "reward": "cas:reward",
        "train": "cas:train",
        "eval": "cas:evaluate",
    },
)
audit = group(
    "Audit any scorer of videos: what it sees, ignores, is fooled by, and breaks on. For example: vmmetrics audit "
    "my_metric:score --range 0 1 --out card (options: run -h).",
    {"run": "audit:run", "checks": "audit:checks", "make": "audit_results:make", "read": "audit_results:read"},
    default="run",
)
prompts = group(
    "Motion prompts: extract, generate, filter, review, select, ask, measure.",
    {
        "review": "prompts_review:review",
        "select": "prompts:select",
        "stats": "prompts:stats",
        "compare": "prompts:compare",
        "difficulty": "prompts:difficulty",
        "extract": "prompts:extract",
        "first-frames": "generate_clips:first_frames",
        "filter": "prompts_filter:filter_prompts",
        "generate": "prompts:generate",
        "ask": "prompts_ask:ask",
    },
)
rate = group(
    "Rating studies by ITU-T P.910, P.913 and BT.500: collect people's judgements of clips.",
    {
        "new": "rate:new",
        "check": "rate:check",
        "serve": "rate:serve",
        "status": "rate:status",
        "export": "rate_export:export",
        "pack": "rate_sites:pack",
        "merge": "rate_sites:merge",
        "forget": "rate:forget",
        "share": "rate_pool:share",
        "pool": "rate_pool:pool",
    },
)
understand = group(
    "Motion understanding of video language models: run, score, compare.",
    {
        "run": "understand_run:run",
        "score": "understand:score",
        "compare": "understand:compare",
        "leaderboard": "understand:leaderboard",
        "build": "understand:build",
        "synthetic": "understand:synthetic",
        "submission": "understand:submission",
        "lmms-eval": "understand:lmms_eval",
        "minfps": "understand_minfps:minfps",
        "list": "understand:list_benchmarks",
    },
)
weights = group(
    "Published weights: list, fetch, verify, path.",
    {"list": "weights:list_weights", "fetch": "weights:fetch", "verify": "weights:verify", "path": "weights:path"},
)
app = group(
    "Motion scores for generated video: how good the motion is, and what cost points.",
    {
        "score": "score:score",
        "generate-clips": "generate_clips:generate_clips",
        "show": "score:show",
        "status": "status:status",
        "merge": "score:merge",
        "report": "report:report",
        "leaderboard": "leaderboard:leaderboard",
        "diff": "diff:diff",
        "align": "align:align",
        "calibrate": "calibrate:calibrate",
        "plan": "align:plan",
        "baselines": "baselines:baselines",
        "filter": "filter:filter_clips",
        "probe": "probe:probe",
        "audit": audit,
        "doctor": "weights:doctor",
        "verify": "verify:verify",
        "serve": "serve:serve",
        "cas": cas,
        "prompts": prompts,
        "rate": rate,
        "understand": understand,
        "weights": weights,
    },
    completion=True,
)


def _print_version(value: bool) -> None:
    if value:
        from vmmetrics.utils.version import __version__

        typer.echo(f"vmmetrics {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Hold the options that come before a subcommand."""
