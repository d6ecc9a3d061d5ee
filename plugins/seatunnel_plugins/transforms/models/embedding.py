"""Embedding: turns text columns into vectors, computed by a model."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from seatunnel_plugins.transforms.columns.json_path_expression import JsonPath, PathNotFoundError, compile_path
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
from seatunnel_plugins.transforms.shared.batches import column, with_added
from seatunnel_plugins.transforms.shared.column_lineages import computed
from seatunnel_plugins.transforms.shared.texts import as_text, is_scalar
from seatunnel_py.api import (
    Batch,
    Column,
    ColumnLineage,
    DataType,
    Determinism,
    FatalError,
    Kind,
    Rejected,
    StepContext,
    TableSchema,
    Transform,
    TransformCapabilities,
    TransformFactory,
    option,
)

ADDRESSES = {
    Provider.OPENAI: "https://api.openai.com/v1/embeddings",
    Provider.DOUBAO: "https://ark.cn-beijing.volces.com/api/v3/embeddings",
    Provider.ZHIPU: "https://open.bigmodel.cn/api/paas/v4/embeddings",
    Provider.QIANFAN: "https://aip.baidubce.com/rpc/2.0/ai_custom/v1/wenxinworkshop/embeddings",
}
QIANFAN_TOKENS = "https://aip.baidubce.com/oauth/2.0/token"
QIANFAN_EXPIRED = (110, 111)  # codes of a token that is invalid or has expired
VECTORS = compile_path("$.data[*].embedding")
VECTOR = DataType(Kind.FLOAT_VECTOR)


class EmbeddingOptions(ModelOptions):
    vectorization_fields: dict[str, Any] = option(
        min_length=1, doc="vectors to compute, as `vector column = text column`"
    )
    single_vectorized_input_number: int = option(1, ge=1, le=10_000, doc="number of texts in one request")
    process_batch_size: int = option(
        100,
        fallback=("inference_batch_size",),
        ge=1,
        doc="accepted and not used: requests are divided by the number of texts",
    )
    dimension: int | None = option(
        None, ge=1, doc="length of the vectors, if the model supports a choice; default: the model's own"
    )


@dataclass(frozen=True, slots=True)
class Embedding(Transform):
    table: TableSchema
    result: TableSchema
    options: EmbeddingOptions
    fields: tuple[tuple[str, Column], ...]

    def output(self) -> TableSchema:
        return self.result

    def column_lineage(self) -> ColumnLineage:
        return computed(self.result, {name: [one.name] for name, one in self.fields})

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        """Send the texts of all fields and rows, without nulls, to the model as one list, divided into requests."""
        texts = [text for _, one in self.fields for text in as_text(batch.data.column(one.name), one).to_pylist()]
        there = [text for text in texts if text is not None]
        size = self.options.single_vectorized_input_number
        vectors = iter(in_chunks("Embedding", self.options, there, size, self._vectors))
        spread = [None if text is None else next(vectors) for text in texts]
        added = {name: spread[at * batch.rows : (at + 1) * batch.rows] for at, (name, _) in enumerate(self.fields)}
        yield from with_values(batch, self.result, added)

    def _vectors(self, client: ModelClient, texts: list[str]) -> list[list[float]]:
        options = self.options
        if options.model_provider is Provider.QIANFAN:
            return self._checked(_qianfan(client, options, texts), VECTORS, texts)
        custom = options.custom_config if options.model_provider is Provider.CUSTOM else None
        if custom is not None:
            body = filled(custom.custom_request_body, {"model": options.model, "input": texts})
            path = compile_path(custom.custom_response_parse)
        else:
            body, path = _body(options, texts), VECTORS
        return self._checked(client.post(address(options, ADDRESSES), body, headers(options)), path, texts)

    def _checked(self, answer: Any, path: JsonPath, texts: list[str]) -> list[list[float]]:
        """Return one vector per text, in their order; vectors that may belong to other rows are an error."""
        answer = _in_order(answer)
        try:
            found = path.find(answer)
        except PathNotFoundError:
            found = []
        if found and isinstance(found, list) and all(isinstance(number, int | float) for number in found):
            found = [found]
        if not isinstance(found, list) or len(found) != len(texts) or not all(map(_is_vector, found)):
            count = len(found) if isinstance(found, list) else 0
            raise FatalError(
                f"Embedding: table {self.table.path}: {count} vectors at {path.text} for {len(texts)} texts",
                "lower single_vectorized_input_number to what the model takes in one request",
            )
        return found


def _is_vector(found: Any) -> bool:
    return isinstance(found, list) and all(
        isinstance(number, int | float) and not isinstance(number, bool) for number in found
    )


def _in_order(answer: Any) -> Any:
    """Sort the vectors by index: OpenAI's interface numbers them, and does not guarantee their order."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if isinstance(data, list) and all(isinstance(item, dict) and isinstance(item.get("index"), int) for item in data):
        return {**answer, "data": sorted(data, key=lambda item: int(item["index"]))}
    return answer


