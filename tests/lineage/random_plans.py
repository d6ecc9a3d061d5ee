"""Random chains of transforms over a table of FakeSource, as job files, with the rows that it gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

STEPS_MAX = 5
ROWS = 6
TYPES = ("bigint", "string", "double", "json")
"""``json``: a string that holds an object, which JsonPath can read."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns after a step: names and types."""

    of: tuple[tuple[str, str], ...]

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.of]

    def texts(self) -> list[str]:
        return [name for name, kind in self.of if kind in ("string", "json")]

    def put(self, *added: tuple[str, str]) -> Columns:
        new = dict(added)
        return Columns((*((name, new.pop(name, kind)) for name, kind in self.of), *new.items()))


Step = tuple[str, dict[str, Any], Columns]
"""Plugin, options, and the columns after it."""


@dataclass(frozen=True, slots=True)
class RandomPlan:
    """A job: the columns of its source with their rows, and the steps after it."""

    columns: Columns
    rows: tuple[tuple[Any, ...], ...]
    steps: tuple[Step, ...]

    def job(self) -> str:
        """The job file, as JSON."""
        fields = {name: "string" if kind == "json" else kind for name, kind in self.columns.of}
        source = {
            "plugin_name": "FakeSource",
            "plugin_output": "s0",
            "schema": {"table": "db.t", "fields": fields},
            "rows": [{"kind": "INSERT", "fields": [*row]} for row in self.rows],
        }
        transforms = [
            {"plugin_name": plugin, "plugin_input": f"s{at}", "plugin_output": f"s{at + 1}", **options}
            for at, (plugin, options, _) in enumerate(self.steps)
        ]
        sink = {"plugin_name": "Console", "plugin_input": f"s{len(self.steps)}"}
        return json.dumps({"env": {"job.mode": "BATCH"}, "source": [source], "transform": transforms, "sink": [sink]})

    def changed(self, column: str, random: Random) -> RandomPlan:
        """The same plan over rows with other values in this column."""
        at = self.columns.names.index(column)
        kind = self.columns.of[at][1]
        rows = tuple((*row[:at], _value(kind, random), *row[at + 1 :]) for row in self.rows)
        return replace(self, rows=rows)


def random_plan(random: Random) -> RandomPlan:
    """A plan with one to five steps."""
    columns = Columns(tuple((f"c{at}", random.choice(TYPES)) for at in range(random.randint(2, 6))))
    rows = tuple(tuple(_value(kind, random) for _, kind in columns.of) for _ in range(ROWS))
    steps: list[Step] = []
    now = columns
    for at in range(random.randint(1, STEPS_MAX)):
        step = random.choice(MAKERS)(now, at, random)
        if step is not None:
            steps.append(step)
            now = step[2]
            if "error_table" in step[1]:
                break  # later steps would need options for that table
    return RandomPlan(columns, rows, tuple(steps))


def _value(kind: str, random: Random) -> Any:
    if random.random() < 0.1:
        return None
    match kind:
        case "bigint":
            return random.randint(-50, 50)
        case "double":
            return random.randint(-400, 400) / 8
        case "json":
            return json.dumps({"a": random.randint(0, 9), "b": _text(random)}) if random.random() < 0.9 else "no JSON"
    return _text(random)


def _text(random: Random) -> str:
    return "".join(random.choice("ab,1 ") for _ in range(random.randint(1, 8)))


# ---------------------------------------------------------------- one maker for each plugin


def _filter(now: Columns, at: int, random: Random) -> Step | None:
    kept = sorted(random.sample(now.names, random.randint(1, len(now.names))), key=now.names.index)
    if random.random() < 0.5 and len(kept) < len(now.names):
        gone = [name for name in now.names if name not in kept]
        options = {"exclude_fields": gone}
    else:
        options = {"include_fields": kept}
    return "Filter", options, Columns(tuple(one for one in now.of if one[0] in kept))


def _mapper(now: Columns, at: int, random: Random) -> Step | None:
    kept = random.sample(now.of, random.randint(1, len(now.of)))
    names = {name: name if random.random() < 0.3 else f"m{at}_{n}" for n, (name, _) in enumerate(kept)}
    if len(set(names.values())) < len(names):
        return None
    return "FieldMapper", {"field_mapper": names}, Columns(tuple((names[name], kind) for name, kind in kept))


