"""Files of reference data over the API: a brand's exports and templates, which can be imported again."""

import pytest

from portal.import_export import registry
from tests.portal.import_export.conftest import send_file
from tests.support import factories
from tests.support.api import error

pytestmark = pytest.mark.usefixtures("media")


# --- Exports


EXPORTED = [name for name, resource in registry.resources().items() if resource.exports]
ONLY_IMPORTED = ["partner-codes", "members"]


def test_all_resources_except_these_can_be_exported():
    assert [name for name in registry.resources() if name not in EXPORTED] == ONLY_IMPORTED


@pytest.mark.parametrize("resource", ONLY_IMPORTED)
def test_import_only_resource_has_a_template_but_no_export(brand, hub, resource):
    factories.reward(brand, name="Free coffee", uses_pool=True)
    template = hub.get(f"brand/exports/{resource}", content="template")
    preview = send_file(hub, template.content, resource=resource).json()["data"]
    assert (preview["line_errors"], preview["counts"]["new"]) == ([], 1)
    path = f"brand/imports/{resource}/{preview['id']}/confirm"
    assert hub.post(path, {"digest": preview["digest"]}).status_code == 200

    for query in ({}, {"content": "rows"}, {"file_format": "xlsx"}):
        rejected = hub.get(f"brand/exports/{resource}", **query)
        assert error(rejected) == (404, "NOT_FOUND")
        assert "can only be imported" in rejected.json()["message"]


@pytest.mark.parametrize("resource", EXPORTED)
def test_export_and_template_can_be_imported_again(brand, hub, resource):
    template = hub.get(f"brand/exports/{resource}", content="template")
    preview = send_file(hub, template.content, resource=resource).json()["data"]
    assert (preview["line_errors"], preview["counts"]["new"]) == ([], 1)
    hub.post(f"brand/imports/{resource}/{preview['id']}/confirm", {"digest": preview["digest"]})

    for file_format in ("csv", "xlsx"):
        exported = hub.get(f"brand/exports/{resource}", file_format=file_format)
        assert exported.status_code == 200
        second_preview = send_file(hub, exported.content, resource=resource).json()["data"]
        unchanged = second_preview["counts"].pop("unchanged")
        assert (unchanged > 0, second_preview["counts"]) == (True, {"new": 0, "changed": 0, "error": 0})


def test_export_contains_no_rows_of_other_brands_and_no_formulas(brand, hub):
    factories.product(brand, sku="A", title="=1+1")
    factories.product(factories.brand(), sku="THEIRS", title="Theirs")

    content = hub.get("brand/exports/products").content.decode("utf-8-sig")

    assert content.splitlines()[1:] == ["A,'=1+1,,,,,,yes"]


@pytest.mark.parametrize("query", ["file_format=pdf", "file_format=", "content=x", "sku=A", "format=csv"])
def test_invalid_export_parameter_is_rejected_by_name(hub, query):
    rejected = hub.call("GET", f"brand/exports/products?{query}")

    assert error(rejected) == (400, "VALIDATION_ERROR")
    assert rejected.json()["details"] == {"field": query.partition("=")[0]}


def test_export_of_too_many_rows_is_rejected_with_advice_to_filter(brand, hub, monkeypatch):
    monkeypatch.setattr("portal.import_export.downloads.MAX_EXPORTED", 1)
    for sku in ("A", "B"):
        factories.product(brand, sku=sku)

    rejected = hub.get("brand/exports/products")

    assert error(rejected) == (400, "VALIDATION_ERROR")
    assert rejected.json()["message"] == "The list has more than 1 rows. Filter it first."
