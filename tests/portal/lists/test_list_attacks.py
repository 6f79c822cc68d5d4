"""Lists as oracles: whatever chain of relations an address asks, a list answers its own filters' parameters only.

The chains come from the models, so a new model, relation, list or filter is attacked without anybody remembering it.
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
from tests.portal.lists.chains import chains, own_models, questions
from tests.support import factories
from tests.support.portal import LABELS, address, brand_with_one_of_each, browser, page, staff, text

pytestmark = pytest.mark.django_db
MARKER = "zebra"
NO_SUCH_FILTER = "The list does not have this filter"
CANNOT_SEE = "You do not have access to one of the filters"
# The rule that let chains through, for the control.
FORMER_LOOKUPS = r"(__\w*id)?(__(exact|in|isnull|gt|gte|lt|lte))?|" + r"_(from|to)(_\d)?"


@pytest.fixture
def own() -> tuple[Brand, dict[str, Any]]:
    return brand_with_one_of_each("aardvark")


@pytest.fixture
def foreign() -> tuple[Brand, dict[str, Any]]:
    return brand_with_one_of_each(MARKER)


def request_of(person: User) -> HttpRequest:
    request = RequestFactory().get("/")
    request.user = person
    return request


def refusal_of(client: Client, where: str, **query: Any) -> Any:
    """The answer, which must be a refusal in words and show no row at all."""
    answer = client.get(where, query)
    assert answer.status_code == 400, (where, query)
    assert NO_SUCH_FILTER in text(answer), (where, query)
    return answer


# --- The attacks that were made ---------------------------------------------------------------------------------------


def printers_browser(brand: Brand) -> Client:
    factories.batch(brand, product=factories.product(brand))
    return browser(staff(brand, role="printer"))


def test_a_printer_is_not_told_whose_customer_somebody_is() -> None:
    here, there = factories.brand(), factories.brand()
    client, both = printers_browser(here), factories.customer(here)
    UserPoints.objects.create(user=both, brand=there)

    for brand in (here, there):
        query = {
            "product__brand__members__user__id__exact": both.pk,
            "product__brand__members__user__points_rows__brand__id__exact": brand.pk,
        }
        refusal_of(client, address("authcodes.batchrange"), **query)


def test_a_printer_cannot_read_another_brands_ledger_by_halves() -> None:
    here, there = factories.brand(), factories.brand()
    client, both = printers_browser(here), factories.customer(here)
    account = UserPoints.objects.create(user=both, brand=there)
    LoyaltyTransaction.objects.create(user_point=account, points_earned=1, reason="earned", reason_id="BIS-00000129")

    for end, value in (("gte", "BIS-0"), ("gte", "BIS-1"), ("lt", "BIS-1"), ("lt", "BIS-0")):
        chain = f"product__brand__members__user__points_rows__transactions__reason_id__{end}"
        refusal_of(client, address("authcodes.batchrange"), **{chain: value})


def test_a_printer_cannot_read_what_brands_pay_others_for() -> None:
    here = factories.brand()
    client = printers_browser(here)
    NotificationSettings.objects.create(brand=here, twilio_account_sid="AC0123456789")

    for value in ("AC0", "AC1"):
        refusal_of(
            client, address("authcodes.batchrange"), product__brand__notice_settings__twilio_account_sid__gte=value
        )


def test_a_chain_in_circles_is_refused_before_the_database_is_asked(django_assert_max_num_queries: Any) -> None:
    client = printers_browser(factories.brand())

    with django_assert_max_num_queries(10):
        circles = "product__codes__batch__codes__batch__codes__product__id__isnull"
        refusal_of(client, address("authcodes.batchrange"), **{circles: "True"})


# --- Every chain ------------------------------------------------------------------------------------------------------


def attacks(model: Any) -> Iterator[str]:
    yield from questions(model)
    for path, end in chains(model):
        yield from questions(end, path)


def paths_of_filters(listed: Any, request: HttpRequest) -> set[str]:
    """The fields, or parameters of their own, that the filters of a list are declared for."""
    declared = [each[0] if isinstance(each, tuple) else each for each in listed.get_list_filter(request)]
    return {each if isinstance(each, str) else each.parameter_name for each in declared}


def is_the_filters_own(question: str, paths: set[str], listed: Any) -> bool:
    """The filter's column itself, or the key of the row that it refers to, compared in no other way."""
    bare = re.sub(r"__(exact|isnull)$", "", question)
    return bare in paths or bare.rpartition("__")[0] in paths or question in listed.linked_filters


def test_lists_allow_no_chain_beyond_their_filters_own_fields() -> None:
    brands = factories.brand(), factories.brand()
    people = [staff(*brands), staff(*brands, role="printer"), factories.user(is_staff=True, is_superuser=True)]
    with connection.cursor() as cursor:  # a model has so many chains that the database hears nothing for a minute
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    checked = 0
    for model, listed in admin.site._registry.items():
        requests = [request_of(person) for person in people]
        for question in attacks(model):
            checked += 1
            for request in requests:
                if listed.lookup_allowed(question, "1", request):
                    paths = paths_of_filters(listed, request)
                    assert is_the_filters_own(question, paths, listed), (listed.opts.label, question)
    assert checked > 100_000, checked


def test_every_filters_own_parameters_are_allowed() -> None:
    request = request_of(staff(factories.brand(), factories.brand()))

    for label in LABELS:
        listed = page(label)
        for path in paths_of_filters(listed, request):
            assert any(name.startswith(path) for name in listed.filter_parameters(request)), (label, path)


