"""Calls language models over HTTP: common options of LLM and Embedding, requests, retries, no secrets in errors."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from itertools import compress
from typing import TYPE_CHECKING, Any, TypeVar

from seatunnel_plugins.transforms.shared.batches import kept, put
from seatunnel_py.api import (
    BadRowsError,
    Batch,
    FatalError,
    Options,
    Rejected,
    RetriableError,
    Secret,
    TableSchema,
    TransformOptions,
    borrow,
    option,
)

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
R = TypeVar("R")

RETRIABLE_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
BODY_CHARACTERS_MAX = 300  # of a rejection, in an error message
RETRY_AFTER_SECONDS_MAX = 60.0  # a longer Retry-After fails the attempt, and the unit is retried
_PLACEHOLDER = re.compile(r"\$\{(model|input|prompt)(?::([^}]*))?\}")


class Provider(StrEnum):
    """Provider of the model's interface. All but QIANFAN and CUSTOM use OpenAI's."""

    OPENAI = "OPENAI"
    DOUBAO = "DOUBAO"
    DEEPSEEK = "DEEPSEEK"
    KIMIAI = "KIMIAI"
    ZHIPU = "ZHIPU"
    MICROSOFT = "MICROSOFT"
    QIANFAN = "QIANFAN"
    CUSTOM = "CUSTOM"


class CustomConfig(Options):
    """Request and response of another interface. ``${model}``, ``${input}``, ``${prompt}`` are placeholders."""

    custom_response_parse: str = option(doc="JSON path to the results in the response")
    custom_request_headers: dict[str, Secret] = option({}, doc="headers of the request")
    custom_request_body: dict[str, Any] = option(
        min_length=1, doc='body of the request; `["${input}"]` becomes a list of all inputs'
    )


class ModelOptions(TransformOptions):
    """Options of the model and its connection, shared by both transforms."""

    model_provider: Provider = option(doc="provider of the model's interface")
    model: str = option(doc="name of the model")
    api_key: Secret | None = option(None, doc="key of the account")
    secret_key: Secret | None = option(None, doc="second part of the key (QIANFAN)")
    api_path: str | None = option(
        None,
        fallback=("openai.api_path",),
        doc="address of the interface; default: the provider's own. May contain ${model}",
    )
    oauth_path: str | None = option(None, doc="address that issues access tokens (QIANFAN)")
    custom_config: CustomConfig | None = option(None, doc="request and response of a CUSTOM interface")
    concurrency: int = option(4, ge=1, le=64, doc="maximum number of concurrent requests for each unit")
    model_retry_max_attempts: int = option(3, ge=1, le=20, doc="maximum number of attempts of one request")
    model_retry_backoff_ms: int = option(
        1000, ge=0, doc="pause before the second attempt, in milliseconds; doubles with each attempt"
    )
    model_retry_max_backoff_ms: int = option(10_000, ge=0, doc="longest pause between two attempts, in milliseconds")
    model_request_timeout_ms: int = option(20_000, ge=1, doc="longest wait for a response, in milliseconds")


def check_provider(options: ModelOptions, addresses: Mapping[Provider, str]) -> None:
    """Raise ValueError if an option that the provider needs is missing."""
    provider = options.model_provider
    if provider is Provider.CUSTOM and options.custom_config is None:
        raise ValueError("custom_config is required when model_provider is CUSTOM")
    if provider is not Provider.CUSTOM and provider is not Provider.MICROSOFT and provider not in addresses:
        known = ", ".join([*addresses, Provider.MICROSOFT, Provider.CUSTOM])
        raise ValueError(f"model_provider: {provider} has no interface for this; use one of {known}")
    if options.api_path is None and provider not in addresses:
        raise ValueError(f"api_path is required when model_provider is {provider}")
    if options.api_key is None and provider is not Provider.CUSTOM:
        raise ValueError(f"api_key is required when model_provider is {provider}")
    if provider is Provider.QIANFAN and options.secret_key is None:
        raise ValueError("secret_key is required when model_provider is QIANFAN")


def address(options: ModelOptions, addresses: Mapping[Provider, str]) -> str:
    """Address for requests."""
    given = options.api_path or addresses.get(options.model_provider, "")
    return str(filled(given, {"model": options.model}))


def headers(options: ModelOptions) -> dict[str, str]:
    """Headers with the credentials."""
    if options.custom_config is not None and options.model_provider is Provider.CUSTOM:
        given = options.custom_config.custom_request_headers
        return {name: value.get_secret_value() for name, value in given.items()}
    key = options.api_key.get_secret_value() if options.api_key else ""
    found = {"Authorization": f"Bearer {key}"}
    if options.model_provider is Provider.MICROSOFT:
        found["api-key"] = key
    return found


def filled(node: Any, values: Mapping[str, Any]) -> Any:
    """Replace placeholders in ``node``. ``["${input}"]`` becomes the list of inputs, ``"${input}"`` the single input
    (or the list, if there are several); inside longer texts a value is inserted as text."""
    if isinstance(node, dict):
        return {name: filled(item, values) for name, item in node.items()}
    if isinstance(node, list):
        inputs = values.get("input")
        if node == ["${input}"] and isinstance(inputs, list):
            return inputs
        return [filled(item, values) for item in node]
    if not isinstance(node, str):
        return node
    whole = _PLACEHOLDER.fullmatch(node)
    if whole is not None and isinstance(values.get(whole[1]), list):
        inputs = values[whole[1]]
        return inputs[0] if len(inputs) == 1 else inputs
    return _PLACEHOLDER.sub(lambda found: _text(found, values), node)


def _text(found: re.Match[str], values: Mapping[str, Any]) -> str:
    value = values.get(found[1])
    if isinstance(value, list):
        value = value[0] if len(value) == 1 else value
    return str(value) if value not in (None, "") else found[2] if found[2] is not None else found[0]


@dataclass(frozen=True, slots=True)
class ModelClient:
    """Sends requests, with retries and pauses of the options. ``step`` is the step's name, for errors."""

    step: str
    options: ModelOptions
    http: httpx.Client

    def post(self, url: str, body: Any, given: Mapping[str, str]) -> Any:
        """Return the response's JSON. Raises RetriableError if all attempts failed for transient reasons, else
        FatalError."""
        return self._request("POST", url, given, body)

    def get(self, url: str) -> Any:
        return self._request("GET", url, {}, None)

    def _request(self, method: str, url: str, given: Mapping[str, str], body: Any) -> Any:
        import httpx

        attempts = self.options.model_retry_max_attempts
        place = url.partition("?")[0]
        for attempt in range(1, attempts + 1):
            asked = None
            try:
                answer = self.http.request(method, url, headers=dict(given), json=body)
            except httpx.TransportError as error:
                reason = f"{type(error).__name__}: {error}"
            except httpx.InvalidURL as error:
                raise FatalError(f"{self.step}: {place} is not an address: {error}", "correct api_path") from None
            else:
                if answer.is_success:
                    return self._json(answer, place)
                reason = f"status {answer.status_code}: {self._redacted(answer.text)}"
                if answer.status_code not in RETRIABLE_STATUS:
                    raise FatalError(f"{self.step}: {place} refused the request with {reason}")
                asked = answer.headers.get("retry-after")
            if attempt < attempts:
                time.sleep(self._pause(attempt, asked))
        raise RetriableError(f"{self.step}: {place} failed {attempts} times, at last with {self._redacted(reason)}")

    def _json(self, answer: httpx.Response, place: str) -> Any:
        try:
            return answer.json()
        except ValueError:
            shown = self._redacted(answer.text)
            raise FatalError(f"{self.step}: {place} answered with what is not JSON: {shown}") from None

    def _pause(self, attempt: int, asked: str | None) -> float:
        if asked is not None and asked.isdigit():
            return min(float(asked), RETRY_AFTER_SECONDS_MAX)
        options = self.options
        doubled = options.model_retry_backoff_ms * 2 ** (attempt - 1)
        return float(min(doubled, options.model_retry_max_backoff_ms)) / 1000

    def _redacted(self, text: str) -> str:
        secrets = [self.options.api_key, self.options.secret_key]
        if self.options.custom_config is not None:
            secrets += self.options.custom_config.custom_request_headers.values()
        for secret in secrets:
            if secret is not None and secret.get_secret_value():
                text = text.replace(secret.get_secret_value(), "******")
        text = " ".join(text.split())
        return text if len(text) <= BODY_CHARACTERS_MAX else text[:BODY_CHARACTERS_MAX] + "…"


