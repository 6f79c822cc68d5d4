"""Files of reference data over the API: exports and templates, of one brand, that can be imported again."""

import pytest

from portal.import_export import registry
from tests.portal.import_export.conftest import send
from tests.support import factories
from tests.support.api import error

pytestmark = pytest.mark.usefixtures("media")


# --- Exports


EXPORTED = [name for name, resource in registry.resources().items() if resource.exports]
ONLY_IMPORTED = ["partner-codes", "members"]


def test_every_resource_but_these_is_exported():
    assert [name for name in registry.resources() if name not in EXPORTED] == ONLY_IMPORTED


@pytest.mark.parametrize("resource", ONLY_IMPORTED)
def test_what_is_only_imported_has_a_template_and_no_rows(brand, hub, resource):
    factories.reward(brand, name="Free coffee", uses_pool=True)
    template = hub.get(f"brand/exports/{resource}", content="template")
    found = send(hub, template.content, resource=resource).json()["data"]
    assert (found["line_errors"], found["counts"]["new"]) == ([], 1)
    path = f"brand/imports/{resource}/{found['id']}/confirm"
    assert hub.post(path, {"digest": found["digest"]}).status_code == 200

    for query in ({}, {"content": "rows"}, {"file_format": "xlsx"}):
        refused = hub.get(f"brand/exports/{resource}", **query)
        assert error(refused) == (404, "NOT_FOUND")
        assert "can only be imported" in refused.json()["message"]


@pytest.mark.parametrize("resource", EXPORTED)
def test_export_and_template_can_be_imported_again(brand, hub, resource):
    template = hub.get(f"brand/exports/{resource}", content="template")
    found = send(hub, template.content, resource=resource).json()["data"]
    assert (found["line_errors"], found["counts"]["new"]) == ([], 1)
    hub.post(f"brand/imports/{resource}/{found['id']}/confirm", {"digest": found["digest"]})

    for file_format in ("csv", "xlsx"):
        exported = hub.get(f"brand/exports/{resource}", file_format=file_format)
        assert exported.status_code == 200
        again = send(hub, exported.content, resource=resource).json()["data"]
        unchanged = again["counts"].pop("unchanged")
        assert (unchanged > 0, again["counts"]) == (True, {"new": 0, "changed": 0, "error": 0})


def test_export_has_no_row_of_another_brand_and_no_formula(brand, hub):
    factories.product(brand, sku="A", title="=1+1")
    factories.product(factories.brand(), sku="THEIRS", title="Theirs")

    found = hub.get("brand/exports/products").content.decode("utf-8-sig")

    assert found.splitlines()[1:] == ["A,'=1+1,,,,,,yes"]


@pytest.mark.parametrize("query", ["file_format=pdf", "file_format=", "content=x", "sku=A", "format=csv"])
def test_parameters_of_an_export_that_are_none_are_refused_by_name(hub, query):
    refused = hub.call("GET", f"brand/exports/products?{query}")

    assert error(refused) == (400, "VALIDATION_ERROR")
    assert refused.json()["details"] == {"field": query.partition("=")[0]}


def test_export_of_too_many_rows_says_what_to_do(brand, hub, monkeypatch):
    monkeypatch.setattr("portal.import_export.downloads.MAX_EXPORTED", 1)
    for sku in ("A", "B"):
        factories.product(brand, sku=sku)

    assert error(hub.get("brand/exports/products")) == (400, "VALIDATION_ERROR")
