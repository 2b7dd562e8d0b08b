"""``vmmetrics doctor``: what is here, what can run, and what mends the rest."""

from __future__ import annotations

import typer


def doctor() -> None:
    """Say what is installed, which presets can run here, and which command mends what is missing."""
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.scoring import checkup

    output, _ = open_consoles()
    report = checkup.check_up()
    for title, findings in report.items():
        output.print(title, style="bold")
        for finding in findings:
            sign, style = {True: ("ok", "green"), False: ("BAD", "red"), None: ("--", "dim")}[finding.good]
            output.print(f"  {sign:<4}", style=style, end="")
            output.print(f"{finding.name}: {finding.text}", soft_wrap=True)
            if finding.cure:
                output.print(f"       mend it with: {finding.cure}", soft_wrap=True)
    if any(finding.good is False for findings in report.values() for finding in findings):
        raise typer.Exit(1)
