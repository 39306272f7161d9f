"""The page at `/docs`: every path with its fields, from the OpenAPI schema, without a script and without a load.

This module writes HTML; what the paths are, it reads of the schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""What a browser may load for the page: nothing."""
_HEAD = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>lamr over HTTP</title>
<style>body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
code{font-family:ui-monospace,monospace}table{border-collapse:collapse;width:100%}
td{border-top:1px solid #8885;padding:.3rem .6rem;vertical-align:top}h2{margin-top:2rem}</style>
<h1>lamr over HTTP</h1><p>For programs: <a href="openapi.json">openapi.json</a>.</p>
"""
Schema = Mapping[str, Any]


def render_paths(schema: Schema) -> str:
    """Return the page of an OpenAPI schema."""
    return _HEAD + "".join(_parts(schema))


def _parts(schema: Schema) -> Iterator[str]:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(operation.get('summary', ''))}</p>"
            content = operation.get("requestBody", {}).get("content", {})
            if body := content.get("application/json", {}).get("schema"):
                yield _table(_resolved(body, schema))


def _table(body: Schema) -> str:
    needed = body.get("required", ())
    rows = (
        f"<tr><td><code>{escape(name)}</code></td><td>{_type(field)}{', required' if name in needed else ''}"
        f"{_default(field)}</td><td>{escape(field.get('description', ''))}</td></tr>"
        for name, field in body.get("properties", {}).items()
    )
    return f"<table>{''.join(rows)}</table>"


def _type(field: Schema) -> str:
    if choices := field.get("anyOf"):
        return " or ".join(_type(each) for each in choices)
    if field.get("type") == "array" and "items" in field:
        return f"list of ({_type(field['items'])})"
    named = field.get("$ref", "").rpartition("/")[2]
    values = field.get("enum") or ([field["const"]] if "const" in field else [])
    return escape(" | ".join(json.dumps(each) for each in values) or named or field.get("type", "any"))


def _default(field: Schema) -> str:
    return f", default <code>{escape(json.dumps(field['default']))}</code>" if "default" in field else ""


def _resolved(body: Schema, schema: Schema) -> Schema:
    """The schema that a reference names."""
    name = body.get("$ref", "").rpartition("/")[2]
    component: Schema = schema["components"]["schemas"][name] if name else body
    return component
