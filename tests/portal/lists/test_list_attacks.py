"""Attacks on lists as oracles: a list accepts the parameters of its own filters and no other chain of relations.

The chains are generated from the models, so a new model, relation, list or filter is attacked without further work.
"""

import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.messages import get_messages
from django.db import connection
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import NoReverseMatch, reverse

from authcodes.models.batches import BatchRange
from brands.models.people import User
from brands.models.tenants import Brand
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.notifications import NotificationSettings
from tests.portal.lists.chains import lookups, own_models, relation_chains
from tests.support import factories
from tests.support.portal import LABELS, address, brand_with_one_of_each, browser, page, staff, text

pytestmark = pytest.mark.django_db
MARKER = "zebra"
NO_SUCH_FILTER = "The list does not have this filter"
CANNOT_SEE = "You do not have access to one of the filters"
# The former rule, which allowed chains, for the control.
FORMER_LOOKUPS = r"(__\w*id)?(__(exact|in|isnull|gt|gte|lt|lte))?|" + r"_(from|to)(_\d)?"


@pytest.fixture
def own_data() -> tuple[Brand, dict[str, Any]]:
    return brand_with_one_of_each("aardvark")


@pytest.fixture
def foreign_data() -> tuple[Brand, dict[str, Any]]:
    return brand_with_one_of_each(MARKER)


def request_of(user: User) -> HttpRequest:
    request = RequestFactory().get("/")
    request.user = user
    return request


def assert_rejected(client: Client, url: str, **query: Any) -> Any:
    """The response, which must reject the filter and say so."""
    response = client.get(url, query)
    assert response.status_code == 400, (url, query)
    assert NO_SUCH_FILTER in text(response), (url, query)
    return response


# --- Known attacks ----------------------------------------------------------------------------------------------------


def printer_client(brand: Brand) -> Client:
    factories.batch(brand, product=factories.product(brand))
    return browser(staff(brand, role="printer"))


def test_printer_cannot_learn_the_other_brands_of_a_customer() -> None:
    own, other = factories.brand(), factories.brand()
    client, customer = printer_client(own), factories.customer(own)
    UserPoints.objects.create(user=customer, brand=other)

    for brand in (own, other):
        query = {
            "product__brand__members__user__id__exact": customer.pk,
            "product__brand__members__user__points_rows__brand__id__exact": brand.pk,
        }
        assert_rejected(client, address("authcodes.batchrange"), **query)


def test_printer_cannot_read_another_brands_ledger_by_bisection() -> None:
    own, other = factories.brand(), factories.brand()
    client, customer = printer_client(own), factories.customer(own)
    account = UserPoints.objects.create(user=customer, brand=other)
    LoyaltyTransaction.objects.create(user_point=account, points_earned=1, reason="earned", reason_id="BIS-00000129")

    for end, value in (("gte", "BIS-0"), ("gte", "BIS-1"), ("lt", "BIS-1"), ("lt", "BIS-0")):
        chain = f"product__brand__members__user__points_rows__transactions__reason_id__{end}"
        assert_rejected(client, address("authcodes.batchrange"), **{chain: value})


def test_printer_cannot_read_credentials_of_external_services() -> None:
    own = factories.brand()
    client = printer_client(own)
    NotificationSettings.objects.create(brand=own, twilio_account_sid="AC0123456789")

    for value in ("AC0", "AC1"):
        assert_rejected(
            client, address("authcodes.batchrange"), product__brand__notice_settings__twilio_account_sid__gte=value
        )


def test_circular_chain_is_rejected_before_it_reaches_the_database(django_assert_max_num_queries: Any) -> None:
    client = printer_client(factories.brand())

    with django_assert_max_num_queries(10):
        circular_chain = "product__codes__batch__codes__batch__codes__product__id__isnull"
        assert_rejected(client, address("authcodes.batchrange"), **{circular_chain: "True"})


# --- Every chain ------------------------------------------------------------------------------------------------------


def attack_lookups(model: Any) -> Iterator[str]:
    yield from lookups(model)
    for path, end in relation_chains(model):
        yield from lookups(end, path)