def _rename(now: Columns, at: int, random: Random) -> Step | None:
    return "FieldRename", {"prefix": f"r{at}_"}, Columns(tuple((f"r{at}_{name}", kind) for name, kind in now.of))


def _copy(now: Columns, at: int, random: Random) -> Step | None:
    # A copy may take the place of another column.
    name, kind = random.choice(now.of)
    new = random.choice([f"k{at}", *(other for other in now.names if other != name)])
    return "Copy", {"fields": {new: name}}, now.put((new, kind))


def _replace(now: Columns, at: int, random: Random) -> Step | None:
    if not (texts := now.texts()):
        return None
    name = random.choice(texts)
    regex = random.random() < 0.5
    options = {"pattern": "[ab]+" if regex else "a", "replacement": "<$0>" if regex else "zz", "is_regex": regex}
    return "Replace", {"replace_field": name, **options}, now.put((name, "string"))


def _split(now: Columns, at: int, random: Random) -> Step | None:
    if not (texts := now.texts()):
        return None
    fields = [f"p{at}_{n}" for n in range(random.randint(1, 3))]
    options = {"split_field": random.choice(texts), "separator": ",", "output_fields": fields}
    return "Split", options, now.put(*((name, "string") for name in fields))


def _regex(now: Columns, at: int, random: Random) -> Step | None:
    if not (texts := now.texts()):
        return None
    fields = [f"x{at}_0", f"x{at}_1"]
    options = {"source_field": random.choice(texts), "regex_pattern": "(a*)(b*)", "output_fields": fields}
    return "RegexExtract", options, now.put(*((name, "string") for name in fields))


def _json_path(now: Columns, at: int, random: Random) -> Step | None:
    documents = [name for name, kind in now.of if kind == "json"]
    if not documents:
        return None
    one = {"src_field": random.choice(documents), "path": "$.a", "dest_field": f"j{at}", "dest_type": "string"}
    how = random.choice(["SKIP", "SKIP_ROW"])
    return "JsonPath", {"columns": [{**one, "column_error_handle_way": how}]}, now.put((f"j{at}", "string"))


def _metadata(now: Columns, at: int, random: Random) -> Step | None:
    fields = {"Table": f"meta{at}", "RowKind": f"kind{at}"}
    return "Metadata", {"metadata_fields": fields}, now.put(*((name, "string") for name in fields.values()))


def _kind(now: Columns, at: int, random: Random) -> Step | None:
    return "RowKindExtractor", {"custom_field_name": f"kind{at}"}, now.put((f"kind{at}", "string"))


def _filter_kind(now: Columns, at: int, random: Random) -> Step | None:
    return "FilterRowKind", {"include_kinds": ["INSERT"]}, now


def _encrypt(now: Columns, at: int, random: Random) -> Step | None:
    if not (texts := now.texts()):
        return None
    name = random.choice(texts)
    options = {"fields": [name], "key": "base64:MDEyMzQ1Njc4OWFiY2RlZg==", "algorithm": "AES_CBC"}
    return "FieldEncrypt", options, now.put((name, "string"))


def _validator(now: Columns, at: int, random: Random) -> Step | None:
    name = random.choice(now.names)
    way: dict[str, Any] = random.choice(
        [{"row_error_handle_way": "SKIP"}, {"row_error_handle_way": "ROUTE_TO_TABLE", "error_table": f"db.errors{at}"}]
    )
    return "DataValidator", {**way, "field_rules": [{"field_name": name, "rule_type": "NOT_NULL"}]}, now


def _table_rename(now: Columns, at: int, random: Random) -> Step | None:
    return "TableRename", {"suffix": f"_{at}"}, now


def _sink_type(now: Columns, at: int, random: Random) -> Step | None:
    return "DefineSinkType", {"columns": [{"column": random.choice(now.names), "type": "text"}]}, now


def _table_filter(now: Columns, at: int, random: Random) -> Step | None:
    return "TableFilter", {"database_pattern": "db.*"}, now


def _table_merge(now: Columns, at: int, random: Random) -> Step | None:
    return "TableMerge", {"database": "db", "table": f"merged{at}"}, now


MAKERS: Sequence[Callable[[Columns, int, Random], Step | None]] = (
    _filter,
    _mapper,
    _rename,
    _copy,
    _replace,
    _split,
    _regex,
    _json_path,
    _metadata,
    _kind,
    _filter_kind,
    _encrypt,
    _validator,
    _table_rename,
    _sink_type,
    _table_filter,
    _table_merge,
)
