"""LLM: asks a language model about each row, and adds its answer as a column."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from seatunnel_plugins.transforms.columns.json_path_expression import PathNotFoundError, compile_path
from seatunnel_plugins.transforms.models.model_client import (
    ModelClient,
    ModelOptions,
    Provider,
    address,
    check_provider,
    filled,
    headers,
    in_chunks,
    with_values,
)
from seatunnel_plugins.transforms.shared.batches import require, with_added
from seatunnel_plugins.transforms.shared.column_lineages import computed
from seatunnel_plugins.transforms.shared.texts import json_data
from seatunnel_py.api import (
    BadRowsError,
    Batch,
    Column,
    ColumnLineage,
    Determinism,
    FatalError,
    Rejected,
    StepContext,
    TableSchema,
    Transform,
    TransformCapabilities,
    TransformFactory,
    option,
    parse_type,
    shown_rows,
)
from seatunnel_py.formats.json.values import from_json, json_text

ADDRESSES = {
    Provider.OPENAI: "https://api.openai.com/v1/chat/completions",
    Provider.DOUBAO: "https://ark.cn-beijing.volces.com/api/v3/chat/completions",
    Provider.DEEPSEEK: "https://api.deepseek.com/chat/completions",
    Provider.KIMIAI: "https://api.moonshot.cn/v1/chat/completions",
    Provider.ZHIPU: "https://open.bigmodel.cn/api/paas/v4/chat/completions",
}
ANSWER = compile_path("$.choices[0].message.content")
_FENCED = re.compile(r"\s*```\w*\n?(.*?)```\s*", re.DOTALL)


class LlmOptions(ModelOptions):
    prompt: str = option(min_length=1, doc="task of the model for each row")
    output_data_type: Literal["STRING", "INT", "BIGINT", "DOUBLE", "BOOLEAN"] = option(
        "STRING", doc="type of the answers"
    )
    output_column_name: str = option("llm_output", min_length=1, doc="column for the answers")
    inference_columns: tuple[str, ...] = option((), doc="columns to show to the model; default: all")
    process_batch_size: int = option(
        1, fallback=("inference_batch_size",), ge=1, le=1000, doc="number of rows in one request"
    )


@dataclass(frozen=True, slots=True)
class Llm(Transform):
    table: TableSchema
    result: TableSchema
    options: LlmOptions
    shown: tuple[Column, ...]

    def output(self) -> TableSchema:
        return self.result

    def column_lineage(self) -> ColumnLineage:
        return computed(self.result, {self.options.output_column_name: [one.name for one in self.shown]})

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        rows = shown_rows(batch.data.select([one.name for one in self.shown]))
        data = [{one.name: json_data(row[one.name], one.dtype) for one in self.shown} for row in rows]
        values = in_chunks("LLM", self.options, data, self.options.process_batch_size, self._answers)
        yield from with_values(batch, self.result, {self.options.output_column_name: values})

    def _answers(self, client: ModelClient, rows: list[dict[str, Any]]) -> list[Any]:
        """One value for each row. If the model returns the wrong number of answers, each row is sent alone."""
        found = self._ask(client, rows)
        if len(rows) > 1 and len(found) != len(rows):
            return [value for row in rows for value in self._answers(client, [row])]
        if not found:
            raise BadRowsError(
                f"LLM: table {self.table.path}: the model gave no answer for the row {json_text(rows[0])}"
            )
        dtype = parse_type(self.options.output_data_type)
        try:
            return [from_json(value, dtype, "answer") for value in found[: len(rows)]]
        except ValueError as error:
            raise BadRowsError(
                f"LLM: table {self.table.path}: {error}", "describe the form of answers in the prompt"
            ) from None

    def _ask(self, client: ModelClient, rows: list[dict[str, Any]]) -> list[Any]:
        options = self.options
        values = {"model": options.model, "prompt": _prompt(options), "input": json_text(rows)}
        custom = options.custom_config if options.model_provider is Provider.CUSTOM else None
        if custom is not None:
            body, path = filled(custom.custom_request_body, values), compile_path(custom.custom_response_parse)
        else:
            body, path = _chat(options, values), ANSWER
        answer = client.post(address(options, ADDRESSES), body, headers(options))
        try:
            found = path.find(answer)
        except PathNotFoundError:
            keys = ", ".join(answer) if isinstance(answer, dict) else type(answer).__name__
            raise FatalError(f"LLM: the answer has no {path.text}; it holds {keys}") from None
        if options.output_data_type == "BOOLEAN":
            found = _lower(found)
        return _listed(found, len(rows))


def _prompt(options: LlmOptions) -> str:
    """The task, and the required form of an answer."""
    return (
        f"{options.prompt}\n The following rules need to be followed: "
        "\n 1. The received data is an array, and the result is returned in the form of an array."
        "\n 2. Only the result needs to be returned, and no other information can be returned."
        f"\n 3. The element type of the array is {options.output_data_type}."
        '\n Eg: ["value1", "value2"]'
    )


def _chat(options: LlmOptions, values: dict[str, str]) -> dict[str, Any]:
    messages = [{"role": "system", "content": values["prompt"]}, {"role": "user", "content": values["input"]}]
    # Microsoft's address contains the model.
    named = {} if options.model_provider is Provider.MICROSOFT else {"model": options.model}
    return {**named, "messages": messages}


def _lower(found: Any) -> Any:
    """Lower the case: models write booleans in any case, often ``[True]``, which is not JSON."""
    if isinstance(found, list):
        return [_lower(one) for one in found]
    return found.lower() if isinstance(found, str) else found


def _listed(found: Any, rows: int) -> list[Any]:
    """Answers as a list: models return a JSON array as text, in a code block or not, or for one row the bare answer."""
    if isinstance(found, list):
        inner = _listed(found[0], rows) if len(found) == 1 else found
        return inner if len(inner) == rows else found
    if not isinstance(found, str):
        return [found]
    fenced = _FENCED.fullmatch(found)
    text = fenced[1] if fenced else found
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError:
        return [text.strip()]
    return parsed if isinstance(parsed, list) else [parsed]


class LlmFactory(TransformFactory[LlmOptions]):
    name = "LLM"
    summary = "Asks a language model about each row"
    options = LlmOptions
    extra = "http"

    def capabilities(self, options: LlmOptions) -> TransformCapabilities:
        return TransformCapabilities(Determinism.INDETERMINATE, keeps_keys=True)

    def create(self, options: LlmOptions, table: TableSchema, context: StepContext) -> Llm:
        import httpx  # noqa: F401 - a missing library is to be found now, not in the first batch

        check_provider(options, ADDRESSES)
        if options.custom_config is not None:
            compile_path(options.custom_config.custom_response_parse)
        require(table, options.inference_columns, "inference_columns")
        names = options.inference_columns or table.names
        shown = tuple(column for name in names if (column := table.column(name)) is not None)
        added = Column(options.output_column_name, parse_type(options.output_data_type), comment="Answers of a model")
        return Llm(table, with_added(table, [added]), options, shown)
