"""Which changes of the API description break client programs, and which do not."""

import copy
import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent.parent / "bin"))

from published import breaking

OLD = {
    "paths": {
        "/things/{id}": {
            "post": {
                "operationId": "change_thing",
                "security": [{"bearer": []}, {"apiKey": []}],
                "parameters": [{"in": "query", "name": "limit", "schema": {"type": "integer", "maximum": 200}}],
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Input"}}},
                },
                "responses": {
                    "200": {
                        "headers": {"X-Request-ID": {}},
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}},
                    },
                    "404": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Failure"}}}},
                },
            }
        }
    },
    "components": {
        "schemas": {
            "Input": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "maxLength": 20},
                    "kind": {"type": "string", "enum": ["a", "b"]},
                    "size": {"type": ["number", "null"]},
                    "of": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["x"]}]},
                },
                "required": ["name"],
            },
            "Thing": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer"},
                    "state": {"type": "string", "enum": ["new", "old"]},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}},
                },
                "required": ["id", "state"],
            },
            "Failure": {
                "type": "object",
                "properties": {"error": {"type": "string", "enum": ["NOT_FOUND"]}},
                "required": ["error"],
            },
        }
    },
}
OPERATION = "POST /things/{id}"


def breaks_after(change):
    new = copy.deepcopy(OLD)
    change(new["paths"]["/things/{id}"]["post"], new["components"]["schemas"], new)
    return breaking.breaks(OLD, new)


BREAKING = {
    "path removed": (lambda _o, _s, n: n["paths"].clear(), f"{OPERATION}: removed"),
    "operationId changed": (
        lambda o, _s, _n: o.update(operationId="x"),
        f"{OPERATION}: operationId was change_thing, is x",
    ),
    "authentication scheme removed": (lambda o, _s, _n: o["security"].pop(), f"{OPERATION}: apiKey no longer suffices"),
    "parameter removed": (lambda o, _s, _n: o["parameters"].pop(), f"{OPERATION}, query limit: removed"),
    "parameter becomes required": (
        lambda o, _s, _n: o["parameters"][0].update(required=True),
        f"{OPERATION}, query limit: now required",
    ),
    "required parameter added": (
        lambda o, _s, _n: o["parameters"].append({"in": "header", "name": "origin", "required": True}),
        f"{OPERATION}, header origin: new and required",
    ),
    "maximum lowered": (
        lambda o, _s, _n: o["parameters"][0]["schema"].update(maximum=100),
        f"{OPERATION}, query limit: maximum 200 and 100 do not fit",
    ),
    "body becomes required": (
        lambda o, _s, _n: o["requestBody"].update(required=True),
        f"{OPERATION}, body: now required",
    ),
    "body removed": (lambda o, _s, _n: o.pop("requestBody"), f"{OPERATION}, body: removed"),
    "property becomes required": (
        lambda _o, s, _n: s["Input"]["required"].append("kind"),
        f"{OPERATION}, body application/json.kind: now required",
    ),
    "request property removed": (
        lambda _o, s, _n: s["Input"]["properties"].pop("kind"),
        f"{OPERATION}, body application/json.kind: removed",
    ),
    "request value removed": (
        lambda _o, s, _n: s["Input"]["properties"]["kind"]["enum"].pop(),
        f'{OPERATION}, body application/json.kind: value "b" removed',
    ),
    "null no longer accepted": (
        lambda _o, s, _n: s["Input"]["properties"]["size"].update(type="number"),
        f"{OPERATION}, body application/json.size: type null no longer taken",
    ),
    "maxLength lowered": (
        lambda _o, s, _n: s["Input"]["properties"]["name"].update(maxLength=10),
        f"{OPERATION}, body application/json.name: maxLength 20 and 10 do not fit",
    ),
    "pattern added": (
        lambda _o, s, _n: s["Input"]["properties"]["name"].update(pattern="^a"),
        f"{OPERATION}, body application/json.name: pattern none and ^a do not fit",
    ),
    "enum added": (
        lambda _o, s, _n: s["Input"]["properties"]["name"].update(enum=["x"]),
        f'{OPERATION}, body application/json.name: only "x" taken now',
    ),
    "alternative removed": (
        lambda _o, s, _n: s["Input"]["properties"]["of"]["anyOf"].pop(0),
        f"{OPERATION}, body application/json.of: alternative string no longer taken",
    ),
    "additional properties forbidden": (
        lambda _o, s, _n: s["Input"].update(additionalProperties=False),
        f"{OPERATION}, body application/json: takes no other members any more",
    ),
    "response property removed": (
        lambda _o, s, _n: s["Thing"]["properties"].pop("state"),
        f"{OPERATION}, 200 application/json.state: removed",
    ),
    "response property becomes optional": (
        lambda _o, s, _n: s["Thing"]["required"].remove("state"),
        f"{OPERATION}, 200 application/json.state: may be absent now",
    ),
    "response property becomes nullable": (
        lambda _o, s, _n: s["Thing"]["properties"]["id"].update(type=["integer", "null"]),
        f"{OPERATION}, 200 application/json.id: type null new",
    ),
    "response value removed": (
        lambda _o, s, _n: s["Thing"]["properties"]["state"]["enum"].pop(),
        f'{OPERATION}, 200 application/json.state: value "old" removed',
    ),
    "response value added": (
        lambda _o, s, _n: s["Thing"]["properties"]["state"]["enum"].append("odd"),
        f'{OPERATION}, 200 application/json.state: value "odd" new',
    ),
    "error code removed": (
        lambda _o, s, _n: s["Failure"]["properties"]["error"].update(enum=["GONE"]),
        f'{OPERATION}, 404 application/json.error: value "NOT_FOUND" removed',
    ),
    "success response removed": (lambda o, _s, _n: o["responses"].pop("200"), f"{OPERATION}, 200: removed"),
    "success response added": (lambda o, _s, _n: o["responses"].update({"201": {}}), f"{OPERATION}, 201: added"),
    "response header removed": (
        lambda o, _s, _n: o["responses"]["200"].pop("headers"),
        f"{OPERATION}, 200: header X-Request-ID removed",
    ),
    "response content type changed": (
        lambda o, _s, _n: o["responses"]["200"].update(content={"text/csv": {}}),
        f"{OPERATION}, 200 application/json: removed",
    ),
}


