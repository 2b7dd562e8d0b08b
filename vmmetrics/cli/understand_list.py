"""``vmmetrics understand list``: the benchmarks that are there."""

from __future__ import annotations


def list_benchmarks() -> None:
    """Print the benchmarks: name, default frames, whether scoring asks a judge, and where they come from."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.understanding import registry

    output, _ = open_consoles()
    shown = Table("benchmark", "frames", "judge", "about", box=SIMPLE_HEAD)
    for name in registry.names():
        benchmark = registry.find(name)
        about = ": ".join(str(benchmark.data[key]) for key in ("title", "paper") if benchmark.data.get(key))
        judge = "yes" if benchmark.needs_judge else ""
        shown.add_row(Text(name), Text(benchmark.policy), judge, Text(about))
    output.print(shown)
