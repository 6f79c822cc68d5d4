"""The steps of a new recall in the portal: its scope, its message, and the number that confirms it."""

import io
import re

import pytest
from django.utils import timezone, translation
from pypdf import PdfReader

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
RECALL = "authcodes.recall"


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


def get_step(client, **query):
    return client.get(address(RECALL, "add"), query)


def scope_of(answer):
    return [(part.batch.range_name, part.first, part.last) for part in answer.context["summary"].scope.parts]


def test_recall_of_a_product_has_all_its_batches(client, brand, product):
    factories.batch(brand, product=product, range_name="One")
    assigned = factories.batch(brand, range_name="Assigned later", quantity=2)
    AuthCode.objects.filter(pk=assigned.codes.first().pk).update(product=product)
    factories.batch(brand, range_name="Another's")

    page = get_step(client, kind="product", product=product.pk)

    assert scope_of(page) == [("One", "", ""), ("Assigned later", "", "")]
    assert "These batches also contain codes of other products, which are recalled too: Assigned later." in text(page)


def test_already_recalled_batches_of_the_product_are_left_out_with_a_hint(client, brand, product):
    recalled = factories.batch(brand, product=product, range_name="Taken")
    factories.batch(brand, product=product, range_name="Free")
    recalls.recall_batch(batch=recalled, at=timezone.now(), **TEXTS)

    page = get_step(client, kind="product", product=product.pk)

    assert scope_of(page) == [("Free", "", "")]
    assert "1 batch of this product is already recalled and is left out." in text(page)


def test_page_says_that_other_codes_of_a_partly_recalled_batch_are_genuine(client, brand, product):
    batch = factories.batch(brand, product=product, range_name="Mixed", prefix="NW-", quantity=10)
    scope = scopes.of_range(batch=batch, first="4", last="6")
    recalls.recall(scope=scope, at=timezone.now(), **TEXTS)
    expected_text = f"Mixed: {scope.parts[0].first} … {scope.parts[0].last}"

    page_without_free_batch = text(get_step(client, kind="product", product=product.pk))
    factories.batch(brand, product=product, range_name="Free")
    page_with_free_batch = text(get_step(client, kind="product", product=product.pk))

    for page in (page_without_free_batch, page_with_free_batch):
        assert "their other codes still scan as genuine" in page
        assert expected_text in page


def test_codes_that_changed_since_the_summary_must_be_confirmed_again(client, brand, product):
    first_batch = factories.batch(brand, product=product, range_name="One")
    page = get_step(client, kind="product", product=product.pk)
    confirmed = {**TEXTS, "confirmed_scope": page.context["form"].initial["confirmed_scope"]}
    factories.batch(brand, product=product, range_name="Two")  # a colleague makes more codes of it
    url = f"{address(RECALL, 'add')}?kind=product&product={product.pk}"

    rejected = client.post(url, confirmed)

    assert "The codes to recall have changed since this page was opened" in text(rejected)
    assert not Recall.objects.exists()
    confirmed_again = {**TEXTS, "confirmed_scope": rejected.context["form"].data["confirmed_scope"]}
    assert client.post(url, confirmed_again).status_code == 302
    assert Recall.objects.get().batches.count() == 2
    assert first_batch.pk in Recall.objects.get().batches.values_list("pk", flat=True)


def test_page_of_a_product_links_to_its_recall(client, brand, product):
    factories.batch(brand, product=product)
    action = address("authcodes.product", "recall", product.pk)

    assert action in text(client.get(address("authcodes.product", "change", product.pk)))
    assert "Lamp" in text(client.get(action, follow=True))


