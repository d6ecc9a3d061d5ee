"""LLM and Embedding against a local server: requests, batches, attempts, failures, secrets."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from transform_cases import applied, make, one, rows, table, values
from werkzeug import Request, Response

from seatunnel_plugins.transforms.models import embedding
from seatunnel_plugins.transforms.models.embedding import EmbeddingFactory
from seatunnel_plugins.transforms.models.llm import LlmFactory
from seatunnel_plugins.transforms.models.model_client import filled
from seatunnel_py.api import Batch, Determinism, FatalError, Rejected, RetriableError
from seatunnel_py.api.process.resources import close_all

PEOPLE = table(id="int", name="string")
GIVEN = [(1, "Jia Fan"), (2, "Eric"), (3, None)]
SECRET = "sk-very-secret"


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    embedding._tokens.clear()
    yield
    close_all()


class Recorder:
    """A handler that remembers what it was asked."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self.bodies: list[Any] = []
        self.lock = threading.Lock()

    def __call__(self, request: Request) -> Response:
        body = request.get_json() if request.data else None
        with self.lock:
            self.requests.append(request)
            self.bodies.append(body)
            answer = self.answer(body)
        return answer if isinstance(answer, Response) else Response(json.dumps(answer), mimetype="application/json")


def serve(server: HTTPServer, path: str, answer: Callable[[Any], Any]) -> Recorder:
    recorder = Recorder(answer)
    server.expect_request(path).respond_with_handler(recorder)
    return recorder


def chat(content: Any) -> dict[str, Any]:
    text = content if isinstance(content, str) else json.dumps(content)
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}


def per_row(body: Any) -> dict[str, Any]:
    return chat([f"about {row['name']}" for row in json.loads(body["messages"][1]["content"])])


def llm(server: HTTPServer, **options: Any) -> Any:
    given = {
        "model_provider": "OPENAI",
        "model": "gpt",
        "api_key": SECRET,
        "prompt": "Where from?",
        "model_retry_backoff_ms": 1,
        "openai.api_path": server.url_for("/v1/chat"),
    }
    return make(LlmFactory, PEOPLE, **{**given, **options})


# ---------------------------------------------------------------- LLM


