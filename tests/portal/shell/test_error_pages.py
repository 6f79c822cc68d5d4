"""Error pages of the portal: words that agree with each other, a way home, and a way back for who is logged out."""

from django.test import Client

from brands.models.tenants import Brand
from tests.support import factories
from tests.support.portal import address, browser, staff, text

HOME = 'href="/admin/"'


def test_what_a_role_does_not_allow_is_said_once_with_a_way_home(brand: Brand) -> None:
    response = browser(staff(brand, role="printer")).get(address("brands.auditlogentry"))

    page = text(response)
    assert response.status_code == 403
    assert "Your role does not allow this" in page
    assert "You may not see this" not in page
    assert HOME in page


def test_what_is_not_there_has_a_way_home(brand: Brand) -> None:
    response = browser(staff(brand)).get(address("authcodes.product", "change", 10**12))

    assert response.status_code == 404
    assert HOME in text(response)


def test_they_name_the_owners_to_ask_and_nobody_of_another_brand(brand: Brand) -> None:
    staff(brand, email="olivia@example.com", first_name="Olivia", last_name="Owner")
    staff(brand, email="gone@example.com", is_active=False)
    staff(brand, role="manager", email="max@example.com")
    staff(factories.brand(), email="otto@example.com")
    client = browser(staff(brand, role="printer"))

    for where in (address("brands.auditlogentry"), address("authcodes.product", "change", 10**12)):
        page = text(client.get(where))
        assert "Olivia Owner (olivia@example.com)" in page
        for other in ("gone@", "max@", "otto@"):
            assert other not in page


def test_an_owner_is_not_sent_to_themselves(brand: Brand) -> None:
    page = text(browser(staff(brand, email="olivia@example.com")).get(address("authcodes.product", "change", 10**12)))

    assert "These people can help" not in page


def test_a_form_of_an_ended_session_leads_to_the_login_and_back(db: None) -> None:
    where = address("authcodes.product", "add")

    page = text(Client(enforce_csrf_checks=True).post(where, {"title": "Mug"}))

    assert "You are no longer logged in" in page
    assert f'href="/admin/login/?next={where.replace("/", "%2F")}"' in page


def test_a_form_of_before_the_last_login_can_be_opened_again(brand: Brand) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(staff(brand))
    where = address("authcodes.product", "add")

    page = text(client.post(where, {"title": "Mug"}))

    assert "Nothing was saved yet" in page
    assert f'href="{where}#typed"' in page
    assert HOME in page


def test_pages_of_customers_and_answers_to_programs_know_no_portal(db: None) -> None:
    page, answer = Client().get("/nothing-here"), Client().get("/api/v1/nothing-here")

    assert "/admin/" not in text(page) + text(answer)


def test_an_address_cannot_put_anything_into_the_page(brand: Brand) -> None:
    client = browser(staff(brand))

    page = text(client.get('/admin/"><script>alert(1)</script>/'))

    assert "<script>" not in page


def test_the_portal_keeps_drafts_for_the_person_who_is_logged_in(brand: Brand) -> None:
    person = staff(brand)
    product = factories.product(brand)

    page = text(browser(person).get(address("authcodes.product", "change", product.pk)))

    assert f'data-user="{person.pk}"' in page
    assert "portal/drafts.js" in page
