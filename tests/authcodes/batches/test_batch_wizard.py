"""The wizard of a batch: its initial values, forms that are sent twice, and the page that follows."""

from datetime import timedelta

import pytest
from django.utils import timezone
from django.utils.formats import date_format

from authcodes.admin.batches.wizard import BatchWizard
from authcodes.codes import batches
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from brands.models.tenants import Brand
from jobs.models import Job
from loyalty.models.approvals import PointsApproval
from loyalty.points import approvals
from tests.support import factories
from tests.support.concurrency import run_concurrently_behind_lock
from tests.support.portal import address, browser, errors, form_of, staff, text

pytestmark = pytest.mark.django_db
ADD = ("authcodes.batchrange", "add")


def form_data(brand, **fields):
    defaults = {"range_name": "Autumn", "prefix": "AUT-", "starting_number": 7, "number_width": 6, "quantity": 25}
    choices = {"error_correction": "M", "after_campaign": "points", "signed": "plain"}
    return {"brand": brand.pk, **defaults, **choices, "scan_limit": 1, **fields}


def initial(client, **query):
    form = client.get(address(*ADD), query).context["adminform"].form
    return {name: form[name].value() for name in ("brand", "product", "range_name", "prefix", "starting_number")}


def test_wizard_has_three_steps_with_all_fields_in_its_html(client):
    answer = client.get(address(*ADD))

    steps = answer.context["steps"]
    names = [bound.name for step in steps for bound in (*step.fields, *step.advanced_fields)]
    assert [step.id for step in steps] == ["what-for", "how-many", "rules"]
    assert sorted(names) == sorted(answer.context["adminform"].form.fields)
    assert all(f'name="{name}"' in text(answer) for name in names)


def test_protected_codes_are_the_default_and_the_prefix_has_an_example(client):
    form = client.get(address(*ADD)).context["adminform"].form

    assert form["signed"].value() == "protected"
    assert "such as NW- in NW-000001" in form["prefix"].help_text


def test_first_batch_gets_a_prefix_from_the_brands_slug(client, brand):
    Brand.objects.filter(pk=brand.pk).update(slug="no-rd-wind")

    assert initial(client)["prefix"] == "NORD-"


def test_numbering_continues_after_the_last_batch(client, brand):
    factories.batch(brand, prefix="OLD-", quantity=5)
    factories.batch(brand, prefix="NW-", quantity=20, number_width=6, starting_number=101)
    factories.batch(brand, prefix="NW-", quantity=5, number_width=6, starting_number=1)
    factories.batch(factories.brand(), prefix="XX-", quantity=5)

    form = client.get(address(*ADD)).context["adminform"].form

    values = [form[name].value() for name in ("prefix", "starting_number", "number_width")]
    assert values == ["NW-", 121, 6]
    client.post(
        address(*ADD), {**form_of(client.get(address(*ADD))), "range_name": "n", "quantity": 3, "signed": "plain"}
    )
    assert BatchRange.objects.get(range_name="n").first_code == "NW-000121"


def test_product_in_the_url_is_selected_and_names_the_batch(client, brand):
    product = factories.product(brand, title="Honey")
    month = date_format(timezone.localtime(timezone.now(), brand.zone), "F Y")

    answer = client.get(address(*ADD), {"product": product.pk})

    assert answer.context["begin"] == "how-many"
    values = initial(client, product=product.pk)
    assert (values["brand"], values["product"], values["range_name"]) == (brand.pk, product.pk, f"Honey, {month}")
    factories.batch(brand, range_name=f"Honey, {month}")
    assert initial(client, product=product.pk)["range_name"] == f"Honey, {month} (2)"


def test_product_in_the_url_selects_its_brand(brand):
    other = factories.brand()
    product = factories.product(other, title="Tea")

    values = initial(browser(staff(brand, other)), product=product.pk)

    assert (values["brand"], values["product"]) == (other.pk, product.pk)


