"""Which changes of a description break programs, and which do not."""

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
WHERE = "POST /things/{id}"


def changed(change):
    new = copy.deepcopy(OLD)
    change(new["paths"]["/things/{id}"]["post"], new["components"]["schemas"], new)
    return breaking.breaks(OLD, new)


BREAKS = {
    "a path less": (lambda _o, _s, n: n["paths"].clear(), f"{WHERE}: removed"),
    "another name": (lambda o, _s, _n: o.update(operationId="x"), f"{WHERE}: operationId was change_thing, is x"),
    "a way in less": (lambda o, _s, _n: o["security"].pop(), f"{WHERE}: apiKey no longer suffices"),
    "a parameter less": (lambda o, _s, _n: o["parameters"].pop(), f"{WHERE}, query limit: removed"),
    "a required parameter": (
        lambda o, _s, _n: o["parameters"][0].update(required=True),
        f"{WHERE}, query limit: now required",
    ),
    "a new required parameter": (
        lambda o, _s, _n: o["parameters"].append({"in": "header", "name": "origin", "required": True}),
        f"{WHERE}, header origin: new and required",
    ),
    "a lower maximum": (
        lambda o, _s, _n: o["parameters"][0]["schema"].update(maximum=100),
        f"{WHERE}, query limit: maximum 200 and 100 do not fit",
    ),
    "a required body": (
        lambda o, _s, _n: o["requestBody"].update(required=True),
        f"{WHERE}, body: now required",
    ),
    "no body": (lambda o, _s, _n: o.pop("requestBody"), f"{WHERE}, body: removed"),
    "a required member": (
        lambda _o, s, _n: s["Input"]["required"].append("kind"),
        f"{WHERE}, body application/json.kind: now required",
    ),
    "a member less to send": (
        lambda _o, s, _n: s["Input"]["properties"].pop("kind"),
        f"{WHERE}, body application/json.kind: removed",
    ),
    "a value less to send": (
        lambda _o, s, _n: s["Input"]["properties"]["kind"]["enum"].pop(),
        f'{WHERE}, body application/json.kind: value "b" removed',
    ),
    "no null": (
        lambda _o, s, _n: s["Input"]["properties"]["size"].update(type="number"),
        f"{WHERE}, body application/json.size: type null no longer taken",
    ),
    "a shorter text": (
        lambda _o, s, _n: s["Input"]["properties"]["name"].update(maxLength=10),
        f"{WHERE}, body application/json.name: maxLength 20 and 10 do not fit",
    ),
    "a pattern": (
        lambda _o, s, _n: s["Input"]["properties"]["name"].update(pattern="^a"),
        f"{WHERE}, body application/json.name: pattern none and ^a do not fit",
    ),
    "values where all were taken": (
        lambda _o, s, _n: s["Input"]["properties"]["name"].update(enum=["x"]),
        f'{WHERE}, body application/json.name: only "x" taken now',
    ),
    "an alternative less": (
        lambda _o, s, _n: s["Input"]["properties"]["of"]["anyOf"].pop(0),
        f"{WHERE}, body application/json.of: alternative string no longer taken",
    ),
    "no other members": (
        lambda _o, s, _n: s["Input"].update(additionalProperties=False),
        f"{WHERE}, body application/json: takes no other members any more",
    ),
    "a member less to get": (
        lambda _o, s, _n: s["Thing"]["properties"].pop("state"),
        f"{WHERE}, 200 application/json.state: removed",
    ),
    "a member that may be absent": (
        lambda _o, s, _n: s["Thing"]["required"].remove("state"),
        f"{WHERE}, 200 application/json.state: may be absent now",
    ),
    "null where none was": (
        lambda _o, s, _n: s["Thing"]["properties"]["id"].update(type=["integer", "null"]),
        f"{WHERE}, 200 application/json.id: type null new",
    ),
    "a value less to get": (
        lambda _o, s, _n: s["Thing"]["properties"]["state"]["enum"].pop(),
        f'{WHERE}, 200 application/json.state: value "old" removed',
    ),
    "a value more to get": (
        lambda _o, s, _n: s["Thing"]["properties"]["state"]["enum"].append("odd"),
        f'{WHERE}, 200 application/json.state: value "odd" new',
    ),
    "an error's code less": (
        lambda _o, s, _n: s["Failure"]["properties"]["error"].update(enum=["GONE"]),
        f'{WHERE}, 404 application/json.error: value "NOT_FOUND" removed',
    ),
    "a success less": (lambda o, _s, _n: o["responses"].pop("200"), f"{WHERE}, 200: removed"),
    "a success more": (lambda o, _s, _n: o["responses"].update({"201": {}}), f"{WHERE}, 201: added"),
    "a header less": (
        lambda o, _s, _n: o["responses"]["200"].pop("headers"),
        f"{WHERE}, 200: header X-Request-ID removed",
    ),
    "another kind of answer": (
        lambda o, _s, _n: o["responses"]["200"].update(content={"text/csv": {}}),
        f"{WHERE}, 200 application/json: removed",
    ),
}


@pytest.mark.parametrize(("change", "complaint"), BREAKS.values(), ids=BREAKS)
def test_change_that_breaks_programs_is_told(change, complaint):
    assert complaint in changed(change)


BEARABLE = {
    "nothing": lambda _o, _s, _n: None,
    "a path more": lambda _o, _s, n: n["paths"].update({"/more": {}}),
    "a parameter more": lambda o, _s, _n: o["parameters"].append({"in": "query", "name": "x", "schema": {}}),
    "a higher maximum": lambda o, _s, _n: o["parameters"][0]["schema"].update(maximum=500),
    "a member more to send": lambda _o, s, _n: s["Input"]["properties"].update(more={"type": "string"}),
    "nothing required": lambda _o, s, _n: s["Input"].update(required=[]),
    "a value more to send": lambda _o, s, _n: s["Input"]["properties"]["kind"]["enum"].append("c"),
    "a member more to get": lambda _o, s, _n: s["Thing"]["properties"].update(more={"type": "string"}),
    "an error more": lambda o, _s, _n: o["responses"].update({"409": {}}),
    "an error's code more": lambda _o, s, _n: s["Failure"]["properties"]["error"]["enum"].append("GONE"),
    "a way in more": lambda o, _s, _n: o["security"].append({"session": []}),
    "other words": lambda _o, s, _n: s["Thing"].update(description="other"),
    "the same by allOf": lambda o, _s, _n: o["requestBody"]["content"].update(
        {"application/json": {"schema": {"allOf": [{"$ref": "#/components/schemas/Input"}]}}}
    ),
}


@pytest.mark.parametrize("change", BEARABLE.values(), ids=BEARABLE)
def test_change_that_programs_bear_is_not(change):
    assert changed(change) == []


def test_present_api_breaks_no_program_written_for_the_last_release():
    released, present = (json.loads(file.read_text()) for file in (breaking.RELEASED, breaking.FILE))

    assert breaking.breaks(released, breaking.bare(present)) == [], "See CONTRIBUTING.md on changes of the API."


def test_release_is_kept_without_words_and_with_members_that_are_called_so():
    kept = breaking.bare({"description": "x", "properties": {"title": {"type": "string", "title": "y"}}})

    assert kept == {"properties": {"title": {"type": "string"}}}
