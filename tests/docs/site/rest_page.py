"""The REST interface, from the table of routes and the description that the server itself gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import FastAPI

from seatunnel_py.web.route_table import API, ROUTES, Route
from tests.docs.site.markdown import code, plain, sentence, table

HEAD = f"""# REST interface

`seatunnel server run` answers these paths ([Run the server](../how-to/run-the-server.md)). Paths below `{API}` need a token
with the named role, or a higher one. `GET {API}/openapi.json` describes them for programs.

Errors are problems after RFC 9457: `type`, `title`, `status`, `detail`, `remedy`, `problems` (the faults of a job file with
`message`, `file`, `line`, `column`, `path`, `suggestion`) and `request`. Bodies are JSON of at most 1 MiB. Times are seconds
since 1970, sizes are bytes. Keys may be added to answers, so readers ignore what they do not know.

"""


def page() -> str:
    described = _described()
    rows = [[code(f"{one.method} {_path(one)}"), _role(one), sentence(plain(_about(one)))] for one in ROUTES]
    sections = (part for one in ROUTES if (part := _section(one, described)))
    return HEAD + table(["path", "role", "does"], rows) + "\n" + "\n".join(sections)


def _described() -> Mapping[str, Any]:
    app = FastAPI()
    for one in ROUTES:
        app.add_api_route(one.path, one.handler, methods=[one.method], response_model=None)
    found: Mapping[str, Any] = app.openapi()
    return found


def _section(route: Route, described: Mapping[str, Any]) -> str:
    about = described["paths"][_path(route)][route.method.lower()]
    parameters = [one for one in about.get("parameters", ()) if one["in"] != "path"]
    rows = [[code(one["name"]), one["in"], _meaning(one)] for one in parameters]
    rows += [[code(name), "body", meaning] for name, meaning in _body(about, described)]
    if not rows:
        return ""
    return f"## {code(f'{route.method} {_path(route)}')}\n\n" + table(["name", "in", "meaning"], rows)


def _meaning(parameter: Mapping[str, Any]) -> str:
    schema = parameter["schema"]
    text = sentence(plain(parameter["description"])) if "description" in parameter else ""
    default = f"default {code(str(schema['default']))}" if schema.get("default") not in (None, "", []) else ""
    return "; ".join(filter(None, (text, default))) or "*required*" * parameter.get("required", False)


def _body(about: Mapping[str, Any], described: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    content = about.get("requestBody", {}).get("content", {})
    reference = content.get("application/json", {}).get("schema", {}).get("$ref", "")
    model = described["components"]["schemas"].get(reference.rpartition("/")[2], {})
    for name, schema in model.get("properties", {}).items():
        needed = (
            "*required*" if name in model.get("required", ()) else f"default {code(str(schema.get('default', '')))}"
        )
        yield name, f"{schema.get('type', '')}, {needed}".removeprefix(", ").replace("default ``", "optional")


def _path(route: Route) -> str:
    return route.path.replace(":path}", "}")


def _role(route: Route) -> str:
    if route.need.public:
        return "none"
    return "none on this machine" if route.need.role is None else code(route.need.role.value)


def _about(route: Route) -> str:
    return (route.handler.__doc__ or "").partition("\n\n")[0]
