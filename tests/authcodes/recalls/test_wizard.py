"""The steps of a new recall in the portal: what, with which message, and the number that confirms it."""

import re

import pytest
from django.utils import timezone, translation

from authcodes.models.batches import Recall
from authcodes.models.codes import AuthCode
from authcodes.recalls import preview as recall_preview
from authcodes.recalls import recalls, scopes
from jobs.models import Job
from loyalty.notifications import preferences
from tests.support import factories
from tests.support.portal import address, browser, scan, staff, text

pytestmark = pytest.mark.django_db
TEXTS = {"recall_id": "R-7", "contact": "call us", "message": "Stop using it.", "reason": "Glass"}
ADD = "authcodes.recall"


@pytest.fixture
def client(brand):
    return browser(staff(brand))


@pytest.fixture
def product(brand):
    return factories.product(brand, title="Lamp")


@pytest.fixture
def customer_reading_german(brand):
    customer = factories.customer(brand)
    preferences.change(customer.pk, brand.pk, language="de", at=timezone.now())
    return customer


def step(client, **query):
    return client.get(address(ADD, "add"), query)


def scope_of(answer):
    return [(part.batch.range_name, part.first, part.last) for part in answer.context["summary"].scope.parts]


def test_a_product_is_all_its_batches_that_there_are(client, brand, product):
    factories.batch(brand, product=product, range_name="One")
    assigned = factories.batch(brand, range_name="Assigned later", quantity=2)
    AuthCode.objects.filter(pk=assigned.codes.first().pk).update(product=product)
    factories.batch(brand, range_name="Another's")

    page = step(client, kind="product", product=product.pk)

    assert scope_of(page) == [("One", "", ""), ("Assigned later", "", "")]
    assert "These batches also contain codes of other products, which are recalled too: Assigned later." in text(page)


def test_batches_of_the_product_that_are_recalled_already_are_left_out_and_said(client, brand, product):
    taken = factories.batch(brand, product=product, range_name="Taken")
    factories.batch(brand, product=product, range_name="Free")
    recalls.recall_batch(batch=taken, at=timezone.now(), **TEXTS)

    page = step(client, kind="product", product=product.pk)

    assert scope_of(page) == [("Free", "", "")]
    assert "1 batch of this product is already recalled and is left out." in text(page)


def test_of_a_batch_that_is_recalled_in_part_the_page_says_that_the_rest_is_genuine(client, brand, product):
    batch = factories.batch(brand, product=product, range_name="Mixed", prefix="NW-", quantity=10)
    scope = scopes.of_range(batch=batch, first="4", last="6")
    recalls.recall(scope=scope, at=timezone.now(), **TEXTS)
    expected_text = f"Mixed: {scope.parts[0].first} … {scope.parts[0].last}"

    alone = text(step(client, kind="product", product=product.pk))
    factories.batch(brand, product=product, range_name="Free")
    beside = text(step(client, kind="product", product=product.pk))

    for page in (alone, beside):
        assert "their other codes still scan as genuine" in page
        assert expected_text in page


def test_what_was_looked_at_is_what_is_recalled(client, brand, product):
    kept = factories.batch(brand, product=product, range_name="One")
    page = step(client, kind="product", product=product.pk)
    shown = {**TEXTS, "confirmed_scope": page.context["form"].initial["confirmed_scope"]}
    factories.batch(brand, product=product, range_name="Two")  # a colleague makes more codes of it
    where = f"{address(ADD, 'add')}?kind=product&product={product.pk}"

    refused = client.post(where, shown)

    assert "The codes to recall have changed since this page was opened" in text(refused)
    assert not Recall.objects.exists()
    again = {**TEXTS, "confirmed_scope": refused.context["form"].data["confirmed_scope"]}
    assert client.post(where, again).status_code == 302
    assert Recall.objects.get().batches.count() == 2
    assert kept.pk in Recall.objects.get().batches.values_list("pk", flat=True)


def test_a_page_of_a_product_leads_here(client, brand, product):
    factories.batch(brand, product=product)
    action = address("authcodes.product", "recall", product.pk)

    assert action in text(client.get(address("authcodes.product", "change", product.pk)))
    assert "Lamp" in text(client.get(action, follow=True))