@pytest.mark.parametrize("product_id", ["x", "0", "-1", "9" * 30])
def test_invalid_product_in_the_url_is_ignored(client, product_id):
    answer = client.get(address(*ADD), {"product": product_id})

    assert (answer.status_code, answer.context["begin"]) == (200, "")


def test_product_of_another_brand_in_the_url_is_ignored(client):
    product = factories.product(factories.brand(), title="zebra food")

    answer = client.get(address(*ADD), {"product": product.pk})

    assert answer.context["begin"] == ""
    assert "zebra" not in text(answer)


def test_few_codes_are_generated_immediately_and_printing_follows(client, brand):
    answer = client.post(address(*ADD), form_data(brand, quantity=batches.MADE_AT_ONCE))

    batch = BatchRange.objects.get()
    assert answer["Location"] == address("authcodes.printrun", "batch", batch.pk)
    assert (batch.is_generated, AuthCode.objects.count()) == (True, batches.MADE_AT_ONCE)
    assert not Job.objects.exists()
    assert [change.kind for change in batch.changes.all()] == ["generated"]


def test_many_codes_are_generated_by_a_job_and_the_batch_page_follows(client, brand):
    answer = client.post(address(*ADD), form_data(brand, quantity=batches.MADE_AT_ONCE + 1))

    batch = BatchRange.objects.get()
    assert answer["Location"] == address("authcodes.batchrange", "change", batch.pk)
    assert Job.objects.get().kind == "generate"
    assert (batch.is_generated, AuthCode.objects.count()) == (False, 0)
    assert "Batch created" in text(client.get(answer["Location"]))


def test_form_sent_twice_creates_one_batch_and_redirects_to_it_twice(client, brand):
    answers = [client.post(address(*ADD), form_data(brand)) for _ in range(2)]

    batch = BatchRange.objects.get()
    assert [answer["Location"] for answer in answers] == [address("authcodes.printrun", "batch", batch.pk)] * 2
    assert AuthCode.objects.count() == batch.quantity


def test_a_button_pressed_twice_makes_one_batch_whose_points_await_approval(client, brand):
    above = brand.max_points_per_scan + 1
    answers = [client.post(address(*ADD), form_data(brand, points_per_scan=above)) for _time in range(2)]

    batch = BatchRange.objects.get()
    assert [answer["Location"] for answer in answers] == [address("authcodes.printrun", "batch", batch.pk)] * 2
    assert batch.points_per_scan == brand.max_points_per_scan
    assert approvals.requested_values(batch) == {"points_per_scan": above}
    assert PointsApproval.objects.get().status == PointsApproval.Status.PENDING
    assert "range_name" in errors(client.post(address(*ADD), form_data(brand, points_per_scan=above + 1)))


def test_corrected_form_is_not_taken_for_a_second_press(client, brand):
    product = factories.product(brand)
    corrections = {
        "product": product.pk,
        "signed": "protected",
        "points_per_scan": 5,
        "scan_limit": "",
        "expiration_date": "2099-12-31",
        "error_correction": "H",
        "after_campaign": "nothing",
        "number_width": 7,
    }
    client.post(address(*ADD), form_data(brand))

    for name, value in corrections.items():
        assert "range_name" in errors(client.post(address(*ADD), form_data(brand, **{name: value}))), name

    assert BatchRange.objects.count() == 1
    corrected = client.post(
        address(*ADD),
        form_data(brand, product=product.pk, range_name="Autumn 2", starting_number=40, signed="protected"),
    )
    made = BatchRange.objects.get(range_name="Autumn 2")
    assert corrected["Location"] == address("authcodes.printrun", "batch", made.pk)
    assert (made.product, made.is_signed) == (product, True)


