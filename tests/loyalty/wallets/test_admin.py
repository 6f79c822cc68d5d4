"""The portal's pages of wallets: keys go in and never come out, passes show where they stand."""

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
def owner(brand):
    return browser(staff(brand))


def file(content, name="file.pem"):
    return SimpleUploadedFile(name, content)


def apple_form(brand, **changes):
    given = wallets.upload()
    files = {
        "certificate": file(given.certificate),
        "key": file(given.key),
        "authority": file(given.authority),
    }
    return {"brand": brand.pk, "platform": "apple", **files, **changes}


def add(client, sent):
    return client.post(address("loyalty.walletissuer", "add"), sent)


# --- Keys ------------------------------------------------------------------------------------------------------------


def test_owner_uploads_apples_certificate(owner, brand):
    assert add(owner, apple_form(brand)).status_code == 302

    made = WalletIssuer.objects.get()
    assert (made.brand, made.identifier, made.account) == (brand, wallets.PASS_TYPE, wallets.TEAM)
    assert made.private_key == pem(rsa_key("pass")).decode()


def test_owner_uploads_a_p12_file_with_its_password(owner, brand):
    sent = apple_form(brand, certificate=file(wallets.p12("geheim"), "card.p12"), key="", password="geheim")

    assert add(owner, sent).status_code == 302
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
def test_wrong_files_are_refused_at_their_field(owner, brand, changes, field):
    given = {name: value() if callable(value) else value for name, value in changes.items()}

    answer = add(owner, apple_form(brand, **given))

    assert set(errors(answer)) == {field}
    assert WalletIssuer.objects.count() == 0


def test_second_set_of_keys_for_a_platform_is_refused(owner, brand):
    wallets.apple(brand)

    answer = add(owner, apple_form(brand))

    assert answer.status_code == 200
    assert "Replace its files" in text(answer)


def test_no_page_shows_a_key(owner, brand):
    wallets.apple(brand, token=True)
    wallets.google(brand)

    for row in WalletIssuer.objects.all():
        shown = text(owner.get(address("loyalty.walletissuer", "change", row.pk)))
        shown += text(owner.get(address("loyalty.walletissuer", "history", row.pk)))
        for secret in (row.private_key, row.push_key):
            assert not secret or secret.splitlines()[1] not in shown
    assert "PRIVATE" not in text(owner.get(address("loyalty.walletissuer")))


def test_renewed_certificate_replaces_the_old_one_and_brings_what_waited(owner, brand, account):
    row = wallets.apple(brand)
    on_device(account, "phone", "aaaaaaaaaaaa")
    WalletPass.objects.update(version=3, queued_version=None)
    renewed = wallets.text(pass_certificate(ends=NOW + 90 * DAY))

    answer = owner.post(address("loyalty.walletissuer", "change", row.pk), apple_form(brand, certificate=file(renewed)))

    assert answer.status_code == 302
    row.refresh_from_db()
    assert row.expires_at.date() == (NOW + 90 * DAY).date()
    assert Event.objects.filter(detail_type="refresh-pass", status="pending").count() == 1
    entry = AuditLogEntry.objects.get(kind="loyalty.walletissuer")
    assert entry.changes["private_key"] == ["•••", "•••"]
    assert entry.changes["expires_at"][1] == str((NOW + 90 * DAY).date())


def test_keys_for_another_pass_type_are_refused_while_passes_are_out(owner, brand, account):
    row = wallets.apple(brand, identifier="pass.com.example.old")
    passes.issue(account=account, platform="apple", at=timezone.now())

    answer = owner.post(address("loyalty.walletissuer", "change", row.pk), apple_form(brand))

    assert "Passes have already been issued under pass.com.example.old" in text(answer)
    row.refresh_from_db()
    assert row.identifier == "pass.com.example.old"


@pytest.mark.parametrize(
    ("days", "expected_text"),
    [(-1, "Expired"), (5, "Expires in 5 days"), (1, "Expires in 1 day"), (59, "Expires in 59 days"), (90, "Ready")],
)
def test_list_says_how_long_a_certificate_lasts(owner, brand, days, expected_text):
    wallets.apple(brand)
    WalletIssuer.objects.update(expires_at=timezone.now() + timedelta(days=days, hours=1))

    assert expected_text in text(owner.get(address("loyalty.walletissuer")))