def filter_paths(model_admin: Any, request: HttpRequest) -> set[str]:
    """The field of each filter of a list, or the filter's own parameter."""
    declared = [spec[0] if isinstance(spec, tuple) else spec for spec in model_admin.get_list_filter(request)]
    return {spec if isinstance(spec, str) else spec.parameter_name for spec in declared}


def belongs_to_a_filter(lookup: str, paths: set[str], model_admin: Any) -> bool:
    """Whether it is the filter's column itself, or the key of the row that it refers to, without other comparisons."""
    bare = re.sub(r"__(exact|isnull)$", "", lookup)
    return bare in paths or bare.rpartition("__")[0] in paths or lookup in model_admin.linked_filters


def test_lists_allow_only_lookups_of_their_own_filters() -> None:
    brands = factories.brand(), factories.brand()
    users = [staff(*brands), staff(*brands, role="printer"), factories.user(is_staff=True, is_superuser=True)]
    with connection.cursor() as cursor:  # checking all chains takes a minute without a query
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    checked = 0
    for model, model_admin in admin.site._registry.items():
        requests = [request_of(user) for user in users]
        for lookup in attack_lookups(model):
            checked += 1
            for request in requests:
                if model_admin.lookup_allowed(lookup, "1", request):
                    paths = filter_paths(model_admin, request)
                    assert belongs_to_a_filter(lookup, paths, model_admin), (model_admin.opts.label, lookup)
    assert checked > 100_000, checked


def test_parameters_of_every_filter_are_allowed() -> None:
    request = request_of(staff(factories.brand(), factories.brand()))

    for label in LABELS:
        model_admin = page(label)
        for path in filter_paths(model_admin, request):
            assert any(name.startswith(path) for name in model_admin.filter_parameters(request)), (label, path)


def test_control_former_rule_allowed_chains_that_distinguish_rows() -> None:
    own, other = factories.brand(), factories.brand()
    batch, customer = factories.batch(own, product=factories.product(own)), factories.customer(own)
    UserPoints.objects.create(user=customer, brand=other)
    allowed = [
        lookup
        for lookup in attack_lookups(BatchRange)
        if any(re.fullmatch(f"{path}({FORMER_LOOKUPS})", lookup) for path in ("product", "campaign", "created_at"))
    ]

    assert len(allowed) > 1_000
    chain = "product__brand__members__user__points_rows__brand__id__exact"
    assert re.fullmatch(f"product({FORMER_LOOKUPS})", chain)
    results = [
        BatchRange.objects.filter(brand=own, **{chain: brand.pk}).distinct() for brand in (other, factories.brand())
    ]
    assert [list(rows) for rows in results] == [[batch], []]


def test_pages_with_a_list_query_reject_a_sample_of_chains(own_data: Any, foreign_data: Any) -> None:
    client, rng = browser(staff(own_data[0])), random.Random(7)
    value = foreign_data[1]["brands.user"].pk
    for label in LABELS:
        model_admin = page(label)
        long_lookups = [lookup for lookup in attack_lookups(model_admin.model) if lookup.count("__") > 2]
        for url in endpoints(label):
            for lookup in rng.sample(long_lookups, 3):
                assert_rejected(client, url, **{lookup: value})


def endpoints(label: str) -> list[str]:
    """The URLs that accept a list's query: the list, its export, and the printing of its codes."""
    urls = [address(label)]
    for action in ("export", "print"):
        try:
            urls.append(address(label, action))
        except NoReverseMatch:
            continue
    return [*urls, *([address("authcodes.printrun", "codes")] if label == "authcodes.authcode" else [])]


def test_job_rejects_a_chain_as_the_list_does(own_data: Any) -> None:
    from portal.lists.queries import UnknownFilter
    from portal.lists.selection import displayed_to

    with pytest.raises(UnknownFilter):
        displayed_to(staff(own_data[0]), BatchRange, "product__brand__members__user__id__exact=1")


# --- Values outside the brand scope -----------------------------------------------------------------------------------


