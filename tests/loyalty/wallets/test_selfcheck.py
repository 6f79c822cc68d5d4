"""Commands of wallets: output and exit code of the self-check, and reissued passes."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from brands.models.tenants import BrandHostname
from events.models import Event
from loyalty.models.wallets import WalletIssuer, WalletPass
from loyalty.tasks import check_wallets
from loyalty.wallets import issuers, passes
from loyalty.wallets.apple import certificates
from tests.loyalty.wallets.conftest import on_device
from tests.support import factories
from tests.support.fakes import wallets


@pytest.fixture(autouse=True)
def over_https(settings):
    settings.HTTPS = True


@pytest.fixture
def check(capsys):
    """Runs the self-check and returns its exit code and output."""

    def run(*arguments):
        try:
            call_command("wallet_selfcheck", *arguments)
            code = 0
        except CommandError as error:
            code = error.returncode
        return code, capsys.readouterr().out

    return run


def ends_in(**time):
    WalletIssuer.objects.filter(platform="apple").update(expires_at=timezone.now() + timedelta(**time))


def test_check_without_any_issuer_succeeds(check, brand):
    assert check() == (0, "No brand offers wallet passes.\n")


def test_valid_keys_are_reported_as_ok(check, brand):
    wallets.apple(brand)
    wallets.google(brand)

    code, output = check()

    assert code == 0
    assert f"{brand.slug} apple: OK: {wallets.PASS_TYPE}, good until" in output
    assert f"{brand.slug} google: OK: {wallets.ISSUER_ID}" in output


@pytest.mark.parametrize(
    ("days", "expected_code", "expected_text"),
    [
        (61, 0, "good until"),
        (60, 1, "ends in 60 days, within 60"),
        (31, 1, "ends in 31 days, within 60"),
        (30, 1, "ends in 30 days, within 30"),
        (8, 1, "ends in 8 days, within 30"),
        (7, 2, "ends in 7 days, within 7"),
        (0, 2, "ends in 0 days, within 7"),
        (-1, 2, "expired on"),
    ],
)
def test_certificate_expiry_is_reported_before_it_happens(check, brand, days, expected_code, expected_text):
    wallets.apple(brand)
    ends_in(days=days, hours=1)

    exit_code, output = check()

    assert exit_code == expected_code
    assert expected_text in output


@pytest.mark.parametrize(
    ("days", "authority_days", "expected_name"),
    [(20, 50, f"Pass Type ID: {wallets.PASS_TYPE}"), (50, 20, "WWDR of the tests")],
)
def test_certificate_that_expires_first_is_named(check, brand, days, authority_days, expected_name):
    now = timezone.now()
    own = wallets.pass_certificate(ends=now + timedelta(days=days, hours=1))
    authority = wallets.certificate(
        wallets.WWDR_NAME,
        key="wwdr",
        by="root",
        issuer=wallets.ROOT_NAME,
        authority=True,
        ends=now + timedelta(days=authority_days, hours=1),
    )
    files = wallets.upload(certificate=wallets.text(own), authority=wallets.text(authority))
    issuers.save(brand=brand, keys=certificates.read(files, at=now), at=now)

    code, output = check()

    assert (code, len(output.splitlines())) == (1, 1)
    assert expected_name in output
    assert "ends in 20 days, within 30" in output


def test_missing_keys_with_issued_passes_are_critical(check, brand, account):
    issuer = wallets.apple(brand)
    passes.issue(account=account, platform="apple", at=timezone.now())
    issuer.delete()

    assert check() == (2, f"{brand.slug} apple: CRITICAL: the keys are missing, and passes are out\n")


def test_check_of_one_brand_without_keys_is_critical(check, brand):
    code, output = check("--brand", brand.slug)

    assert code == 2
    assert "nothing is set up" in output
    assert check("--brand", "nobody")[0] == 2


def test_lost_storage_secret_and_rejected_keys_are_critical(check, brand, settings):
    wallets.apple(brand)
    WalletIssuer.objects.update(last_error="APNs answered 403 InvalidProviderToken")
    code, output = check()
    assert (code, "InvalidProviderToken" in output) == (2, True)

    settings.STORAGE_SECRETS = {9: "q" * 32}
    code, output = check()
    assert (code, "STORAGE_SECRETS does not open" in output) == (2, True)


def test_stale_passes_missing_https_and_missing_hostname_are_warnings(check, brand, account, settings):
    wallets.apple(brand)
    on_device(account, "phone", "aaaaaaaaaaaa")
    WalletPass.objects.update(version=4, changed_at=timezone.now() - timedelta(hours=3))
    code, output = check()
    assert (code, "1 passes are stale" in output) == (1, True)

    settings.HTTPS = False
    assert "without HTTPS" in check()[1]
    BrandHostname.objects.all().delete()
    assert "no hostname" in check()[1]


def test_unreadable_file_is_critical_and_named(check, brand, settings, tmp_path):
    settings.WALLET_KEYS_DIR = str(tmp_path)
    (tmp_path / str(brand.pk)).mkdir()
    (tmp_path / str(brand.pk) / "apple.json").write_text("nonsense")

    code, output = check()

    assert code == 2
    assert f"{brand.pk}/apple.json cannot be read" in output


def test_file_named_after_the_slug_is_critical_and_not_read(check, brand, settings, tmp_path):
    settings.WALLET_KEYS_DIR = str(tmp_path)
    (tmp_path / f"{brand.slug}.apple.json").write_text("nonsense")
    (tmp_path / "unheard-of.google.json").write_text("nonsense")

    code, output = check()

    assert code == 2
    assert f"{brand.slug}.apple.json is not read: move it to {brand.pk}/apple.json" in output
    assert "unheard-of.google.json is not read: move it to <brand id>/google.json" in output


def test_daily_check_logs_expiring_certificates(brand, caplog):
    wallets.apple(brand)
    ends_in(days=3, hours=1)

    assert check_wallets() == 1
    assert "ends in 3 days, within 7" in caplog.text


def test_reissue_command_queues_each_pass_once(brand, capsys):
    wallets.apple(brand)
    for number in range(3):
        on_device(factories.account(factories.customer(brand), brand), f"phone-{number}", f"{number}" * 12)

    for _ in range(2):
        call_command("reissue_passes", brand.slug)

    assert capsys.readouterr().out == "3 passes are to be updated.\n" * 2
    assert Event.objects.filter(detail_type="refresh-pass").count() == 3
    assert WalletIssuer.objects.get().design == 3
    with pytest.raises(CommandError):
        call_command("reissue_passes", "nobody")