@pytest.mark.parametrize(
    "fields", [{"quantity": 26}, {"prefix": "NEW-"}, {"starting_number": 40}, {"quantity": "x"}, {"range_name": "\0"}]
)
def test_different_batch_of_the_same_name_is_rejected(client, brand, fields):
    client.post(address(*ADD), form_data(brand))

    response = client.post(address(*ADD), form_data(brand, **fields))

    assert errors(response)
    assert BatchRange.objects.count() == 1


def test_same_batch_by_another_user_or_later_is_rejected(client, brand):
    client.post(address(*ADD), form_data(brand))

    assert "range_name" in errors(browser(staff(brand)).post(address(*ADD), form_data(brand)))
    BatchRange.objects.update(created_at=timezone.now() - timedelta(minutes=3))
    assert "range_name" in errors(client.post(address(*ADD), form_data(brand)))
    assert BatchRange.objects.count() == 1


def post_concurrently(brand):
    """The answers' addresses; empty for a form that is shown again."""
    user = staff(brand)
    lock = "SELECT 1 FROM brands_brand WHERE id = %s FOR UPDATE"
    return run_concurrently_behind_lock(
        lock,
        [brand.pk],
        lambda _number: browser(user).post(address(*ADD), form_data(brand)).get("Location", ""),
        range(4),
    )


@pytest.mark.django_db(transaction=True)
def test_concurrent_equal_requests_create_one_batch_and_lead_to_it(brand):
    answers = post_concurrently(brand)

    batch = BatchRange.objects.get()
    assert answers == [address("authcodes.printrun", "batch", batch.pk)] * 4
    assert AuthCode.objects.count() == batch.quantity


@pytest.mark.django_db(transaction=True)
def test_control_without_the_second_check_the_slower_requests_lead_elsewhere(brand, monkeypatch):
    recent_duplicate = BatchWizard.recent_duplicate

    def check_once(page, request):
        is_first = not hasattr(request, "checked_for_duplicate")
        request.checked_for_duplicate = True
        return recent_duplicate(page, request) if is_first else None

    monkeypatch.setattr(BatchWizard, "recent_duplicate", check_once)

    answers = post_concurrently(brand)

    batch = BatchRange.objects.get()
    assert answers.count(address("authcodes.printrun", "batch", batch.pk)) == 1


def test_printer_creates_a_batch_with_an_existing_prefix(brand):
    factories.batch(brand, prefix="AUT-", number_width=6, quantity=3)
    client = browser(staff(brand, role="printer"))

    form = client.get(address(*ADD)).context["adminform"].form
    answer = client.post(address(*ADD), form_data(brand))

    made = BatchRange.objects.get(range_name="Autumn")
    assert not {"points_per_scan", "campaign"} & set(form.fields)
    assert (made.prefix, made.first_code, made.is_generated) == ("AUT-", "AUT-000007", True)
    assert answer["Location"] == address("authcodes.printrun", "batch", made.pk)


def test_saving_a_product_can_continue_to_the_wizard(client, brand):
    fields = {"brand": brand.pk, "title": "Honey", "sku": "HON", "is_active": "on", "authcodes_product_make_codes": ""}
    page = client.get(address("authcodes.product", "add"))
    assert "Save and generate codes" in text(page)

    answer = client.post(address("authcodes.product", "add"), {**form_of(page), **fields})

    product = brand.products.get()
    assert answer["Location"] == f"{address(*ADD)}?product={product.pk}"
    changed = client.post(
        address("authcodes.product", "change", product.pk),
        {**form_of(client.get(address("authcodes.product", "change", product.pk))), "authcodes_product_make_codes": ""},
    )
    assert changed["Location"] == answer["Location"]


def test_product_page_has_no_link_to_the_wizard_without_the_permission(brand):
    product = factories.product(brand)
    pages = {
        role: text(browser(staff(brand, role=role)).get(address("authcodes.product", "change", product.pk)))
        for role in ("owner", "support")
    }

    assert {role: "Save and generate codes" in page for role, page in pages.items()} == {
        "owner": True,
        "support": False,
    }
