"""Strict reading of JSON: no NaN, and values of the type of their field."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from vmmetrics.errors import SetupError, refusing
from vmmetrics.utils.storage.opening import read_regular

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator, ValidationError


# Results as values that JSON has.


def plain(value: Any, number: Callable[[float], float | None] = lambda v: v if v == v else None) -> Any:
    """Return ``value`` with dataclasses and named tuples as mappings, arrays and tuples as lists, and NaN as None.

    Args:
        value: A result.
        number: Conversion of a float.

    >>> plain({"a": (1, float("nan"))})
    {'a': [1, None]}
    """
    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name), number) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(part, number) for key, part in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict(), number)
    if isinstance(value, list | tuple):
        return [plain(part, number) for part in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist(), number)
    return number(value) if isinstance(value, float) else value


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with every text in it changed, names of fields included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(str(key)): with_texts(part, change) for key, part in value.items()}
    return [with_texts(part, change) for part in value] if isinstance(value, list | tuple) else value


LARGEST_NUMBER = 1e15
"""Bound on the size of any number that is read: sums and squares stay finite, and whole numbers exact."""
_SHOWN = 40  # characters of a wrong value in a message

T = TypeVar("T")


def parse_json(text: str | bytes, gaps: bool = False) -> Any:
    """Return the value of a JSON text.

    Args:
        text: UTF-8 where it is bytes.
        gaps: Accept NaN and Infinity, which Python writes where a table has a gap.

    Raises:
        ValueError: It is not JSON, nested too deeply, or has a number that is not finite or has too many digits.
    """
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
        return json.loads(decoded) if gaps else _FINITE.decode(decoded)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"expected UTF-8 text but byte {error.start} is not") from error
    except ValueError as error:
        reason = str(error).partition("; use sys.")[0]  # a hint for programmers
        raise ValueError(reason) from error


def read_json(path: Path) -> Any:
    """Return the value of a JSON file.

    Raises:
        SetupError: It cannot be read, or is not JSON.
    """
    try:
        with refusing("read", path):
            return parse_json(read_regular(path))
    except ValueError as error:
        raise SetupError(f"{path} cannot be read as JSON: {error}") from error


def convert(kind: type[T], value: Any) -> T:
    """Return a parsed JSON value as ``kind``: dataclasses from objects, tuples from arrays, numbers only from numbers.

    Fields that a dataclass does not have are ignored, unless it forbids them.

    Raises:
        ValueError: A value is of another type, or a number beyond :data:`LARGEST_NUMBER`; the text names its field.

    >>> convert(dict[str, float], {"pas": True})
    Traceback (most recent call last):
        ...
    ValueError: pas: expected a finite number up to 1e+15 but got True
    """
    from pydantic_core import ValidationError

    try:
        converted: T = _validator(cast("Any", kind)).validate_python(value)
    except ValidationError as error:
        raise ValueError(_sentence(error, value)) from None
    return converted


def convert_json(kind: type[T], text: bytes) -> T:
    """Return :func:`convert` of :func:`parse_json` in a third of their time.

    Raises:
        ValueError: As for these.
    """
    from pydantic_core import ValidationError

    try:
        converted: T = _validator(cast("Any", kind)).validate_json(text)
    except ValidationError:  # stray surrogates as well, which the other parser takes
        try:
            value = parse_json(text)
        except ValueError as error:
            raise ValueError(f"not JSON: {error}") from error
        return convert(kind, value)
    return converted


def check(kind: type[T], value: Any, where: object) -> T:
    """Return :func:`convert`, or end with a message for the user.

    Raises:
        SetupError: The value does not fit; the message begins with ``where`` and names the field.
    """
    try:
        return convert(kind, value)
    except ValueError as error:
        raise SetupError(f"{where}, {error}") from error


def finite(text: str) -> float:
    """Return the number that JSON digits stand for.

    Raises:
        ValueError: It is NaN, an infinity, or more than a float can hold.
    """
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"expected finite numbers but got {text[:_SHOWN]}")


_FINITE = json.JSONDecoder(parse_float=finite, parse_constant=_refuse)


@cache
def _validator(kind: Any) -> SchemaValidator:
    from pydantic import TypeAdapter  # here, so that commands that read nothing do not wait for its import
    from pydantic_core import SchemaValidator

    return SchemaValidator(_strict(TypeAdapter(kind).core_schema))


def _strict(schema: Any) -> Any:
    """Return a schema whose numbers are bounded and are made of nothing else; whole numbers stay whole.

    Pydantic's own strict mode refuses dataclasses made of objects and tuples made of arrays as well.
    """
    if isinstance(schema, list):
        return [_strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "int":
        return {"ge": -LARGEST_NUMBER, "le": LARGEST_NUMBER, **schema, "strict": True}
    if schema.get("type") == "float":
        number = {"ge": -LARGEST_NUMBER, "le": LARGEST_NUMBER, **schema, "strict": True, "allow_inf_nan": False}
        integer = {name: value for name, value in number.items() if name != "allow_inf_nan"} | {"type": "int"}
        words = {"custom_error_type": "number", "custom_error_message": f"a finite number up to {LARGEST_NUMBER:.0e}"}
        return {"type": "union", "choices": [integer, number], **words}
    if schema.get("type") == "bool":
        return {**schema, "strict": True}
    return {key: _strict(part) for key, part in schema.items()}


_EXPECTED = {
    "string_type": "text", "dict_type": "an object", "mapping_type": "an object", "dataclass_type": "an object",
    "tuple_type": "a list", "list_type": "a list", "int_type": "a whole number", "bool_type": "true or false",
    "missing": "a value", "too_long": "fewer values", "unexpected_keyword_argument": "no such field",
}  # fmt: skip


def _sentence(error: ValidationError, value: Any) -> str:
    """Return one line: the field that does not fit, the expected type and the value."""
    details = error.errors(include_url=False, include_context=False)
    if details[0]["type"] == "value_error":  # of a dataclass itself, in its own words
        return details[0]["msg"].removeprefix("Value error, ")
    path, got = _field_path(details[0]["loc"], value)
    expected: dict[str, None] = {}  # in the order of the types that would do
    for detail in details:
        if _field_path(detail["loc"], value)[0] == path:
            expected[_EXPECTED.get(detail["type"]) or detail["msg"].removeprefix("Input should be ")] = None
    shown = repr(got)
    if details[0]["type"] == "missing":
        path, shown = [*path, str(details[0]["loc"][-1])], "nothing"
    if len(shown) > _SHOWN:
        shown = f"{shown[:_SHOWN]}…"
    where = f"{'.'.join(path)}: " if path else ""
    return f"{where}expected {' or '.join(expected)} but got {shown}"


def _field_path(location: tuple[int | str, ...], value: Any) -> tuple[list[str], Any]:
    """Return the names of the fields that lead to a value that does not fit, and it; names of types are left out."""
    path: list[str] = []
    for name in location:
        try:
            value = value[name]
        except (KeyError, IndexError, TypeError):
            continue
        path.append(str(name))
    return path, value
