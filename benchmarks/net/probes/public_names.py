"""Print every public name with its signature, the first line of its docstring, and its members."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from typing import Any

import vmmetrics


def first_line(value: object) -> str:
    return (inspect.getdoc(value) or "").partition("\n")[0]


def signature(value: Any) -> str:
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return "-"


def show(name: str, value: Any, members: bool = True) -> None:
    kind = type(value).__name__
    if inspect.ismodule(value):
        print(f"{name}: module: {first_line(value)}")
    elif not callable(value):
        print(f"{name}: {kind} = {value!r}")
    else:
        print(f"{name}: {kind} {signature(value)}: {first_line(value)}")
    if inspect.isclass(value) and members:
        print(f"  bases: {[base.__name__ for base in value.__mro__[1:]]}")
        if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                print(f"  field {field.name}: {field.type} = {field.default!r} {field.init}")
        for member in sorted(set(dir(value)) - set(dir(object))):
            if not member.startswith("_"):
                found = inspect.getattr_static(value, member)
                if isinstance(found, property):
                    print(f"  .{member}: property: {first_line(found)} -> {found.fget.__annotations__.get('return')}")
                elif not type(found).__name__.startswith("member"):
                    show(f"  .{member}", getattr(value, member), members=False)


print("version", vmmetrics.__version__)
print("dir", [name for name in dir(vmmetrics) if name in vmmetrics.__all__ or not name.startswith("_")])
print("all", vmmetrics.__all__)
for name in sorted(vmmetrics.__all__):
    show(f"vmmetrics.{name}", getattr(vmmetrics, name))
functional = vmmetrics.functional
print("functional", functional.__all__)
for name in sorted(functional.__all__):
    show(f"functional.{name}", getattr(functional, name))
table = type(vmmetrics.score([__import__("numpy").zeros((4, 64, 64, 3), "uint8")], fps=8, metrics=("mss",)))
show("table", table)
show("read_clip", vmmetrics.read_clip)
try:
    from vmmetrics.torch_metric import VideoMotionScore
except vmmetrics.SetupError as error:
    print("torch_metric", error)
else:
    show("VideoMotionScore", VideoMotionScore, members=False)
try:
    vmmetrics.nothing  # noqa: B018
except AttributeError as error:
    print(error)
print(sys.modules["vmmetrics"].__doc__)
