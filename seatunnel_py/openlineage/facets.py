"""Facets: named parts of a lineage event, each with the address of its schema. Pure.

The standard ones are those of OpenLineage, in the versions that the addresses name. Facets that begin with
``seatunnel`` are defined here; consumers that do not know them keep them as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seatunnel_py import __version__
from seatunnel_py.api.transform import LineageKind
from seatunnel_py.openlineage.job_datasets import Fields, InputColumn, OutputLineage
from seatunnel_py.plan.tables.column_lineage import DIRECT

PRODUCER = f"urn:seatunnel-py:{__version__}"
EVENT_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
UNKNOWN = "the step does not declare its lineage: this column may depend on all input columns"
MESSAGE_CHARACTERS_MAX = 2_000
SQL_CHARACTERS_MAX = 20_000

_URI = re.compile(
    r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\])?([\w.~:/?#@!$&'()*+,;=-]|%[0-9a-f]{2})*", re.ASCII | re.IGNORECASE
)

Facet = dict[str, Any]
_VERSIONS = {
    "ColumnLineageDatasetFacet": "1-2-0",
    "DatasourceDatasetFacet": "1-0-1",
    "ErrorMessageRunFacet": "1-0-1",
    "InputStatisticsInputDatasetFacet": "1-0-0",
    "JobTypeJobFacet": "2-0-4",
    "NominalTimeRunFacet": "1-0-1",
    "OutputStatisticsOutputDatasetFacet": "1-0-2",
    "ParentRunFacet": "1-2-0",
    "ProcessingEngineRunFacet": "1-1-1",
    "SQLJobFacet": "1-1-0",
    "SchemaDatasetFacet": "1-2-0",
}


def standard(facet: str, /, **fields: Any) -> Facet:
    """A facet of OpenLineage."""
    address = f"https://openlineage.io/spec/facets/{_VERSIONS[facet]}/{facet}.json#/$defs/{facet}"
    return {"_producer": PRODUCER, "_schemaURL": address, **fields}


def own(facet: str, /, **fields: Any) -> Facet:
    """A facet of ours."""
    return {"_producer": PRODUCER, "_schemaURL": f"urn:seatunnel-py:facet:{facet}:1", **fields}


def schema(fields: Fields) -> Facet:
    return standard("SchemaDatasetFacet", fields=[{"name": name, "type": kind} for name, kind in fields])


def data_source(namespace: str) -> Facet:
    """A namespace may have a character that no URI has, as in the name of a host outside of ASCII."""
    uri = {"uri": namespace} if _URI.fullmatch(namespace) else {}
    return standard("DatasourceDatasetFacet", name=namespace, **uri)


def column_lineage(lineage: OutputLineage, names: Sequence[str]) -> Facet:
    """The lineage of these columns. ``dataset``: input columns that decide which rows come out."""
    written: dict[tuple[frozenset[InputColumn], str], list[dict[str, Any]]] = {}  # columns of an unknown step are alike
    fields = {}
    for name in names:
        key = lineage.columns[name], UNKNOWN if name in lineage.unknown else ""
        if key not in written:
            written[key] = _inputs(*key)
        fields[name] = {"inputFields": written[key]}
    rows = {"dataset": found} if (found := _inputs(lineage.rows, "")) else {}
    return standard("ColumnLineageDatasetFacet", fields=fields, **rows)


def _inputs(uses: Iterable[InputColumn], description: str) -> list[dict[str, Any]]:
    """Input columns in a fixed order, each once, with all the ways in which the output depends on it."""
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for use in sorted(uses):
        how: dict[str, Any] = {
            "type": "DIRECT" if LineageKind(use.kind) in DIRECT else "INDIRECT",
            "subtype": use.kind,
            "masking": use.masking,
            **({"description": description} if description else {}),
        }
        found.setdefault((use.dataset.namespace, use.dataset.name, use.column), []).append(how)
    return [
        {"namespace": namespace, "name": name, "field": column, "transformations": ways}
        for (namespace, name, column), ways in found.items()
    ]


def input_statistics(rows: int) -> Facet:
    return standard("InputStatisticsInputDatasetFacet", rowCount=rows)


def output_statistics(rows: int, size: int | None) -> Facet:
    """``size``: in bytes; None: unknown."""
    known = {} if size is None else {"size": size}
    return standard("OutputStatisticsOutputDatasetFacet", rowCount=rows, **known)


def job_type(*, streaming: bool) -> Facet:
    kind = "STREAMING" if streaming else "BATCH"
    return standard("JobTypeJobFacet", processingType=kind, integration="SEATUNNEL_PY", jobType="JOB")


def sql(queries: Sequence[str]) -> Facet:
    return standard("SQLJobFacet", query=";\n".join(queries)[:SQL_CHARACTERS_MAX], dialect="spark")


def processing_engine(name: str, version: str) -> Facet:
    return standard("ProcessingEngineRunFacet", name=name, version=version, openlineageAdapterVersion=__version__)


def error_message(message: str) -> Facet:
    return standard("ErrorMessageRunFacet", message=message[:MESSAGE_CHARACTERS_MAX], programmingLanguage="PYTHON")


def nominal_time(start: str) -> Facet:
    return standard("NominalTimeRunFacet", nominalStartTime=start)


def parent(run: Mapping[str, Any], root: Mapping[str, Any] | None) -> Facet:
    return standard("ParentRunFacet", **run, **({} if root is None else {"root": root}))