def test_list_and_page_open_without_the_storage_secret(owner, brand, settings, held):
    settings.STORAGE_SECRETS = {5: "z" * 32}

    assert owner.get(address("loyalty.walletissuer")).status_code == 200
    assert owner.get(address("loyalty.walletpass")).status_code == 200


@pytest.mark.parametrize("role", ["manager", "printer", "support"])
def test_only_owners_upload_and_update_all(brand, role):
    row = wallets.apple(brand)
    client = browser(staff(brand, role=role))

    assert add(client, apple_form(brand, platform="google")).status_code == 403
    assert client.post(address("loyalty.walletissuer", "reissue", row.pk), {}).status_code in {403, 404}
    assert Event.objects.count() == 0


def test_owner_updates_all_passes(owner, brand):
    row = wallets.apple(brand)
    for number in range(3):
        on_device(factories.account(factories.customer(brand), brand), f"phone-{number}", f"{number}" * 12)
    where = address("loyalty.walletissuer", "reissue", row.pk)

    assert "3 passes will show" in text(owner.get(where))
    assert owner.post(where).status_code == 302

    row.refresh_from_db()
    assert row.design == 2
    assert Event.objects.filter(detail_type="refresh-pass", status="pending").count() == 3
    assert AuditLogEntry.objects.get(kind="loyalty.walletissuer").action == "All passes updated: 3"


# --- Passes ----------------------------------------------------------------------------------------------------------


def test_list_shows_where_each_pass_stands(owner, brand, account, held):
    WalletPass.objects.update(version=5, current_version=3, changed_at=timezone.now() - timedelta(hours=2))

    shown = text(owner.get(address("loyalty.walletpass")))

    assert account.user.email in shown
    assert "3 of 5" in shown
    assert "Stale" in shown


def test_stale_passes_can_be_filtered(owner, brand, held):
    fresh = on_device(factories.account(factories.customer(brand), brand), "tablet", "bbbbbbbbbbbb")
    WalletPass.objects.filter(pk=held.pk).update(version=9, changed_at=timezone.now() - timedelta(hours=2))

    shown = text(owner.get(address("loyalty.walletpass"), {"stale": "yes"}))

    assert held.account.user.email in shown
    assert fresh.account.user.email not in shown


@pytest.mark.parametrize("term", ["serial", "email"])
def test_pass_is_found_by_serial_and_customer(owner, brand, held, term):
    other = on_device(factories.account(factories.customer(brand), brand), "tablet", "bbbbbbbbbbbb")
    search_text = str(held.serial) if term == "serial" else held.account.user.email

    shown = text(owner.get(address("loyalty.walletpass"), {"q": search_text}))

    assert held.account.user.email in shown
    assert other.account.user.email not in shown


def test_chosen_passes_are_refreshed_and_others_are_not(owner, brand, held):
    other = on_device(factories.account(factories.customer(brand), brand), "tablet", "bbbbbbbbbbbb")

    answer = owner.post(
        address("loyalty.walletpass"), {"action": "refresh", "_selected_action": [held.pk]}, follow=True
    )

    assert "Update queued: 1" in text(answer)
    found = dict(WalletPass.objects.values_list("pk", "version"))
    assert found == {held.pk: 2, other.pk: 1}
    assert Event.objects.get(detail_type="refresh-pass").detail["payload"]["pass_id"] == held.pk


def test_page_of_a_pass_keeps_its_token_to_itself(owner, held):
    shown = text(owner.get(address("loyalty.walletpass", "change", held.pk)))

    assert str(held.serial) in shown
    assert held.token not in shown


def test_list_costs_the_same_for_1_and_20_passes(owner, brand, held, django_assert_max_num_queries):
    for number in range(19):
        on_device(factories.account(factories.customer(brand), brand), f"phone-{number}", f"{number:012}")

    with django_assert_max_num_queries(12):
        owner.get(address("loyalty.walletpass"))


def test_member_is_found_by_the_barcode_of_the_pass_in_ones_own_brand_only(owner, brand, account):
    other = factories.brand()
    stranger = factories.account(factories.customer(other), other)
    factories.customer(brand)

    own_page, foreign_page = (
        text(owner.get(address("loyalty.userpoints"), {"q": numbers.barcode(found.pk)}))
        for found in (account, stranger)
    )

    assert account.user.email in own_page
    assert "1 member" in own_page
    assert stranger.user.email not in foreign_page
    assert "0 members" in foreign_page