def test_control_the_former_rule_let_chains_pass_and_they_told_rows_apart() -> None:
    here, there = factories.brand(), factories.brand()
    batch, customer = factories.batch(here, product=factories.product(here)), factories.customer(here)
    UserPoints.objects.create(user=customer, brand=there)
    passed = [
        question
        for question in attacks(BatchRange)
        if any(re.fullmatch(f"{path}({FORMER_LOOKUPS})", question) for path in ("product", "campaign", "created_at"))
    ]

    assert len(passed) > 1_000
    chain = "product__brand__members__user__points_rows__brand__id__exact"
    assert re.fullmatch(f"product({FORMER_LOOKUPS})", chain)
    shown = [
        BatchRange.objects.filter(brand=here, **{chain: brand.pk}).distinct() for brand in (there, factories.brand())
    ]
    assert [list(rows) for rows in shown] == [[batch], []]


def test_a_sample_of_chains_is_refused_by_each_page_that_takes_a_lists_query(own: Any, foreign: Any) -> None:
    client, chance = browser(staff(own[0])), random.Random(7)
    value = foreign[1]["brands.user"].pk
    for label in LABELS:
        listed = page(label)
        found = [question for question in attacks(listed.model) if question.count("__") > 2]
        for where in endpoints(label):
            for question in chance.sample(found, 3):
                refusal_of(client, where, **{question: value})


def endpoints(label: str) -> list[str]:
    """The pages that take a list's query: the list, its export, and printing what it shows."""
    found = [address(label)]
    for what in ("export", "print"):
        try:
            found.append(address(label, what))
        except NoReverseMatch:
            continue
    return [*found, *([address("authcodes.printrun", "codes")] if label == "authcodes.authcode" else [])]


def test_a_job_refuses_a_chain_as_the_list_does(own: Any) -> None:
    from portal.lists.queries import UnknownFilter
    from portal.lists.selection import displayed_to

    with pytest.raises(UnknownFilter):
        displayed_to(staff(own[0]), BatchRange, "product__brand__members__user__id__exact=1")


# --- Values out of reach ----------------------------------------------------------------------------------------------


def related_filters(person: User, label: str) -> dict[str, Any]:
    """The parameter of each filter by a related row, and that row's model."""
    specs = page(label).get_changelist_instance(request_of(person)).filter_specs
    return {
        spec.lookup_kwarg: spec.field.related_model for spec in specs if getattr(spec, "field", None) is not None
        and spec.field.related_model
    }  # fmt: skip


def test_a_row_out_of_reach_is_refused_like_one_that_is_not_there(own: Any, foreign: Any) -> None:
    person, met = staff(own[0]), 0
    client = browser(person)
    for label in LABELS:
        for name, model in related_filters(person, label).items():
            foreign_row = next(row for row in foreign[1].values() if type(row) is model)
            for value in (foreign_row.pk, 999_999_999):
                answer = client.get(address(label), {name: value})
                assert answer.status_code == 302, (label, name)
                assert [str(message) for message in get_messages(answer.wsgi_request)][-1].startswith(CANNOT_SEE)
                assert MARKER not in text(client.get(answer["Location"])).lower()
            met += 1
    assert met >= 8


def test_own_rows_are_filtered_by(own: Any) -> None:
    person = staff(own[0])
    client = browser(person)
    for label in LABELS:
        for name, model in related_filters(person, label).items():
            own_row = next(row for row in own[1].values() if type(row) is model)
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
def test_a_value_that_a_filter_cannot_take_is_never_no_filter(brand: Brand, label: str, query: str) -> None:
    answer = browser(staff(brand)).get(f"{address(label)}?{query}", follow=True)

    assert answer.redirect_chain
    assert answer.status_code == 200
    assert CANNOT_SEE in text(answer)


# --- Other addresses --------------------------------------------------------------------------------------------------


def test_order_facets_and_flags_follow_no_chain(own: Any, foreign: Any) -> None:
    person = staff(own[0])
    client = browser(person)
    flags = {"_facets": "True", "_popup": "1", "all": "", "o": "brand__members__user__password.-99"}
    for label in LABELS:
        plain = set(page(label).get_changelist_instance(request_of(person)).queryset)
        answer = client.get(address(label), flags)
        assert answer.status_code == 200, label
        assert set(answer.context["cl"].queryset) == plain, label
        assert MARKER not in text(answer).lower(), label


@pytest.mark.parametrize("field", ["password", "brand__slug", "user__email"])
def test_no_list_lets_others_refer_to_a_column_that_nobody_refers_to(brand: Brand, field: str) -> None:
    client = browser(staff(brand))
    for label in LABELS:
        assert client.get(address(label), {"_to_field": field}).status_code == 400, label


@pytest.mark.parametrize("name", ["created_at__year", "at__month", "brand__created_at__day"])
def test_no_list_has_a_hierarchy_of_dates(brand: Brand, name: str) -> None:
    client = browser(staff(brand))
    for label in LABELS:
        refusal_of(client, address(label), **{name: "2026"})


def test_looking_up_while_typing_follows_no_chain(own: Any, foreign: Any) -> None:
    client = browser(staff(own[0]))
    for model in [*own_models(), *(model for model in apps.get_models() if model not in own_models())]:
        relations = [field.name for field in model._meta.get_fields() if field.is_relation]
        for field in [*relations, "id", "brand__members", "_state"]:
            where = {"app_label": model._meta.app_label, "model_name": model._meta.model_name, "field_name": field}
            answer = client.get(reverse("admin:autocomplete"), {**where, "term": ""})
            assert answer.status_code in {200, 403, 404}, (model, field)
            assert MARKER not in text(answer).lower(), (model, field)