def _body(options: EmbeddingOptions, texts: list[str]) -> dict[str, Any]:
    body: dict[str, Any] = {"model": options.model, "input": texts}
    if options.dimension is not None:
        body["dimensions"] = options.dimension
    return body


# ---------------------------------------------------------------- Qianfan

_tokens: dict[tuple[str, str], str] = {}
_tokens_lock = threading.Lock()


def _qianfan(client: ModelClient, options: EmbeddingOptions, texts: list[str]) -> Any:
    """Call Qianfan. Qianfan needs a token, which is requested once per process and again after it has expired."""
    base = address(options, ADDRESSES).rstrip("/")
    for fresh in (False, True):
        token = _token(client, options, fresh=fresh)
        answer = client.post(f"{base}/{options.model}?{urlencode({'access_token': token})}", {"input": texts}, {})
        code = answer.get("error_code") if isinstance(answer, dict) else None
        if code not in QIANFAN_EXPIRED:
            break
    if code is not None:
        raise FatalError(f"Embedding: Qianfan refused the request with error_code {code}: {answer.get('error_msg')}")
    return answer


def _token(client: ModelClient, options: EmbeddingOptions, *, fresh: bool) -> str:
    assert options.api_key is not None and options.secret_key is not None
    place, name = options.oauth_path or QIANFAN_TOKENS, options.api_key.get_secret_value()
    with _tokens_lock:
        if fresh or (place, name) not in _tokens:
            asked = {
                "grant_type": "client_credentials",
                "client_id": name,
                "client_secret": options.secret_key.get_secret_value(),
            }
            answer = client.get(f"{place}?{urlencode(asked)}")
            token = answer.get("access_token") if isinstance(answer, Mapping) else None
            if not isinstance(token, str):
                raise FatalError(f"Embedding: {place} gave no access_token", "check api_key and secret_key")
            _tokens[(place, name)] = token
        return _tokens[(place, name)]


# ---------------------------------------------------------------- factory


class EmbeddingFactory(TransformFactory[EmbeddingOptions]):
    name = "Embedding"
    summary = "Turns text into vectors by a model"
    options = EmbeddingOptions
    extra = "http"

    def capabilities(self, options: EmbeddingOptions) -> TransformCapabilities:
        # The same text gives nearly, but not exactly, the same vector.
        return TransformCapabilities(Determinism.INDETERMINATE, keeps_keys=True)

    def create(self, options: EmbeddingOptions, table: TableSchema, context: StepContext) -> Embedding:
        import httpx  # noqa: F401 - a missing library is to be found now, not in the first batch

        check_provider(options, ADDRESSES)
        if options.custom_config is not None:
            compile_path(options.custom_config.custom_response_parse)
        fields = tuple((name, _source(table, name, given)) for name, given in options.vectorization_fields.items())
        return Embedding(table, with_added(table, [Column(name, VECTOR) for name, _ in fields]), options, fields)


def _source(table: TableSchema, name: str, given: Any) -> Column:
    """The text column of a vector; SeaTunnel's objects for images and videos are refused by name."""
    if isinstance(given, Mapping):
        kinds = {key: str(given[key]).lower() for key in ("modality", "format") if key in given}
        if any(kind != "text" for kind in kinds.values()) or "field" not in given:
            raise ValueError(f"vectorization_fields.{name}: only text can be turned into vectors here, not {kinds}")
        given = given["field"]
    found = column(table, str(given), "vectorization_fields")
    if not is_scalar(found):
        raise ValueError(f"vectorization_fields.{name}: {found.name!r} is a {found.dtype}, which is not text")
    return found