def test_several_batches_and_a_part_of_one_are_chosen(client, brand):
    one, two = factories.batch(brand, range_name="A"), factories.batch(brand, range_name="B", quantity=9, prefix="B-")

    assert scope_of(step(client, kind="batches", batches=[one.pk, two.pk])) == [("A", "", ""), ("B", "", "")]
    assert scope_of(step(client, kind="range", batch=two.pk, first="2", last="B-0004")) == [("B", "B-0002", "B-0004")]
    assert scope_of(step(client, batch=two.pk)) == [("B", "", "")]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"kind": "product"}, "product"),
        ({"kind": "product", "product": "x"}, "product"),
        ({"kind": "product", "product": "9" * 40}, "product"),
        ({"kind": "batches"}, "batches"),
        ({"kind": "batches", "batches": ["x"]}, "batches"),
        ({"kind": "batches", "batches": ["9" * 40]}, "batches"),
        ({"kind": "range"}, "batch"),
        ({"kind": "range", "batch": "B", "first": "2"}, "last"),
        ({"kind": "range", "batch": "B", "last": "2"}, "first"),
        ({"kind": "range", "batch": "B", "first": "7", "last": "2"}, "last"),
        ({"kind": "range", "batch": "B", "first": "x" * 65, "last": "2"}, "first"),
        ({"kind": "nonsense"}, "kind"),
    ],
)
def test_what_cannot_be_is_said_at_its_field(client, brand, query, field):
    batch = factories.batch(brand, quantity=9, prefix="B-")
    query = {name: batch.pk if value == "B" else value for name, value in query.items()}

    answer = step(client, **query)

    assert list(answer.context["form"].errors) == [field]
    assert 'name="message"' not in text(answer)


def test_another_brands_rows_cannot_be_chosen(client):
    zebra = factories.batch(factories.brand(), range_name="zebra")
    for query in (
        {"kind": "product", "product": zebra.product_id},
        {"kind": "batches", "batches": [zebra.pk]},
        {"kind": "range", "batch": zebra.pk, "first": "1", "last": "1"},
    ):
        answer = step(client, **query)
        assert "summary" not in answer.context
        assert "zebra" not in text(answer)
        assert client.post(f"{address(ADD, 'add')}preview/?batch={zebra.pk}", TEXTS).status_code == 409


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("manager", 200), ("support", 403), ("printer", 403)])
def test_who_may_recall_sees_the_steps(brand, role, status):
    batch, client = factories.batch(brand), browser(staff(brand, role=role))
    where = f"?batch={batch.pk}"

    assert client.get(address(ADD, "add") + where).status_code == status
    assert client.post(f"{address(ADD, 'add')}preview/{where}", TEXTS).status_code == status
    assert client.post(f"{address(ADD, 'add')}poster/{where}", TEXTS).status_code == status


def test_the_numbers_say_who_is_reached(client, brand):
    batch = factories.batch(brand, quantity=5)
    for code in batch.codes.all()[:2]:
        scan(code, user=factories.customer(brand), location="Bern, Bern", scan_count=1)

    page = step(client, batch=batch.pk)

    facts = page.context["summary"]
    assert (facts.codes, facts.scanned, facts.customers, page.context["preview"].customers) == (5, 2, 2, 2)
    assert re.search(r"Reached by E-mail</dt><dd>2<", text(page))
    assert [row.scans for row in facts.map.rows] == [2]


def test_a_part_is_counted_by_itself(client, brand):
    batch = factories.batch(brand, quantity=5, prefix="B-")
    for code in batch.codes.order_by("code"):
        scan(code, user=factories.customer(brand), location="Bern, Bern")
    batch.codes.update(scan_count=1)

    facts = step(client, batch=batch.pk, first="2", last="3").context["summary"]

    assert (facts.codes, facts.scanned, facts.customers, facts.places[0].scans) == (3 - 1, 2, 2, 2)


def test_what_is_typed_is_shown_while_it_is_typed(client, brand):
    batch = factories.batch(brand, product=factories.product(brand, title="Lamp"))
    scan(batch.codes.get(), user=factories.customer(brand))
    its = step(client, batch=batch.pk).context["preview"]
    counted = {"customers": str(its.customers), "by_email": "1"}

    shown = client.post(f"{address(ADD, 'add')}preview/?batch={batch.pk}", {**TEXTS, **counted})

    assert shown.context["preview"].customers == 1
    assert "Stop using it." in text(shown)
    assert not Recall.objects.exists()
    confirmed = {**TEXTS, "notify_customers": "on", "previewed": shown.context["preview"].fingerprint}
    answer = client.post(f"{address(ADD, 'add')}?batch={batch.pk}", {**confirmed, "confirmation": "1"})
    assert answer["Location"] == address(ADD, "change", Recall.objects.get().pk)
    assert Job.objects.filter(kind="notify-recall").count() == 1


