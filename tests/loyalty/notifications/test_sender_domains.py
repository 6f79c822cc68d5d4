"""Sender domains of brands: verified by a DNS record; otherwise mail has the installation's address."""

import html
from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from core.errors import Invalid
from events import worker
from events.models import Event
from loyalty.models.messages.addresses import SenderDomain
from loyalty.models.notifications import NotificationSettings
from loyalty.notifications import sender_domains
from loyalty.tasks import check_sender_domains
from tests.support import factories
from tests.support.fakes.dns_server import dns_server
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def dns(settings):
    settings.DEFAULT_FROM_EMAIL = "Points <points@platform.example.org>"
    with dns_server() as running:
        settings.DNS_SERVERS = [("127.0.0.1", running.port)]
        yield running


@pytest.fixture
def domain(brand):
    return sender_domains.create(brand=brand, domain="acme.example.com", at=timezone.now())


@pytest.fixture
def set_sender(brand):
    def update_settings(sender_address, sender_name=""):
        fields = {
            "merge_seconds": 0,
            "sender_address": sender_address,
            "sender_name": sender_name or f"{brand.name} Ltd",
        }
        NotificationSettings.objects.update_or_create(brand=brand, defaults=fields)

    return update_settings


def sent_mail(customer, box, notify, work):
    notify(customer)
    work()
    return box.mails[-1]


def publish_record(dns, domain):
    dns.records[f"_loyalty-sender.{domain.domain}"] = ["v=spf1 -all", f"loyalty-sender={domain.token}"]


def test_unverified_sender_address_is_only_used_for_replies(brand, customer, set_sender, box, notify, work):
    """A manager could enter another brand's address, and our mail server would sign the mail."""
    set_sender("hello@victim.example.com")

    mail = sent_mail(customer, box, notify, work)

    assert mail["From"] == f"{brand.name} <points@platform.example.org>"
    assert mail["Reply-To"] == "hello@victim.example.com"
    assert "victim" not in mail["Message-ID"]


def test_verified_domain_is_used_for_sending(brand, customer, domain, dns, set_sender, box, notify, work):
    set_sender("hello@acme.example.com")
    publish_record(dns, domain)

    work()

    mail = sent_mail(customer, box, notify, work)
    assert mail["From"] == f"{brand.name} Ltd <hello@acme.example.com>"
    assert dns.questions == ["_loyalty-sender.acme.example.com"]


@pytest.mark.parametrize(
    "sender", ["hello@sub.acme.example.com", "hello@example.com", "hello@acme.example.com.evil.example"]
)
def test_verification_counts_for_exactly_one_domain(customer, domain, dns, set_sender, box, notify, work, sender):
    publish_record(dns, domain)
    set_sender(sender)

    assert sent_mail(customer, box, notify, work)["From"].endswith("<points@platform.example.org>")


def test_brand_cannot_send_in_the_name_of_another(brand, customer, domain, dns, set_sender, box, notify, work):
    publish_record(dns, domain)
    set_sender("hello@acme.example.com", sender_name=factories.brand(name="Northwind Coffee").name)
    work()

    assert sent_mail(customer, box, notify, work)["From"] == f"{brand.name} <hello@acme.example.com>"


def test_verification_of_one_brand_does_not_count_for_another(
    brand, customer, domain, dns, set_sender, box, notify, work
):
    other_domain = sender_domains.create(brand=factories.brand(), domain="acme.example.com", at=timezone.now())
    publish_record(dns, other_domain)
    set_sender("hello@acme.example.com")

    assert sent_mail(customer, box, notify, work)["From"] == f"{brand.name} <points@platform.example.org>"
    other_domain.refresh_from_db()
    domain.refresh_from_db()
    assert (bool(other_domain.verified_at), domain.verified_at) == (True, None)


def test_contents_of_dns_records_are_not_disclosed(domain, dns, work):
    dns.records["_loyalty-sender.acme.example.com"] = ["internal-secret"]

    work()

    domain.refresh_from_db()
    assert domain.last_error == "This TXT record does not exist."
    assert "internal-secret" not in str(list(Event.objects.values()))


def test_dns_error_is_displayed_in_the_language_of_the_user(brand, domain):
    SenderDomain.objects.update(last_error="The DNS did not answer.")
    readers = [
        browser(staff(brand, email=f"{language}@example.com", portal_language=language)) for language in ("en", "de")
    ]

    pages = [text(reader.get(address("loyalty.senderdomain"))) for reader in readers]

    assert ["The DNS did not answer." in page for page in pages] == [True, False]
    assert ["Das DNS hat nicht geantwortet." in page for page in pages] == [False, True]


