"""Homes with the lineages of runs, as drivers leave them: of a shop, of wide tables, of many tables, of hostile names."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from e2e.page.homes import HOSTILE, ended, names, table
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import write_json

Use = tuple[str, str, str, str]
"""The step, table and column of a source, and the kind."""
ORDERS, CUSTOMERS = ("orders", "shop.orders"), ("customers", "crm.customers")
SHOP: Mapping[str, Sequence[Use]] = {
    "order_id": [(*ORDERS, "order_id", "IDENTITY")],
    "customer_id": [(*ORDERS, "customer_id", "IDENTITY")],
    "customer": [(*CUSTOMERS, "first_name", "TRANSFORMATION"), (*CUSTOMERS, "last_name", "TRANSFORMATION")],
    "email_hash": [(*CUSTOMERS, "email", "masking")],
    "country": [(*CUSTOMERS, "country", "IDENTITY")],
    "placed_at": [(*ORDERS, "placed_at", "IDENTITY")],
    "placed_on": [(*ORDERS, "placed_at", "TRANSFORMATION")],
    "amount": [(*ORDERS, "total_cents", "TRANSFORMATION"), (*ORDERS, "discount_cents", "TRANSFORMATION")],
    "customer_revenue": [(*ORDERS, "total_cents", "AGGREGATION"), (*ORDERS, "customer_id", "WINDOW")],
    "currency": [(*ORDERS, "currency", "IDENTITY")],
    "channel": [],
    "risk_score": [
        ("scores", "fraud.scores", column, "TRANSFORMATION") for column in ("device", "ip_country", "score")
    ],
}
SHOP_ROWS: Sequence[Use] = [(*ORDERS, "status", "FILTER"), (*ORDERS, "customer_id", "JOIN"), (*CUSTOMERS, "id", "JOIN")]
WIDE = 300


def target(
    step: str, name: str, columns: Mapping[str, Sequence[Use]], rows: Sequence[Use] = (), unknown: Sequence[str] = ()
) -> dict[str, Any]:
    """The lineage of a target table, as it is stored."""
    plain = {column: [_use(*one) for one in uses] for column, uses in columns.items()}
    about = {"step": step, "target": name, "table": name.split()[-1], "columns": plain}
    return {**about, "rows": [_use(*one) for one in rows], "unknown": list(unknown)}


def _use(step: str, table: str, column: str, kind: str) -> dict[str, Any]:
    plain: dict[str, Any] = {"step": step, "table": table, "column": column, "kind": kind}
    return {**plain, "kind": "TRANSFORMATION", "masking": True} if kind == "masking" else plain


def shop() -> dict[str, Any]:
    """A table of two joined ones, and of one that a step of unknown lineage has read."""
    return target("warehouse", "PostgreSQL table sales.orders", SHOP, SHOP_ROWS, ["risk_score"])


def warehouse() -> list[dict[str, Any]]:
    """The tables of a warehouse: one of many sources, a report, and copies."""
    report = {name: SHOP[name] for name in ("placed_on", "country", "customer_revenue")}
    copies = [("shop", name) for name in ("products", "returns", "stock")] + [
        ("crm", "addresses"),
        ("crm", "campaigns"),
    ]
    columns = ("id", "name", "changed_at")
    return [
        shop(),
        target("report", "PostgreSQL table sales.daily", report, SHOP_ROWS),
        *(
            target(
                "copy",
                f"PostgreSQL table {area}.{name}",
                {one: [(area, f"{area}.{name}", one, "IDENTITY")] for one in columns},
            )
            for area, name in copies
        ),
    ]


def wide(unknown: bool) -> dict[str, Any]:
    """A table of 300 columns: each goes on as it is, or each may depend on all."""
    kind = "TRANSFORMATION" if unknown else "IDENTITY"
    columns = [f"measure_{at:03}" for at in range(WIDE)]
    uses = {name: [("in", "erp.facts", one, kind) for one in (columns if unknown else [name])] for name in columns}
    rows = [("in", "erp.facts", one, "FILTER") for one in columns] if unknown else []
    return target(
        "out", f"PostgreSQL table lake.{'guessed' if unknown else 'facts'}", uses, rows, columns if unknown else []
    )


def with_lineage(home: Home, run: str, targets: Sequence[dict[str, Any]], ago: float = 900, name: str = "") -> None:
    """A run that has ended and whose lineage is stored."""
    rng = random.Random(3)
    ended(home, run, [table(one["table"], "DONE", 900, rng) for one in targets], ago, name)
    write_json(home.place(run).path / "run_lineage.json", {"column_lineage": list(targets)}, durable=False)


def many(number: int) -> list[dict[str, Any]]:
    """Target tables with four columns each."""
    columns = ("id", "name", "amount", "changed_at")
    return [
        target("lake", f"Parquet lake/{name}", {one: [("erp", name, one, "IDENTITY")] for one in columns})
        for name in names(number)
    ]


def hostile() -> dict[str, Any]:
    """Names that try to be more than text."""
    uses = {name: [(name, name, name, "TRANSFORMATION")] for name in HOSTILE}
    rows = [(HOSTILE[4], HOSTILE[4], HOSTILE[4], "FILTER")]
    return target(HOSTILE[0], HOSTILE[1], uses, rows, [HOSTILE[2]])
