"""Times of interactions, in seconds since 1970."""

from __future__ import annotations

import datetime
import math
from typing import Any, Union

import numpy as np

from . import _ease
from ._ids import Array

Time = Union[None, str, float, datetime.date, np.datetime64]

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
MOMENT = datetime.timedelta(microseconds=1)


def seconds(value: Any, what: str = "a time") -> float:
    """A date, a datetime (without a zone: UTC), a text or a number, as the library takes
    them in files."""
    if isinstance(value, np.datetime64):
        return float(column_seconds(np.array([value]))[0])
    if isinstance(value, datetime.datetime):
        if value != value:  # NaT of pandas
            raise ValueError(f"{what} is missing")
        if value.tzinfo is None:
            value = value.replace(tzinfo=datetime.timezone.utc)
        return float((value - EPOCH) // MOMENT) / 1e6
    if isinstance(value, datetime.date):
        return (value - EPOCH.date()).days * 86400.0
    if isinstance(value, bytes):
        text = value
    elif isinstance(value, str):
        text = value.encode("utf-8", "surrogateescape")
    elif isinstance(value, bool):
        raise ValueError(f"{what} is no {value!r}")
    else:
        try:
            text = repr(float(value)).encode()
        except (TypeError, ValueError):
            raise ValueError(f"{what} is a date, a datetime, a text or a number, not "
                             f"{value!r}") from None
    if b"\0" in text:
        raise ValueError(f"{what} has a zero byte")
    return float(_ease.parse_time(text))


def bound(value: Any, what: str) -> float:
    return math.nan if value is None else seconds(value, what)


def half_life_days(value: Any) -> float:
    """Days, as a number or a timedelta."""
    if value is None:
        return 0.0
    if isinstance(value, np.timedelta64):
        value = value / np.timedelta64(1, "D")
    elif isinstance(value, datetime.timedelta):
        value = value / datetime.timedelta(days=1)
    if not (float(value) > 0 and math.isfinite(value)):
        raise ValueError(f"half_life is a number of days above 0, not {value!r}")
    return float(value)


def column_seconds(column: Any) -> Array:
    """A column of datetimes, of numbers or of texts."""
    zone = getattr(column, "dt", None)  # of pandas
    if zone is not None and hasattr(zone, "tz_convert") and getattr(zone, "tz", None):
        column = zone.tz_convert("UTC").dt.tz_localize(None)
    values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if values.dtype.kind == "M":
        if np.isnat(values).any():
            raise ValueError("a time is missing")
        return np.ascontiguousarray(values.astype("datetime64[us]").astype(np.int64) / 1e6)
    if values.dtype.kind in "iuf":
        return np.ascontiguousarray(values, np.float64)
    return np.array([seconds(v) for v in values.tolist()], np.float64)