def test_several_batches_and_a_part_of_one_can_be_chosen(client, brand):
    first, second = (
        factories.batch(brand, range_name="A"),
        factories.batch(brand, range_name="B", quantity=9, prefix="B-"),
    )

    assert scope_of(get_step(client, kind="batches", batches=[first.pk, second.pk])) == [("A", "", ""), ("B", "", "")]
    assert scope_of(get_step(client, kind="range", batch=second.pk, first="2", last="B-0004")) == [
        ("B", "B-0002", "B-0004")
    ]
    assert scope_of(get_step(client, batch=second.pk)) == [("B", "", "")]


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
def test_invalid_scope_is_reported_at_its_field(client, brand, query, field):
    batch = factories.batch(brand, quantity=9, prefix="B-")
    query = {name: batch.pk if value == "B" else value for name, value in query.items()}

    answer = get_step(client, **query)

    assert list(answer.context["form"].errors) == [field]
    assert 'name="message"' not in text(answer)


def test_another_brands_rows_cannot_be_chosen(client):
    other_batch = factories.batch(factories.brand(), range_name="zebra")
    for query in (
        {"kind": "product", "product": other_batch.product_id},
        {"kind": "batches", "batches": [other_batch.pk]},
        {"kind": "range", "batch": other_batch.pk, "first": "1", "last": "1"},
    ):
        answer = get_step(client, **query)
        assert "summary" not in answer.context
        assert "zebra" not in text(answer)
        assert client.post(f"{address(RECALL, 'add')}preview/?batch={other_batch.pk}", TEXTS).status_code == 409


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("manager", 200), ("support", 403), ("printer", 403)])
def test_steps_require_permission_to_recall(brand, role, status):
    batch, client = factories.batch(brand), browser(staff(brand, role=role))
    query = f"?batch={batch.pk}"

    assert client.get(address(RECALL, "add") + query).status_code == status
    assert client.post(f"{address(RECALL, 'add')}preview/{query}", TEXTS).status_code == status
    assert client.post(f"{address(RECALL, 'add')}poster/{query}", TEXTS).status_code == status


def test_summary_counts_codes_scans_and_customers(client, brand):
    batch = factories.batch(brand, quantity=5)
    for code in batch.codes.all()[:2]:
        scan(code, user=factories.customer(brand), location="Bern, Bern", scan_count=1)

    page = get_step(client, batch=batch.pk)

    summary = page.context["summary"]
    assert (summary.codes, summary.scanned, summary.customers, page.context["preview"].customers) == (5, 2, 2, 2)
    assert re.search(r"Reached by E-mail</dt><dd>2<", text(page))
    assert [row.scans for row in summary.map.rows] == [2]


def test_summary_of_a_part_counts_only_its_codes(client, brand):
    batch = factories.batch(brand, quantity=5, prefix="B-")
    for code in batch.codes.order_by("code"):
        scan(code, user=factories.customer(brand), location="Bern, Bern")
    batch.codes.update(scan_count=1)

    summary = get_step(client, batch=batch.pk, first="2", last="3").context["summary"]

    assert (summary.codes, summary.scanned, summary.customers, summary.places[0].scans) == (3 - 1, 2, 2, 2)


def test_preview_shows_the_entered_texts_and_can_be_confirmed(client, brand):
    batch = factories.batch(brand, product=factories.product(brand, title="Lamp"))
    scan(batch.codes.get(), user=factories.customer(brand))
    preview = get_step(client, batch=batch.pk).context["preview"]
    counts = {"customers": str(preview.customers), "by_email": "1"}

    preview_answer = client.post(f"{address(RECALL, 'add')}preview/?batch={batch.pk}", {**TEXTS, **counts})

    assert preview_answer.context["preview"].customers == 1
    assert "Stop using it." in text(preview_answer)
    assert not Recall.objects.exists()
    confirmed = {**TEXTS, "notify_customers": "on", "previewed": preview_answer.context["preview"].fingerprint}
    answer = client.post(f"{address(RECALL, 'add')}?batch={batch.pk}", {**confirmed, "confirmation": "1"})
    assert answer["Location"] == address(RECALL, "change", Recall.objects.get().pk)
    assert Job.objects.filter(kind="notify-recall").count() == 1


@pytest.mark.parametrize("customers", ["", "x", "-1", "9" * 5000, "²"])
def test_preview_accepts_tampered_counts(client, brand, customers):
    batch = factories.batch(brand)

    answer = client.post(f"{address(RECALL, 'add')}preview/?batch={batch.pk}", {"customers": customers, "by_sms": "x"})

    assert answer.status_code == 200