@pytest.mark.parametrize("size", [1, 2, 100])
def test_every_row_gets_its_answer(httpserver: HTTPServer, size: int) -> None:
    recorder = serve(httpserver, "/v1/chat", per_row)

    found = one(llm(httpserver, process_batch_size=size), rows(PEOPLE, *GIVEN, kinds=[0, 1, 2]))

    assert values(found, "llm_output") == ["about Jia Fan", "about Eric", "about None"]
    assert found.kinds.to_pylist() == [0, 1, 2]
    assert len(recorder.bodies) == -(-3 // size)


def test_the_request_is_openais(httpserver: HTTPServer) -> None:
    recorder = serve(httpserver, "/v1/chat", per_row)

    applied(llm(httpserver, inference_columns=["name"]), rows(PEOPLE, GIVEN[0]))

    (body,) = recorder.bodies
    assert body["model"] == "gpt"
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["messages"][0]["content"].startswith("Where from?\n")
    assert json.loads(body["messages"][1]["content"]) == [{"name": "Jia Fan"}]
    assert recorder.requests[0].headers["Authorization"] == f"Bearer {SECRET}"


def test_microsoft_names_the_model_in_the_address(httpserver: HTTPServer) -> None:
    recorder = serve(httpserver, "/deployments/gpt/chat", per_row)
    path = httpserver.url_for("/deployments/${model}/chat?api-version=1").replace("%7B", "{").replace("%7D", "}")

    found = one(
        llm(httpserver, model_provider="MICROSOFT", api_path=path.replace("%24", "$"), **{"openai.api_path": None}),
        rows(PEOPLE, GIVEN[0]),
    )

    assert values(found, "llm_output") == ["about Jia Fan"]
    assert "model" not in recorder.bodies[0]
    assert recorder.requests[0].headers["api-key"] == SECRET


def test_a_custom_interface(httpserver: HTTPServer) -> None:
    recorder = serve(httpserver, "/v1/chat", lambda body: {"out": ["[7]"]})
    custom = {
        "custom_response_parse": "$.out[*]",
        "custom_request_headers": {"Authorization": "Bearer x", "Content-Type": "application/json"},
        "custom_request_body": {"m": "${model}", "deep": [{"p": "${prompt}"}, {"i": "rows: ${input}"}], "n": 3},
    }

    transform = llm(
        httpserver, model_provider="CUSTOM", custom_config=custom, output_data_type="int", output_column_name="id"
    )

    assert values(one(transform, rows(PEOPLE, GIVEN[0]))) == [(7, "Jia Fan")]
    (body,) = recorder.bodies
    assert (body["m"], body["n"]) == ("gpt", 3)
    assert body["deep"][1]["i"] == 'rows: [{"id":1,"name":"Jia Fan"}]'
    assert recorder.requests[0].headers["Authorization"] == "Bearer x"


@pytest.mark.parametrize(
    ("content", "dtype", "value"),
    [
        ('["Chinese"]', "STRING", "Chinese"),
        ('```json\n["Chinese"]\n```', "STRING", "Chinese"),
        ("Chinese", "STRING", "Chinese"),
        ('["1", "2"]', "INT", 1),
        ("[null]", "INT", None),
        ('["True"]', "BOOLEAN", True),
        ("[True]", "BOOLEAN", True),
        ("```python\n[False]\n```", "BOOLEAN", False),
        ("[2.5]", "double", 2.5),
    ],
)
def test_answers_are_understood(httpserver: HTTPServer, content: str, dtype: str, value: Any) -> None:
    serve(httpserver, "/v1/chat", lambda body: chat(content))

    found = one(llm(httpserver, output_data_type=dtype), rows(PEOPLE, GIVEN[0]))

    assert values(found, "llm_output") == [value]


def test_a_model_that_loses_count_is_asked_row_by_row(httpserver: HTTPServer) -> None:
    def forgetful(body: Any) -> Any:
        return chat(per_row(body)["choices"][0]["message"]["content"]) if _asked(body) == 1 else chat(["only one"])

    recorder = serve(httpserver, "/v1/chat", forgetful)

    found = one(llm(httpserver, process_batch_size=3), rows(PEOPLE, *GIVEN))

    assert values(found, "llm_output") == ["about Jia Fan", "about Eric", "about None"]
    assert sorted(map(_asked, recorder.bodies)) == [1, 1, 1, 3]


def _asked(body: Any) -> int:
    return len(json.loads(body["messages"][1]["content"]))


def test_an_answer_of_the_wrong_type_fails(httpserver: HTTPServer) -> None:
    serve(httpserver, "/v1/chat", lambda body: chat(["many"]))

    with pytest.raises(FatalError, match=r"table db\.t: answer: 'many' is not a int"):
        applied(llm(httpserver, output_data_type="INT"), rows(PEOPLE, GIVEN[0]))


@pytest.mark.parametrize("answer", [{"error": "x"}, {"choices": []}])
def test_an_answer_without_the_place_fails(httpserver: HTTPServer, answer: Any) -> None:
    serve(httpserver, "/v1/chat", lambda body: answer)

    with pytest.raises(FatalError, match=r"has no \$\.choices\[0\]\.message\.content; it holds"):
        applied(llm(httpserver), rows(PEOPLE, GIVEN[0]))


@pytest.mark.parametrize("size", [1, 2])
def test_rows_without_an_answer_are_rejected_where_they_may_come_back(httpserver: HTTPServer, size: int) -> None:
    """Those of the request that failed, by number; a refusal that no other attempt mends fails as ever."""
    busy = Response("busy", 503)
    recorder = serve(httpserver, "/v1/chat", lambda body: busy if "Eric" in str(body["messages"][1]) else per_row(body))
    options: dict[str, Any] = {"process_batch_size": size, "model_retry_max_attempts": 2}

    with pytest.raises(RetriableError, match="503"):
        applied(llm(httpserver, **options), rows(PEOPLE, *GIVEN))
    asked = len(recorder.bodies)
    found = list(llm(httpserver, **options, retry_rejected=3).apply(rows(PEOPLE, *GIVEN)))

    lost = (1,) if size == 1 else (0, 1)
    good, rejected = found
    assert isinstance(good, Batch) and isinstance(rejected, Rejected)
    assert good.data.column("id").to_pylist() == [id for at, (id, _) in enumerate(GIVEN) if at not in lost]
    assert (rejected.rows, rejected.data.num_rows, len(rejected.reasons)) == (lost, len(lost), len(lost))
    assert "failed 2 times, at last with status 503: busy" in rejected.reasons[0]
    assert len(recorder.bodies) - asked == -(-3 // size) + 1
    serve(httpserver, "/v1/closed", lambda body: Response("who are you?", 401))
    closed = llm(httpserver, **{"openai.api_path": httpserver.url_for("/v1/closed")}, retry_rejected=3)
    with pytest.raises(FatalError, match="401"):
        applied(closed, rows(PEOPLE, *GIVEN))


def test_no_row_may_be_left_after_a_failure_of_all(httpserver: HTTPServer) -> None:
    """Then there is no batch, for none went on."""
    serve(httpserver, "/v1/chat", lambda body: Response("busy", 503))

    (rejected,) = llm(httpserver, model_retry_max_attempts=1, retry_rejected=3).apply(rows(PEOPLE, *GIVEN))

    assert isinstance(rejected, Rejected) and rejected.rows == (0, 1, 2)


def test_a_nonsense_answer_is_a_rejected_row_too(httpserver: HTTPServer) -> None:
    """Asked again, a model may make sense."""
    serve(httpserver, "/v1/chat", lambda body: chat(["many"]))

    (rejected,) = llm(httpserver, output_data_type="INT", retry_rejected=3).apply(rows(PEOPLE, GIVEN[0]))

    assert isinstance(rejected, Rejected) and "answer" in rejected.reasons[0]


# ---------------------------------------------------------------- attempts


def test_what_may_pass_is_tried_again(httpserver: HTTPServer) -> None:
    answers = [Response("busy", 503), Response("slow down", 429, {"Retry-After": "0"})]
    recorder = serve(httpserver, "/v1/chat", lambda body: answers.pop(0) if answers else per_row(body))

    found = one(llm(httpserver, concurrency=1), rows(PEOPLE, GIVEN[0]))

    assert values(found, "llm_output") == ["about Jia Fan"]
    assert len(recorder.bodies) == 3


def test_when_attempts_are_used_up_the_unit_may_be_tried_again(httpserver: HTTPServer) -> None:
    serve(httpserver, "/v1/chat", lambda body: Response(f"no {SECRET} today", 500))

    with pytest.raises(RetriableError, match=r"failed 2 times, at last with status 500: no \*{6} today"):
        applied(llm(httpserver, model_retry_max_attempts=2), rows(PEOPLE, GIVEN[0]))


def test_a_refusal_is_final_and_hides_the_key(httpserver: HTTPServer) -> None:
    recorder = serve(httpserver, "/v1/chat", lambda body: Response(f"bad key {SECRET}", 401))

    with pytest.raises(FatalError) as caught:
        applied(llm(httpserver), rows(PEOPLE, GIVEN[0]))

    assert "status 401: bad key ******" in caught.value.message
    assert len(recorder.bodies) == 1


def test_no_connection_may_pass(httpserver: HTTPServer) -> None:
    transform = llm(httpserver, model_retry_max_attempts=1, **{"openai.api_path": "http://127.0.0.1:9/nothing"})

    with pytest.raises(RetriableError, match="ConnectError"):
        applied(transform, rows(PEOPLE, GIVEN[0]))


def test_secrets_are_not_in_what_is_shown(httpserver: HTTPServer) -> None:
    assert SECRET not in repr(llm(httpserver))
    assert LlmFactory().capabilities(llm(httpserver).options).determinism is Determinism.INDETERMINATE


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model_provider": "CUSTOM"}, "custom_config is required"),
        ({"model_provider": "MICROSOFT", "openai.api_path": None}, "api_path is required when"),
        ({"model_provider": "QIANFAN"}, "QIANFAN has no interface for this"),
        ({"api_key": None}, "api_key is required"),
        ({"inference_columns": ["nam"]}, "did you mean 'name'?"),
    ],
)
def test_what_is_missing_is_named(httpserver: HTTPServer, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        llm(httpserver, **options)

    assert words in str(caught.value)


# ---------------------------------------------------------------- Embedding

BOOKS = table(id="int", intro="string", author="string")
SHELF = [(1, "a", "bb"), (2, None, "cccc"), (3, "ddddd", None)]


def vector(text: str) -> list[float]:
    return [float(len(text)), 0.5]


def vectors(body: Any) -> Any:
    found = [{"index": at, "embedding": vector(text)} for at, text in enumerate(body["input"])]
    return {"data": found[::-1]}


def embed(server: HTTPServer, **options: Any) -> Any:
    given = {
        "model_provider": "OPENAI",
        "model": "small",
        "api_key": SECRET,
        "api_path": server.url_for("/embed"),
        "vectorization_fields": {"v": "intro", "w": "author"},
    }
    return make(EmbeddingFactory, BOOKS, **{**given, **options})


@pytest.mark.parametrize("number", [1, 2, 3, 100])
def test_every_text_gets_its_vector(httpserver: HTTPServer, number: int) -> None:
    recorder = serve(httpserver, "/embed", vectors)

    found = one(embed(httpserver, single_vectorized_input_number=number), rows(BOOKS, *SHELF))

    assert values(found, "v", "w") == [([1.0, 0.5], [2.0, 0.5]), (None, [4.0, 0.5]), ([5.0, 0.5], None)]
    assert len(recorder.bodies) == -(-4 // number)
    assert all(body["model"] == "small" for body in recorder.bodies)


def test_no_rows_ask_nothing(httpserver: HTTPServer) -> None:
    assert one(embed(httpserver), rows(BOOKS)).rows == 0
    assert httpserver.log == []


def test_a_number_of_vectors_that_does_not_fit_is_an_error(httpserver: HTTPServer) -> None:
    serve(httpserver, "/embed", lambda body: {"data": [{"embedding": [1.0]}]})

    with pytest.raises(FatalError, match=r"1 vectors at \$\.data\[\*\]\.embedding for 2 texts"):
        applied(embed(httpserver, single_vectorized_input_number=2), rows(BOOKS, *SHELF))


@pytest.mark.parametrize("result", [[["x"]], [1, "a"], "text", None, [None]])
def test_what_is_no_vector_is_an_error(httpserver: HTTPServer, result: Any) -> None:
    serve(httpserver, "/embed", lambda body: {"out": result})
    custom = {"custom_response_parse": "$.out", "custom_request_body": {"i": "${input}"}}

    with pytest.raises(FatalError, match="Embedding"):
        applied(embed(httpserver, model_provider="CUSTOM", custom_config=custom), rows(BOOKS, SHELF[0]))


@pytest.mark.parametrize(
    ("template", "sent"), [(["${input}"], ["a", "bb"]), ("${input}", ["a", "bb"]), ([["${input}"]], [["a", "bb"]])]
)
def test_a_custom_interface_gets_the_list_of_texts(httpserver: HTTPServer, template: Any, sent: Any) -> None:
    recorder = serve(httpserver, "/embed", lambda body: {"out": [[1], [2]]})
    custom = {"custom_response_parse": "$.out[*]", "custom_request_body": {"modelx": "${model}", "inputx": template}}
    transform = embed(
        httpserver, model_provider="CUSTOM", api_key=None, custom_config=custom, single_vectorized_input_number=2
    )

    found = one(transform, rows(BOOKS, SHELF[0]))

    assert values(found, "v", "w") == [([1.0], [2.0])]
    assert recorder.bodies == [{"modelx": "small", "inputx": sent}]


def test_a_custom_interface_may_give_one_vector(httpserver: HTTPServer) -> None:
    recorder = serve(httpserver, "/embed", lambda body: {"vector": [1, 2.5]})
    custom = {"custom_response_parse": "$.vector", "custom_request_body": {"text": "${input}"}}
    transform = embed(
        httpserver, model_provider="CUSTOM", custom_config=custom, vectorization_fields={"v": {"field": "intro"}}
    )

    assert values(one(transform, rows(BOOKS, SHELF[0])), "v") == [[1.0, 2.5]]
    assert recorder.bodies == [{"text": "a"}]


def test_qianfan_asks_for_a_token_once_and_again_when_it_expired(httpserver: HTTPServer) -> None:
    tokens = iter(["old", "new"])
    asked = serve(httpserver, "/token", lambda body: {"access_token": next(tokens)})
    texts: list[Any] = []

    def answer(request: Request) -> Response:
        if request.args["access_token"] == "old":
            return Response(json.dumps({"error_code": 110, "error_msg": "expired"}))
        texts.append(request.get_json()["input"])
        return Response(json.dumps(vectors(request.get_json())))

    httpserver.expect_request("/embed/small").respond_with_handler(answer)
    transform = embed(
        httpserver,
        model_provider="QIANFAN",
        secret_key="hush",
        oauth_path=httpserver.url_for("/token"),
        single_vectorized_input_number=2,
        concurrency=1,
    )

    found = one(transform, rows(BOOKS, *SHELF))

    assert values(found, "v")[0] == [1.0, 0.5]
    assert len(asked.requests) == 2
    assert texts == [["a", "ddddd"], ["bb", "cccc"]]


def test_dimensions_are_asked_for(httpserver: HTTPServer) -> None:
    recorder = serve(httpserver, "/embed", vectors)

    applied(embed(httpserver, dimension=2), rows(BOOKS, SHELF[0]))

    assert recorder.bodies[0]["dimensions"] == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"vectorization_fields": {"v": "intr"}}, "did you mean 'intro'?"),
        ({"vectorization_fields": {"v": {"field": "intro", "modality": "jpeg"}}}, "only text"),
        ({"model_provider": "QIANFAN"}, "secret_key is required"),
        ({"model_provider": "KIMIAI"}, "KIMIAI has no interface for this"),
    ],
)
def test_embedding_refuses(httpserver: HTTPServer, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        embed(httpserver, **options)

    assert words in str(caught.value)


def test_placeholders_have_defaults_and_unknown_ones_stay() -> None:
    body = {"a": "${model:x}", "b": "${prompt:none}", "c": "${other}", "d": "${input}!", "e": None}

    assert filled(body, {"model": "m", "input": ["i"]}) == {
        "a": "m",
        "b": "none",
        "c": "${other}",
        "d": "i!",
        "e": None,
    }
