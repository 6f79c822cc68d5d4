"""Printing the codes of a list: counted, bounded, and of the brand alone."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes.admin.printing import preview, studio
from authcodes.models.prints import PrintRun
from tests.authcodes.printing.print_pages import GOOD, errors, send, where
from tests.support import factories
from tests.support.portal import address, links, staff, text
from tests.support.print_jobs import content, decode_image, finished, manifest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def owner(brand):
    return staff(brand, email="ann@example.com")


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=10, range_name="Spring")


def test_codes_of_another_brand_are_not_in_a_list_to_print(client, brand):
    foreign = factories.batch(factories.brand(), prefix="ZZ-")

    chosen = client.post(address("authcodes.printrun", "codes"), {**GOOD, "brand": foreign.brand_id, "confirm": "1"})
    listed = client.post(
        address("authcodes.printrun", "codes") + f"?batch__id__exact={foreign.pk}",
        {**GOOD, "brand": brand.pk, "confirm": "1"},
    )

    assert "brand" in errors(chosen)
    assert (listed.status_code, listed["Location"]) == (302, address("authcodes.authcode") + "?e=1")
    assert not PrintRun.objects.exists()


def test_codes_of_a_filtered_list_are_printed(client, brand, batch):
    other = factories.batch(brand, prefix="CD-", quantity=2, product=batch.product)
    factories.deactivate(codes=list(other.codes.all()), at=timezone.now())
    factories.batch(brand, prefix="EF-", quantity=2)
    listed = address("authcodes.printrun", "codes") + f"?product__id__exact={batch.product_id}&status=deactivated"

    page = client.post(listed, {**GOOD, "brand": brand.pk, "edit": "1", "output": "png"})
    trial = client.post(listed, {**GOOD, "brand": brand.pk, "test": "1", "output": "png"})
    client.post(listed, {**GOOD, "brand": brand.pk, "confirm": "1", "output": "png"})

    assert "Status: Deactivated" in text(page)
    assert "2 of these codes are deactivated" in text(page)
    assert decode_image(trial.content).endswith("/s/CD-0001")
    run = finished(PrintRun.objects.get())
    assert (run.batch, run.first_code, run.last_code, run.codes) == (None, "CD-0001", "CD-0002", 2)
    assert [row["code"] for row in manifest(content(run.job))] == ["CD-0001", "CD-0002"]


def send_and_capture(client, where, **fields):
    """The answer, and the statements about codes that it took."""
    with CaptureQueriesContext(connection) as queries:
        answer = client.post(where, {**GOOD, **fields}) if fields else client.get(where)
    return answer, [query["sql"] for query in queries if "authcodes_authcode" in query["sql"]]


def is_bounded(statement):
    """Whether it ends after some rows, or has those of one page of the list, named by their ids."""
    return " LIMIT " in statement or re.search(r'"id" IN \(\d+[,)]', statement)


@pytest.fixture
def few(monkeypatch):
    """As if no more than three codes could be counted while a page is shown."""
    for module in (preview, studio):
        monkeypatch.setattr(module, "MAX_COUNTED", 3)


def test_long_list_is_counted_once_print_is_pressed_and_printed_by_the_second_press(client, brand, batch, few):
    factories.deactivate(codes=list(batch.codes.all()[:2]), at=timezone.now())
    where, common = address("authcodes.printrun", "codes"), {"brand": brand.pk, "payload": "code"}

    for fields in (
        {},
        {**common, "edit": "1"},
        {**common, "test": "1"},
        {**common, "save": "1", "layout_name": "Jars"},
    ):
        answer, statements = send_and_capture(client, where, **fields)
        assert answer.status_code == 200
        assert [statement for statement in statements if not is_bounded(statement)] == []
        if "test" not in fields:
            shown = text(answer)
            assert "More than 3 codes. They are counted when you press Print." in shown
            assert "deactivated" not in answer.context.get("code_warnings", [])
            assert 'name="previewed" value=""' in shown
    first = client.post(where, {**GOOD, **common, "confirm": "1"})

    assert "10 labels, 1 page" in " ".join(text(first).split())
    assert "Print 10" in text(first)
    assert "Nothing has been printed yet. Check the number" in text(first)
    assert first.context["code_warnings"] == [
        "2 of these codes are deactivated. They will be printed but scan as not valid."
    ]
    assert not PrintRun.objects.exists()
    second = {
        **GOOD,
        **common,
        "confirm": "1",
        "previewed": first.context["previewed"],
        "page_token": first.context["page_token"],
    }
    assert client.post(where, second).status_code == client.post(where, second).status_code == 302
    assert PrintRun.objects.get().codes == 10


def test_list_that_grew_since_its_number_was_shown_is_shown_again(client, brand, batch, few):
    where, sent = address("authcodes.printrun", "codes"), {**GOOD, "brand": brand.pk, "confirm": "1"}
    shown = client.post(where, sent).context["previewed"]
    factories.batch(brand, prefix="CD-", quantity=2)

    answer = client.post(where, {**sent, "previewed": shown})

    assert "Print 12" in text(answer)
    assert not PrintRun.objects.exists()
    assert client.post(where, {**sent, "previewed": answer.context["previewed"]}).status_code == 302


def test_what_is_to_say_of_a_large_batch_is_said_before_it_is_printed(client, batch, few):
    assert "number" in client.get(where(batch)).context
    factories.deactivate(codes=list(batch.codes.all()[:2]), at=timezone.now())

    first = send(client, batch, "confirm")

    assert "2 of these codes are deactivated" in text(first)
    assert not PrintRun.objects.exists()
    assert send(client, batch, "confirm", previewed=first.context["previewed"]).status_code == 302


def test_large_batch_of_which_there_is_nothing_to_say_is_printed_at_once(client, batch, few):
    assert "Print 10" in text(client.get(where(batch)))
    assert send(client, batch, "confirm").status_code == 302


@pytest.mark.parametrize("shown", ["x", ":", "-1:", "9" * 400, "10:x"])
def test_what_no_page_of_ours_has_shown_prints_no_long_list(client, brand, batch, few, shown):
    factories.deactivate(codes=list(batch.codes.all()[:2]), at=timezone.now())
    sent = {**GOOD, "brand": brand.pk, "confirm": "1", "previewed": shown}

    assert client.post(address("authcodes.printrun", "codes"), sent).status_code == 200
    assert not PrintRun.objects.exists()


def test_who_lost_the_role_meanwhile_gets_no_codes(client, owner, brand, batch):
    client.post(address("authcodes.printrun", "codes"), {**GOOD, "brand": brand.pk, "confirm": "1"})
    owner.staff_roles.update(role="support")

    run = finished(PrintRun.objects.get())

    assert (run.job.status, run.job.result.name) == ("failed", "")


def test_product_and_list_lead_to_printing_their_codes(client, batch):
    product = text(client.get(address("authcodes.product", "change", batch.product_id)))
    (action,) = {link for link in links(product) if link.endswith("/print/")}
    codes = text(client.get(address("authcodes.authcode"), {"status": "unscanned"}))

    assert client.get(action)["Location"] == (
        address("authcodes.printrun", "codes") + f"?product__id__exact={batch.product_id}"
    )
    assert f'href="{address("authcodes.printrun", "codes")}?status=unscanned"' in codes


def test_list_that_cannot_be_can_be_undone(client):
    answer = client.get(address("authcodes.printrun", "codes") + "?product__id__exact=x")

    assert answer["Location"] == address("authcodes.authcode") + "?e=1"