def related_filters(user: User, label: str) -> dict[str, Any]:
    """The parameter of each filter by a related row, and that row's model."""
    specs = page(label).get_changelist_instance(request_of(user)).filter_specs
    return {
        spec.lookup_kwarg: spec.field.related_model for spec in specs if getattr(spec, "field", None) is not None
        and spec.field.related_model
    }  # fmt: skip


def test_filter_by_a_foreign_row_is_rejected_like_a_missing_row(own_data: Any, foreign_data: Any) -> None:
    user, tested_filters = staff(own_data[0]), 0
    client = browser(user)
    for label in LABELS:
        for name, model in related_filters(user, label).items():
            foreign_row = next(row for row in foreign_data[1].values() if type(row) is model)
            for value in (foreign_row.pk, 999_999_999):
                response = client.get(address(label), {name: value})
                assert response.status_code == 302, (label, name)
                assert [str(message) for message in get_messages(response.wsgi_request)][-1].startswith(CANNOT_SEE)
                assert MARKER not in text(client.get(response["Location"])).lower()
            tested_filters += 1
    assert tested_filters >= 8


def test_filter_by_an_own_row_is_accepted(own_data: Any) -> None:
    user = staff(own_data[0])
    client = browser(user)
    for label in LABELS:
        for name, model in related_filters(user, label).items():
            own_row = next(row for row in own_data[1].values() if type(row) is model)
            assert client.get(address(label), {name: own_row.pk}).status_code == 200, (label, name)


@pytest.mark.parametrize(
    ("label", "query"),
    [
        ("authcodes.authcode", "status=x"),
        ("authcodes.authcode", "created_at_from=yesterday"),
        ("events.event", "created_at_to=2026-02-30"),
        ("events.event", "detail_type=unheard"),
        ("brands.user", "kind=x"),
        ("brands.auditlogentry", "kind=x"),
        ("authcodes.authcode", "e=1&batch__id__exact=x"),
    ],
)
def test_invalid_filter_value_is_rejected_instead_of_ignored(brand: Brand, label: str, query: str) -> None:
    response = browser(staff(brand)).get(f"{address(label)}?{query}", follow=True)

    assert response.redirect_chain
    assert response.status_code == 200
    assert CANNOT_SEE in text(response)


# --- Other parameters and URLs ----------------------------------------------------------------------------------------


def test_ordering_facets_and_flags_follow_no_chain(own_data: Any, foreign_data: Any) -> None:
    user = staff(own_data[0])
    client = browser(user)
    flags = {"_facets": "True", "_popup": "1", "all": "", "o": "brand__members__user__password.-99"}
    for label in LABELS:
        expected_rows = set(page(label).get_changelist_instance(request_of(user)).queryset)
        response = client.get(address(label), flags)
        assert response.status_code == 200, label
        assert set(response.context["cl"].queryset) == expected_rows, label
        assert MARKER not in text(response).lower(), label


@pytest.mark.parametrize("field", ["password", "brand__slug", "user__email"])
def test_lists_reject_to_field_of_an_unreferenced_column(brand: Brand, field: str) -> None:
    client = browser(staff(brand))
    for label in LABELS:
        assert client.get(address(label), {"_to_field": field}).status_code == 400, label


@pytest.mark.parametrize("name", ["created_at__year", "at__month", "brand__created_at__day"])
def test_lists_reject_date_hierarchy_lookups(brand: Brand, name: str) -> None:
    client = browser(staff(brand))
    for label in LABELS:
        assert_rejected(client, address(label), **{name: "2026"})


def test_autocomplete_follows_no_chain(own_data: Any, foreign_data: Any) -> None:
    client = browser(staff(own_data[0]))
    for model in [*own_models(), *(model for model in apps.get_models() if model not in own_models())]:
        relations = [field.name for field in model._meta.get_fields() if field.is_relation]
        for field in [*relations, "id", "brand__members", "_state"]:
            source = {"app_label": model._meta.app_label, "model_name": model._meta.model_name, "field_name": field}
            response = client.get(reverse("admin:autocomplete"), {**source, "term": ""})
            assert response.status_code in {200, 403, 404}, (model, field)
            assert MARKER not in text(response).lower(), (model, field)
