"""Values in smallcaps, as JSON-like data of Python."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Dict, List

from .protocol import Value


@dataclass(frozen=True)
class Reference:
    """A capability or a promise in a value, by the identifier of its formula."""

    id: str
    #: The name that its maker gave it. Foreign text.
    alleged: str = ""
    is_promise: bool = False


@dataclass(frozen=True)
class Symbol:
    """A symbol of JavaScript."""

    name: str


def decode(value: Value) -> Any:
    """Returns a value as data: ``None``, ``bool``, ``float``, ``int`` (a bigint), ``str``, ``list`` and ``dict``.

    ``undefined`` becomes ``None``. Numbers stay as JSON reads them. Raises :class:`ValueError` for values that have no
    such form: tagged values, errors and bytes.
    """
    body = value["body"]
    if not body.startswith("#"):
        raise ValueError("a value in smallcaps begins with `#`")
    return _decode(json.loads(body[1:]), value["slots"])


def _decode(data: Any, slots: List[str]) -> Any:
    if isinstance(data, list):
        return [_decode(item, slots) for item in data]
    if isinstance(data, dict):
        if any(key.startswith("#") for key in data):
            raise ValueError(f"cannot read a value with the tag {sorted(data)}")
        return {_unescape(key): _decode(item, slots) for key, item in data.items()}
    if isinstance(data, str) and data[:1] and "!" <= data[0] <= "-":
        return _decode_special(data, slots)
    return data


def _unescape(text: str) -> str:
    return text[1:] if text.startswith("!") else text


def _decode_special(text: str, slots: List[str]) -> Any:
    kind, rest = text[0], text[1:]
    if kind == "!":
        return rest
    if kind in "+-":
        return int(text)
    if kind == "%":
        return Symbol(rest)
    if kind in "$&":
        number, _, alleged = rest.partition(".")
        return Reference(slots[int(number)], alleged, kind == "&")
    constants: Dict[str, Any] = {
        "#undefined": None,
        "#NaN": math.nan,
        "#Infinity": math.inf,
        "#-Infinity": -math.inf,
    }
    if text in constants:
        return constants[text]
    raise ValueError(f"cannot read {text!r} as smallcaps")


def encode(data: Any) -> Value:
    """Returns data as a value. Integers become numbers; :class:`Reference` becomes a slot."""
    slots: List[str] = []
    body = json.dumps(_encode(data, slots), ensure_ascii=False, allow_nan=False)
    return {"body": "#" + body, "slots": slots}


def _encode(data: Any, slots: List[str]) -> Any:
    if isinstance(data, bool) or data is None:
        return data
    if isinstance(data, int):
        # Beyond this, a number of JavaScript would be another number.
        return data if abs(data) < 2**53 else f"{data:+d}"
    if isinstance(data, float):
        if math.isnan(data):
            return "#NaN"
        if math.isinf(data):
            return "#Infinity" if data > 0 else "#-Infinity"
        return data
    if isinstance(data, str):
        return "!" + data if data[:1] and "!" <= data[0] <= "-" else data
    if isinstance(data, (list, tuple)):
        return [_encode(item, slots) for item in data]
    if isinstance(data, dict):
        return {_encode(str(key), slots): _encode(item, slots) for key, item in data.items()}
    if isinstance(data, Symbol):
        return "%" + data.name
    if isinstance(data, Reference):
        if data.id not in slots:
            slots.append(data.id)
        number = f"{'&' if data.is_promise else '$'}{slots.index(data.id)}"
        return f"{number}.{data.alleged}" if data.alleged else number
    raise TypeError(f"cannot write {type(data).__name__} as smallcaps")