def test_too_long_text_is_rejected_and_the_input_is_retained(client, brand):
    batch = factories.batch(brand)

    answer = client.post(f"{address(RECALL, 'add')}?batch={batch.pk}", {**TEXTS, "recall_id": "x" * 65})

    assert list(answer.context["form"].errors) == ["recall_id"]
    assert answer.context["form"]["message"].value() == "Stop using it."


def test_test_send_counts_the_customers_once(client, brand, monkeypatch):
    batch, calls = factories.batch(brand), []
    real_of = recall_preview.of

    def count_calls(*parameters, **fields):
        calls.append(1)
        return real_of(*parameters, **fields)

    monkeypatch.setattr(recall_preview, "of", count_calls)
    client.post(f"{address(RECALL, 'add')}?batch={batch.pk}", {**TEXTS, "send_test": "en"})

    assert len(calls) == 1


@pytest.mark.parametrize(
    ("language", "expected_text"), [("en", "Do not use"), ("de", "Produktrückruf"), ("ar", "سحب منتج")]
)
def test_poster_has_a_preview_and_a_pdf_in_each_language(client, brand, language, expected_text):
    batch = factories.batch(brand)
    posters = {each["language"]: each["poster"] for each in get_step(client, batch=batch.pk).context["drawings"]}

    answer = client.post(f"{address(RECALL, 'add')}poster/?batch={batch.pk}", {**TEXTS, "poster": language})

    assert expected_text in posters[language]
    assert answer["Content-Type"] == "application/pdf"
    assert language in answer["Content-Disposition"]
    [pdf_text] = [page.extract_text() for page in PdfReader(io.BytesIO(answer.content)).pages]
    assert expected_text in pdf_text


def test_preview_of_the_scan_page_is_in_every_language(client, brand):
    batch = factories.batch(brand)
    drawings = client.post(f"{address(RECALL, 'add')}preview/?batch={batch.pk}", TEXTS).context["drawings"]

    phones = {each["language"]: each["phone"] for each in drawings}
    assert all("Stop using it." in page and "R-7" in page for page in phones.values())
    assert "Recalled: do not use it" in phones["en"]
    assert len({page.partition("<h1>")[2].partition("</h1>")[0] for page in phones.values()}) == 3


def test_previews_name_the_product_of_codes_whose_batch_has_none(client, brand, product):
    batch = factories.batch(brand, assigned=False)
    batch.codes.update(product=product)

    [drawing, *_] = client.post(f"{address(RECALL, 'add')}preview/?batch={batch.pk}", TEXTS).context["drawings"]

    assert ("Lamp" in drawing["poster"], "Lamp" in drawing["phone"]) == (True, True)


def test_translated_texts_are_used_in_mails_and_scan_results(client, brand, customer_reading_german):
    batch = factories.batch(brand)
    scan(batch.codes.get(), user=customer_reading_german)
    form_data = {**TEXTS, "message_de": "Nicht benutzen."}

    preview_answer = client.post(f"{address(RECALL, 'add')}preview/?batch={batch.pk}", form_data)

    mails = {each.language: each.mail.text for each in preview_answer.context["preview"].languages}
    assert "Nicht benutzen." in mails["de"]
    assert "Nicht benutzen." not in mails["en"] + mails["ar"]
    client.post(f"{address(RECALL, 'add')}?batch={batch.pk}", form_data)
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


def test_posting_the_form_again_redirects_to_the_recall(client, brand):
    batch = factories.batch(brand)
    url = f"{address(RECALL, 'add')}?batch={batch.pk}"
    client.post(url, TEXTS)

    second_answer = client.post(url, TEXTS)

    assert second_answer["Location"] == address(RECALL, "change", Recall.objects.get().pk)
    other_answer = client.post(url, {**TEXTS, "recall_id": "R-8"})
    assert "Already recalled" in text(other_answer)
    assert Recall.objects.count() == 1
