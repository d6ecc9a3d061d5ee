"""Set-ups of sinks as plain data, for records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seatunnel_py.api.plain_data import plain_data
from seatunnel_py.api.schema import Detail, DetailKind
from seatunnel_py.api.sink import Effect, Present, Setup, Treatment, Visible
from seatunnel_py.api.types import Conversion


def setup_plain(setup: Setup) -> dict[str, Any]:
    plain = {
        "effects": plain_data(setup.effects),
        "data": setup.data,
        "visible": setup.visible,
        "counted": setup.counted,
    }
    if setup.present is not None:
        plain["present"] = plain_data(setup.present)
    if setup.conversions:
        plain["conversions"] = plain_data(setup.conversions)
    if setup.left_behind:
        plain["left_behind"] = plain_data(setup.left_behind)
    return plain


def setup_of(plain: Mapping[str, Any]) -> Setup:
    """The inverse of ``setup_plain``."""
    return Setup(
        tuple(Effect(**effect) for effect in plain["effects"]),
        plain["data"],
        Visible(plain["visible"]),
        plain.get("counted", True),  # missing in records of older versions
        tuple(Conversion(**one) for one in plain.get("conversions", ())),
        _present_of(plain.get("present")),
        tuple(_detail_of(one) for one in plain.get("left_behind", ())),
    )


def _detail_of(plain: Mapping[str, Any]) -> Detail:
    return Detail(**{**plain, "kind": DetailKind(plain["kind"]), "columns": tuple(plain["columns"])})


def _present_of(plain: Mapping[str, Any] | None) -> Present | None:
    return None if plain is None else Present(**{**plain, "treatment": Treatment(plain["treatment"])})
