"""``vmmetrics understand score``: answers of a run scored anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vmmetrics.cli.bars import agreed
from vmmetrics.cli.endpoint_options import KEY_VARIABLE, KeyEnv, MaxCost, Prices, Yes
from vmmetrics.cli.numbers import MAX_COUNT
from vmmetrics.cli.stopping import EXIT_INTERRUPTED
from vmmetrics.cli.understand_output import judge_of, print_result, reopen, scoring


def score(
    folder: Annotated[Path, typer.Argument(help="Folder of a run.")],
    protocol: Annotated[str, typer.Option(help="vmmetrics, or upstream as the released code does.")] = "vmmetrics",
    data: Annotated[Path | None, typer.Option(help="The benchmark's data. Default: where the run had them.")] = None,
    judge: Annotated[
        str | None, typer.Option(help="endpoint:MODEL@URL, or a file with what a judge said before.")
    ] = None,
    tokens: Annotated[int, typer.Option(min=1, max=MAX_COUNT, help="Most tokens of a judge's answer.")] = 8192,
    prices: Prices = None,
    max_cost: MaxCost = None,
    key_env: KeyEnv = KEY_VARIABLE,
    yes: Yes = False,
) -> None:
    """Score the answers of a run; nothing is asked of the model. The benchmark's data must be those of the run."""
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.understanding.harness import scoring as work
    from vmmetrics.understanding.harness.running import asked_of
    from vmmetrics.utils.endpoint import Client

    output, messages = open_consoles()
    way = scoring(protocol)
    run, benchmark, loaded, answers = reopen(folder, data, messages)
    configuration, session = run["configuration"], run["sessions"][-1]
    shown = configuration.get("frames")
    looks = shown is not None and not str(shown["policy"]).startswith("none")
    questions = asked_of(loaded.questions, session.get("limit"), looks, answers)
    asked = judge_of(judge, folder, tokens, prices, max_cost, key_env, messages)
    expected = benchmark.judge_estimate(questions, answers, asked) if isinstance(asked, Client) else None
    if expected is not None:
        messages.print(f"{judge}: {expected}", soft_wrap=True)
        if expected.requests and not yes and not agreed(messages):
            raise typer.Exit(EXIT_INTERRUPTED)
    result = work.score(benchmark, configuration, questions, answers, way, asked, loaded.problems)
    files = work.write(result, folder)
    print_result(result, output)
    for file in files:
        messages.print(f"written: {file}", soft_wrap=True)
