"""What ``/openapi.json`` says (OpenAPI 3.1). What pages and verdicts hold is made of their own types."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from crawler_plugin.wire.outcomes import Verdict
from worker import __version__
from worker.results.rows import OF_SERVED
from worker.serve.asked_pages import JSON, JSON_LINES, AskedPage

_SEEN: Final = ("url", "verdict", "fingerprint", "tokens", "fetched")
_REFUSALS: Final = {
    "400": "The request, or a line of it, is wrong: correct it.",
    "401": "The token is missing or wrong.",
    "403": "The request comes from a page in a browser.",
    "405": "This path takes another method.",
    "413": "The page is larger than topics.max_message_bytes: leave it out.",
    "415": "The body is packed: send it unpacked.",
    "503": "There is no room, or the service stops: send it again after Retry-After seconds.",
}


def _schemas() -> dict[str, Any]:
    _, found = msgspec.json.schema_components([Verdict, AskedPage], ref_template="#/components/schemas/{name}")
    of_verdict = found["Verdict"]["properties"]
    error = {"status": {"type": "integer"}, "error": {"type": "string"}}
    return {
        "Page": found["AskedPage"],
        "Verdict": _object({name: of_verdict[name] for name in OF_SERVED}),
        "Seen": _object({name: of_verdict[name] for name in _SEEN} | {"seen": {"type": "boolean"}}, ["url", "seen"]),
        "Error": _object(error),
    }


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required or list(properties)}


def _answer(description: str, kind: str, content_type: str = JSON) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{kind}"}
    return {"description": description, "content": {content_type: {"schema": schema}}}


def _refusals(*statuses: str) -> dict[str, Any]:
    return {status: _answer(_REFUSALS[status], "Error") for status in statuses}


def _parameter(name: str, description: str, kind: str = "string", **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": {"type": kind}} | more


def _description() -> dict[str, Any]:
    judged = _answer("The verdict, which is on the disk.", "Verdict")
    judged["content"][JSON_LINES] = {"schema": {"type": "string"}}
    judged["description"] += (
        f" For {JSON_LINES}, a line for each line that was sent, in their order: a verdict, or an error with its "
        "status."
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "crawl-dedup",
            "version": __version__,
            "description": "Tells near-duplicate pages from new ones, in the order in which pages come.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"token": []}],
        "paths": {
            "/judge": {
                "post": {
                    "operationId": "judge",
                    "summary": "Judge a page, or many; later ones are compared with it.",
                    "parameters": [
                        _parameter("url", "The URL of the page. Give url or id, unless the body is JSON."),
                        _parameter("id", "The id of a text that has no URL."),
                        _parameter(
                            "encoding", "The page's encoding, if HTTP named it; else Content-Type and page tell."
                        ),
                        _parameter("fetched", "ISO 8601, or milliseconds since 1970 UTC; now by default."),
                        _parameter("form", "text: the body is a text that was taken out of the page already."),
                        _parameter(
                            "header",
                            "NAME:VALUE, as near.scope=header:NAME reads it.",
                            "array",
                            schema={"type": "array", "items": {"type": "string"}},
                        ),
                    ],
                    "requestBody": {
                        "required": True,
                        "description": "The page as it was fetched, unpacked, with its own Content-Type.",
                        "content": {
                            "*/*": {"schema": {"type": "string"}},
                            JSON: {"schema": {"$ref": "#/components/schemas/Page"}},
                            JSON_LINES: {"schema": {"type": "string"}},
                        },
                    },
                    "responses": {
                        "200": judged,
                        "422": _answer(
                            "The page is dead, with the reason: it is judged, do not send it again.", "Verdict"
                        ),
                        **_refusals("400", "401", "403", "413", "415", "503"),
                    },
                }
            },
            "/seen": {
                "get": {
                    "operationId": "seen",
                    "summary": "Whether a page of this URL survived, and what is kept of the latest.",
                    "parameters": [_parameter("url", "The URL.", required=True)],
                    "responses": {
                        "200": _answer("seen is false also of a URL whose pages were duplicates or dead.", "Seen"),
                        **_refusals("400", "401", "403", "503"),
                    },
                }
            },
        },
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


DESCRIPTION: Final = msgspec.json.encode(_description())
