"""Portal pages of wallets: uploaded keys are never displayed, and passes show their state."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from events.models import Event
from loyalty.members import numbers
from loyalty.models.wallets import WalletIssuer, WalletPass
from loyalty.wallets import passes
from tests.loyalty.wallets.conftest import on_device
from tests.support import factories
from tests.support.fakes import wallets
from tests.support.fakes.wallets import DAY, pass_certificate, pem, rsa_key
from tests.support.portal import address, browser, errors, staff, text

NOW = datetime.now(tz=UTC)


@pytest.fixture
def owner_client(brand):
    return browser(staff(brand))


def file(content, name="file.pem"):
    return SimpleUploadedFile(name, content)


def apple_form(brand, **changes):
    upload = wallets.upload()
    files = {
        "certificate": file(upload.certificate),
        "key": file(upload.key),
        "authority": file(upload.authority),
    }
    return {"brand": brand.pk, "platform": "apple", **files, **changes}


def add(client, form_data):
    return client.post(address("loyalty.walletissuer", "add"), form_data)


# --- Keys ------------------------------------------------------------------------------------------------------------


def test_owner_can_upload_an_apple_certificate(owner_client, brand):
    assert add(owner_client, apple_form(brand)).status_code == 302

    issuer = WalletIssuer.objects.get()
    assert (issuer.brand, issuer.identifier, issuer.account) == (brand, wallets.PASS_TYPE, wallets.TEAM)
    assert issuer.private_key == pem(rsa_key("pass")).decode()


def test_owner_can_upload_a_p12_file_with_its_password(owner_client, brand):
    form_data = apple_form(brand, certificate=file(wallets.p12("geheim"), "card.p12"), key="", password="geheim")

    assert add(owner_client, form_data).status_code == 302
    assert WalletIssuer.objects.get().identifier == wallets.PASS_TYPE


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"certificate": ""}, "certificate"),
        ({"authority": ""}, "authority"),
        ({"key": lambda: file(pem(rsa_key("other")))}, "key"),
        ({"certificate": lambda: file(b"x" * 200_000)}, "certificate"),
        ({"push_key_id": "ABCDEFGHIJ"}, "push_key"),
        ({"platform": "google"}, "issuer_id"),
        ({"platform": "google", "issuer_id": "33880000"}, "service_account"),
        ({"platform": "nokia"}, "platform"),
    ],
)
def test_invalid_input_is_an_error_of_its_field(owner_client, brand, changes, field):
    form_fields = {name: value() if callable(value) else value for name, value in changes.items()}

    response = add(owner_client, apple_form(brand, **form_fields))

    assert set(errors(response)) == {field}
    assert WalletIssuer.objects.count() == 0


def test_second_set_of_keys_for_a_platform_is_rejected(owner_client, brand):
    wallets.apple(brand)

    response = add(owner_client, apple_form(brand))

    assert response.status_code == 200
    assert "Replace its files" in text(response)


def test_no_page_displays_a_key(owner_client, brand):
    wallets.apple(brand, token=True)
    wallets.google(brand)

    for issuer in WalletIssuer.objects.all():
        html = text(owner_client.get(address("loyalty.walletissuer", "change", issuer.pk)))
        html += text(owner_client.get(address("loyalty.walletissuer", "history", issuer.pk)))
        for secret in (issuer.private_key, issuer.push_key):
            assert not secret or secret.splitlines()[1] not in html
    assert "PRIVATE" not in text(owner_client.get(address("loyalty.walletissuer")))


def test_renewed_certificate_replaces_the_old_one_and_queues_stale_passes(owner_client, brand, account):
    issuer = wallets.apple(brand)
    on_device(account, "phone", "aaaaaaaaaaaa")
    WalletPass.objects.update(version=3, queued_version=None)
    renewed = wallets.text(pass_certificate(ends=NOW + 90 * DAY))

    response = owner_client.post(
        address("loyalty.walletissuer", "change", issuer.pk), apple_form(brand, certificate=file(renewed))
    )

    assert response.status_code == 302
    issuer.refresh_from_db()
    assert issuer.expires_at.date() == (NOW + 90 * DAY).date()
    assert Event.objects.filter(detail_type="refresh-pass", status="pending").count() == 1
    entry = AuditLogEntry.objects.get(kind="loyalty.walletissuer")
    assert entry.changes["private_key"] == ["•••", "•••"]
    assert entry.changes["expires_at"][1] == str((NOW + 90 * DAY).date())


def test_keys_for_another_pass_type_are_rejected_once_passes_were_issued(owner_client, brand, account):
    issuer = wallets.apple(brand, identifier="pass.com.example.old")
    passes.issue(account=account, platform="apple", at=timezone.now())

    response = owner_client.post(address("loyalty.walletissuer", "change", issuer.pk), apple_form(brand))

    assert "Passes have already been issued under pass.com.example.old" in text(response)
    issuer.refresh_from_db()
    assert issuer.identifier == "pass.com.example.old"


@pytest.mark.parametrize(
    ("days", "expected_text"),
    [(-1, "Expired"), (5, "Expires in 5 days"), (1, "Expires in 1 day"), (59, "Expires in 59 days"), (90, "Ready")],
)
def test_list_shows_when_a_certificate_expires(owner_client, brand, days, expected_text):
    wallets.apple(brand)
    WalletIssuer.objects.update(expires_at=timezone.now() + timedelta(days=days, hours=1))

    assert expected_text in text(owner_client.get(address("loyalty.walletissuer")))


def test_lists_can_be_opened_without_the_storage_secret(owner_client, brand, settings, apple_pass):
    settings.STORAGE_SECRETS = {5: "z" * 32}

    assert owner_client.get(address("loyalty.walletissuer")).status_code == 200
    assert owner_client.get(address("loyalty.walletpass")).status_code == 200


@pytest.mark.parametrize("role", ["manager", "printer", "support"])
def test_only_owners_can_upload_keys_and_update_all_passes(brand, role):
    issuer = wallets.apple(brand)
    client = browser(staff(brand, role=role))

    assert add(client, apple_form(brand, platform="google")).status_code == 403
    assert client.post(address("loyalty.walletissuer", "reissue", issuer.pk), {}).status_code in {403, 404}
    assert Event.objects.count() == 0


def test_owner_can_update_all_passes(owner_client, brand):
    issuer = wallets.apple(brand)
    for number in range(3):
        on_device(factories.account(factories.customer(brand), brand), f"phone-{number}", f"{number}" * 12)
    url = address("loyalty.walletissuer", "reissue", issuer.pk)

    assert "3 passes will show" in text(owner_client.get(url))
    assert owner_client.post(url).status_code == 302

    issuer.refresh_from_db()
    assert issuer.design == 2
    assert Event.objects.filter(detail_type="refresh-pass", status="pending").count() == 3
    assert AuditLogEntry.objects.get(kind="loyalty.walletissuer").action == "All passes updated: 3"


# --- Passes ----------------------------------------------------------------------------------------------------------


def test_list_shows_the_version_and_state_of_each_pass(owner_client, brand, account, apple_pass):
    WalletPass.objects.update(version=5, current_version=3, changed_at=timezone.now() - timedelta(hours=2))

    html = text(owner_client.get(address("loyalty.walletpass")))

    assert account.user.email in html
    assert "3 of 5" in html
    assert "Stale" in html


def test_stale_passes_can_be_filtered(owner_client, brand, apple_pass):
    fresh_pass = on_device(factories.account(factories.customer(brand), brand), "tablet", "bbbbbbbbbbbb")
    WalletPass.objects.filter(pk=apple_pass.pk).update(version=9, changed_at=timezone.now() - timedelta(hours=2))

    html = text(owner_client.get(address("loyalty.walletpass"), {"stale": "yes"}))

    assert apple_pass.account.user.email in html
    assert fresh_pass.account.user.email not in html


@pytest.mark.parametrize("term", ["serial", "email"])
def test_passes_can_be_searched_by_serial_and_customer(owner_client, brand, apple_pass, term):
    other_pass = on_device(factories.account(factories.customer(brand), brand), "tablet", "bbbbbbbbbbbb")
    search_text = str(apple_pass.serial) if term == "serial" else apple_pass.account.user.email

    html = text(owner_client.get(address("loyalty.walletpass"), {"q": search_text}))

    assert apple_pass.account.user.email in html
    assert other_pass.account.user.email not in html


def test_action_leaves_removed_passes_out(owner_client, brand, apple_pass):
    removed_pass = on_device(factories.account(factories.customer(brand), brand), "tablet", "bbbbbbbbbbbb")
    WalletPass.objects.filter(pk=removed_pass.pk).update(state=WalletPass.State.REMOVED)
    version = WalletPass.objects.get(pk=removed_pass.pk).version
    chosen = {"action": "refresh", "_selected_action": [apple_pass.pk, removed_pass.pk]}

    html = text(owner_client.post(address("loyalty.walletpass"), chosen, follow=True))

    assert "Update queued: 1" in html
    assert WalletPass.objects.get(pk=removed_pass.pk).version == version


def test_action_refreshes_only_the_selected_passes(owner_client, brand, apple_pass):
    other_pass = on_device(factories.account(factories.customer(brand), brand), "tablet", "bbbbbbbbbbbb")

    response = owner_client.post(
        address("loyalty.walletpass"), {"action": "refresh", "_selected_action": [apple_pass.pk]}, follow=True
    )

    assert "Update queued: 1" in text(response)
    versions = dict(WalletPass.objects.values_list("pk", "version"))
    assert versions == {apple_pass.pk: 2, other_pass.pk: 1}
    assert Event.objects.get(detail_type="refresh-pass").detail["payload"]["pass_id"] == apple_pass.pk


def test_page_of_a_pass_does_not_display_its_token(owner_client, apple_pass):
    html = text(owner_client.get(address("loyalty.walletpass", "change", apple_pass.pk)))

    assert str(apple_pass.serial) in html
    assert apple_pass.token not in html


def test_list_of_20_passes_needs_at_most_12_queries(owner_client, brand, apple_pass, django_assert_max_num_queries):
    for number in range(19):
        on_device(factories.account(factories.customer(brand), brand), f"phone-{number}", f"{number:012}")

    with django_assert_max_num_queries(12):
        owner_client.get(address("loyalty.walletpass"))


def test_members_can_be_searched_by_barcode_only_in_the_own_brand(owner_client, brand, account):
    other_brand = factories.brand()
    foreign_account = factories.account(factories.customer(other_brand), other_brand)
    factories.customer(brand)

    own_page, foreign_page = (
        text(owner_client.get(address("loyalty.userpoints"), {"q": numbers.barcode(searched.pk)}))
        for searched in (account, foreign_account)
    )

    assert account.user.email in own_page
    assert "1 member" in own_page
    assert foreign_account.user.email not in foreign_page
    assert "0 members" in foreign_page