@pytest.mark.parametrize(("change", "complaint"), BREAKING.values(), ids=BREAKING)
def test_breaking_change_is_reported(change, complaint):
    assert complaint in breaks_after(change)


COMPATIBLE = {
    "no change": lambda _o, _s, _n: None,
    "path added": lambda _o, _s, n: n["paths"].update({"/more": {}}),
    "optional parameter added": lambda o, _s, _n: o["parameters"].append({"in": "query", "name": "x", "schema": {}}),
    "maximum raised": lambda o, _s, _n: o["parameters"][0]["schema"].update(maximum=500),
    "request property added": lambda _o, s, _n: s["Input"]["properties"].update(more={"type": "string"}),
    "required property becomes optional": lambda _o, s, _n: s["Input"].update(required=[]),
    "request value added": lambda _o, s, _n: s["Input"]["properties"]["kind"]["enum"].append("c"),
    "response property added": lambda _o, s, _n: s["Thing"]["properties"].update(more={"type": "string"}),
    "error response added": lambda o, _s, _n: o["responses"].update({"409": {}}),
    "error code added": lambda _o, s, _n: s["Failure"]["properties"]["error"]["enum"].append("GONE"),
    "authentication scheme added": lambda o, _s, _n: o["security"].append({"session": []}),
    "description changed": lambda _o, s, _n: s["Thing"].update(description="other"),
    "same schema through allOf": lambda o, _s, _n: o["requestBody"]["content"].update(
        {"application/json": {"schema": {"allOf": [{"$ref": "#/components/schemas/Input"}]}}}
    ),
}


@pytest.mark.parametrize("change", COMPATIBLE.values(), ids=COMPATIBLE)
def test_compatible_change_is_not_reported(change):
    assert breaks_after(change) == []


def test_present_api_is_compatible_with_the_last_release():
    released, present = (json.loads(file.read_text()) for file in (breaking.RELEASED, breaking.FILE))

    assert breaking.breaks(released, breaking.bare(present)) == [], "See CONTRIBUTING.md on changes of the API."


def test_saved_release_has_no_titles_but_retains_properties_named_title():
    saved = breaking.bare({"description": "x", "properties": {"title": {"type": "string", "title": "y"}}})

    assert saved == {"properties": {"title": {"type": "string"}}}
