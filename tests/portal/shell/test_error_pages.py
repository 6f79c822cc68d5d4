"""Error pages of the portal: consistent messages, a link home, and a way back after the session has ended."""

from django.test import Client

from brands.models.tenants import Brand
from tests.support import factories
from tests.support.portal import address, browser, staff, text

HOME = 'href="/admin/"'


def test_forbidden_page_has_one_message_and_a_link_home(brand: Brand) -> None:
    response = browser(staff(brand, role="printer")).get(address("brands.auditlogentry"))

    page = text(response)
    assert response.status_code == 403
    assert "Your role does not allow this" in page
    assert "You may not see this" not in page
    assert HOME in page


def test_missing_row_page_has_a_link_home(brand: Brand) -> None:
    response = browser(staff(brand)).get(address("authcodes.product", "change", 10**12))

    assert response.status_code == 404
    assert HOME in text(response)


def test_error_pages_name_only_active_owners_of_the_brand(brand: Brand) -> None:
    staff(brand, email="olivia@example.com", first_name="Olivia", last_name="Owner")
    staff(brand, email="gone@example.com", is_active=False)
    staff(brand, role="manager", email="max@example.com")
    staff(factories.brand(), email="otto@example.com")
    client = browser(staff(brand, role="printer"))

    for url in (address("brands.auditlogentry"), address("authcodes.product", "change", 10**12)):
        page = text(client.get(url))
        assert "Olivia Owner (olivia@example.com)" in page
        for address_part in ("gone@", "max@", "otto@"):
            assert address_part not in page


def test_owner_is_not_referred_to_themselves(brand: Brand) -> None:
    page = text(browser(staff(brand, email="olivia@example.com")).get(address("authcodes.product", "change", 10**12)))

    assert "These people can help" not in page


def test_form_of_an_ended_session_links_to_the_login_and_back(db: None) -> None:
    url = address("authcodes.product", "add")

    page = text(Client(enforce_csrf_checks=True).post(url, {"title": "Mug"}))

    assert "You are no longer logged in" in page
    assert f'href="/admin/login/?next={url.replace("/", "%2F")}"' in page


def test_form_from_before_the_last_login_can_be_reopened(brand: Brand) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(staff(brand))
    url = address("authcodes.product", "add")

    page = text(client.post(url, {"title": "Mug"}))

    assert "Nothing was saved yet" in page
    assert f'href="{url}#typed"' in page
    assert HOME in page


def test_error_pages_outside_the_portal_do_not_mention_it(db: None) -> None:
    page, api_response = Client().get("/nothing-here"), Client().get("/api/v1/nothing-here")

    assert "/admin/" not in text(page) + text(api_response)


def test_path_cannot_inject_markup_into_the_page(brand: Brand) -> None:
    client = browser(staff(brand))

    page = text(client.get('/admin/"><script>alert(1)</script>/'))

    assert "<script>" not in page


def test_pages_load_the_drafts_of_the_logged_in_user(brand: Brand) -> None:
    user = staff(brand)
    product = factories.product(brand)

    page = text(browser(user).get(address("authcodes.product", "change", product.pk)))

    assert f'data-user="{user.pk}"' in page
    assert "portal/drafts.js" in page