@pytest.mark.parametrize("customers", ["", "x", "-1", "9" * 5000, "²"])
def test_a_preview_that_was_tampered_with_is_only_a_preview(client, brand, customers):
    batch = factories.batch(brand)

    answer = client.post(f"{address(ADD, 'add')}preview/?batch={batch.pk}", {"customers": customers, "by_sms": "x"})

    assert answer.status_code == 200


def test_texts_that_are_shown_longer_than_they_may_be_are_refused(client, brand):
    batch = factories.batch(brand)

    answer = client.post(f"{address(ADD, 'add')}?batch={batch.pk}", {**TEXTS, "recall_id": "x" * 65})

    assert list(answer.context["form"].errors) == ["recall_id"]
    assert answer.context["form"]["message"].value() == "Stop using it."


def test_a_test_counts_the_customers_once(client, brand, monkeypatch):
    batch, calls = factories.batch(brand), []
    real = recall_preview.of

    def counting(*parameters, **more):
        calls.append(1)
        return real(*parameters, **more)

    monkeypatch.setattr(recall_preview, "of", counting)
    client.post(f"{address(ADD, 'add')}?batch={batch.pk}", {**TEXTS, "send_test": "en"})

    assert len(calls) == 1


@pytest.mark.parametrize(
    ("language", "expected_text"), [("en", "Do not use"), ("de", "Produktrückruf"), ("ar", "سحب منتج")]
)
def test_the_poster_is_looked_at_in_each_language_and_opens_as_a_pdf(client, brand, language, expected_text):
    batch = factories.batch(brand)
    posters = {each["language"]: each["poster"] for each in step(client, batch=batch.pk).context["drawings"]}

    made = client.post(f"{address(ADD, 'add')}poster/?batch={batch.pk}", {**TEXTS, "poster": language})

    assert expected_text in posters[language]
    assert made["Content-Type"] == "application/pdf"
    assert language in made["Content-Disposition"]


def test_what_a_scan_shows_is_looked_at_in_the_words_of_its_page(client, brand):
    batch = factories.batch(brand)
    drawn = client.post(f"{address(ADD, 'add')}preview/?batch={batch.pk}", TEXTS).context["drawings"]

    phones = {each["language"]: each["phone"] for each in drawn}
    assert all("Stop using it." in page and "R-7" in page for page in phones.values())
    assert "Recalled: do not use it" in phones["en"]
    assert len({page.partition("<h1>")[2].partition("</h1>")[0] for page in phones.values()}) == 3


def test_texts_in_other_languages_are_sent_in_them(client, brand, customer_reading_german):
    batch = factories.batch(brand)
    scan(batch.codes.get(), user=customer_reading_german)
    form_data = {**TEXTS, "message_de": "Nicht benutzen."}

    shown = client.post(f"{address(ADD, 'add')}preview/?batch={batch.pk}", form_data)

    mails = {each.language: each.mail.text for each in shown.context["preview"].languages}
    assert "Nicht benutzen." in mails["de"]
    assert "Nicht benutzen." not in mails["en"] + mails["ar"]
    client.post(f"{address(ADD, 'add')}?batch={batch.pk}", form_data)
    recall = Recall.objects.get()
    assert recall.translations == {"de": {"message": "Nicht benutzen."}}
    for language, message in (("de", "Nicht benutzen."), ("en", "Stop using it.")):
        with translation.override(language):
            answer = client.post(
                "/api/v1/auth-codes/scan",
                {"code": batch.codes.get().code},
                "application/json",
                headers={"Accept-Language": language},
            ).json()
        assert (answer["message"], answer["recall"]["message"]) == (message, message)


def test_a_used_button_leads_to_the_recall_that_it_made(client, brand):
    batch = factories.batch(brand)
    where = f"{address(ADD, 'add')}?batch={batch.pk}"
    client.post(where, TEXTS)

    again = client.post(where, TEXTS)

    assert again["Location"] == address(ADD, "change", Recall.objects.get().pk)
    other = client.post(where, {**TEXTS, "recall_id": "R-8"})
    assert "Already recalled" in text(other)
    assert Recall.objects.count() == 1