def test_unanswered_dns_query_neither_verifies_nor_revokes_a_domain(domain, dns, work, monkeypatch):
    publish_record(dns, domain)
    work()
    dns.silent = True
    monkeypatch.setattr(sender_domains, "LOOKUP_SECONDS", 0.2)
    sender_domains.request_checks(domains=[domain], at=timezone.now() + timedelta(minutes=5))

    run_one_attempt()

    domain.refresh_from_db()
    assert (bool(domain.verified_at), domain.missing_since, domain.last_error) == (
        True,
        None,
        "The DNS did not answer.",
    )
    assert Event.objects.pending().get().detail_type == "check-sender-domain"


def run_one_attempt():
    """Runs one attempt; a failed one waits for the next instead of being repeated at once."""
    worker.drain(lane="domains")


def test_verification_ends_when_the_record_is_missing_for_three_days(brand, domain, dns, work):
    publish_record(dns, domain)
    work()
    assert sender_domains.may_send_from(brand_id=brand.pk, address="a@acme.example.com")

    Event.objects.all().delete()  # as if the minute between two checks were over
    dns.records.clear()
    SenderDomain.objects.update(checked_at=timezone.now() - timedelta(days=1))
    assert check_sender_domains() == 1
    work()
    domain.refresh_from_db()
    assert domain.missing_since is not None
    assert sender_domains.may_send_from(brand_id=brand.pk, address="a@acme.example.com")

    SenderDomain.objects.update(missing_since=timezone.now() - timedelta(days=3))
    assert not sender_domains.may_send_from(brand_id=brand.pk, address="a@acme.example.com")
    SenderDomain.objects.update(checked_at=timezone.now() - timedelta(days=1))
    Event.objects.all().delete()
    check_sender_domains()
    work()
    domain.refresh_from_db()
    assert domain.verified_at is None


def test_repeated_checks_query_the_dns_once_a_minute(domain, dns, work):
    for _ in range(20):
        sender_domains.request_checks(domains=[domain], at=domain.created_at)

    work()

    assert len(dns.questions) == 1


@pytest.mark.parametrize(
    "invalid", ["", "com", "a b.com", "-a.com", "127.0.0.1", "x" * 64 + ".com", "a..com", "\0.com"]
)
def test_invalid_domain_is_rejected(brand, invalid):
    with pytest.raises(Invalid, match="Enter a domain"):
        sender_domains.create(brand=brand, domain=invalid, at=timezone.now())


def test_domain_is_normalised_and_unique_per_brand(brand, domain):
    created = sender_domains.create(brand=brand, domain=" Bücher.Example.COM. ", at=timezone.now())

    assert created.domain == "xn--bcher-kva.example.com"
    with pytest.raises(Invalid, match="already has this domain"):
        sender_domains.create(brand=brand, domain="ACME.example.com", at=timezone.now())


def test_number_of_domains_per_brand_is_limited(brand, monkeypatch):
    monkeypatch.setattr(sender_domains, "MAX_PER_BRAND", 1)
    sender_domains.create(brand=brand, domain="one.example.com", at=timezone.now())

    with pytest.raises(Invalid, match="already has 1 sender domains"):
        sender_domains.create(brand=brand, domain="two.example.com", at=timezone.now())


def test_staff_add_check_again_and_remove_a_domain(brand, dns, work):
    client = browser(staff(brand, role="manager"))

    client.post(address("loyalty.senderdomain", "add"), {"brand": brand.pk, "domain": "acme.example.com"})
    domain = SenderDomain.objects.get()
    domain_page = html.unescape(text(client.get(address("loyalty.senderdomain", "change", domain.pk))))
    assert f"_loyalty-sender.acme.example.com<br>TXT loyalty-sender={domain.token}" in domain_page
    work()
    publish_record(dns, domain)
    Event.objects.all().delete()  # as if the minute between two checks were over
    form_data = {"action": "check_again", "_selected_action": [domain.pk]}
    client.post(address("loyalty.senderdomain"), form_data)
    work()

    assert "Verified: e-mail can be sent" in text(client.get(address("loyalty.senderdomain")))
    client.post(address("loyalty.senderdomain", "delete", domain.pk), {"post": "yes"})
    assert not SenderDomain.objects.exists()
    assert AuditLogEntry.objects.filter(kind="loyalty.senderdomain").count() == 3