def in_parallel(step: str, options: ModelOptions, items: Sequence[T], call: Callable[[ModelClient, T], R]) -> list[R]:
    """The results of all calls, in order. After the first failure, calls that have not begun are dropped."""
    import httpx

    seconds = options.model_request_timeout_ms / 1000
    key = ("model-http", seconds, options.concurrency)
    limits = httpx.Limits(max_connections=options.concurrency)
    with borrow(key, lambda: httpx.Client(timeout=seconds, limits=limits), httpx.Client.close) as http:
        client = ModelClient(step, options, http)
        threads = ThreadPoolExecutor(min(options.concurrency, max(len(items), 1)), thread_name_prefix="model")
        try:
            return [future.result() for future in [threads.submit(call, client, item) for item in items]]
        finally:
            threads.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Marks a missing value; another request may return it."""

    reason: str


def in_chunks(
    step: str, options: ModelOptions, items: list[T], size: int, call: Callable[[ModelClient, list[T]], Sequence[R]]
) -> list[R | NoAnswer]:
    """A value for each item, ``size`` items per request. If rejected rows are retried, a failed request with a
    transient cause affects its own items only."""

    def tried(client: ModelClient, chunk: list[T]) -> Sequence[R | NoAnswer]:
        try:
            return call(client, chunk)
        except (RetriableError, BadRowsError) as error:
            if not options.retry_rejected:
                raise
            return [NoAnswer(error.message)] * len(chunk)

    chunks = [items[at : at + size] for at in range(0, len(items), size)]
    found = in_parallel(step, options, chunks, tried) if chunks else []
    return [value for chunk in found for value in chunk]


def with_values(batch: Batch, output: TableSchema, columns: Mapping[str, Sequence[Any]]) -> Iterator[Batch | Rejected]:
    """The batch with these columns; rows without an answer are rejected."""
    import pyarrow as pa

    lost = {row: one.reason for values in columns.values() for row, one in enumerate(values) if type(one) is NoAnswer}
    answered = [row not in lost for row in range(batch.rows)]
    rest = kept(batch, pa.array(answered, pa.bool_()))
    if rest.rows or not lost:
        types = {name: field.type for name, field in zip(output.names, output.arrow(), strict=True)}
        values = {name: pa.array(compress(given, answered), types[name]) for name, given in columns.items()}
        yield put(rest, output, values)
    if lost:
        rows = sorted(lost)
        yield Rejected(batch.table, batch.data.take(rows), tuple(lost[row] for row in rows), rows=tuple(rows))
