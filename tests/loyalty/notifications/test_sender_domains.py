"""Domains that brands send from: proven by a DNS record, or mail comes from the installation's address."""

import html
from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from core.errors import Invalid
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
def names(settings):
    settings.DEFAULT_FROM_EMAIL = "Points <points@platform.example.org>"
    with dns_server() as running:
        settings.DNS_SERVERS = [("127.0.0.1", running.port)]
        yield running


@pytest.fixture
def domain(brand):
    return sender_domains.create(brand=brand, domain="acme.example.com", at=timezone.now())


@pytest.fixture
def sends_from(brand):
    def send(sender_address, sender_name=""):
        own = {"merge_seconds": 0, "sender_address": sender_address, "sender_name": sender_name or f"{brand.name} Ltd"}
        NotificationSettings.objects.update_or_create(brand=brand, defaults=own)

    return send


def mail_to(customer, box, notify, work):
    notify(customer)
    work()
    return box.mails[-1]


def published(names, domain):
    names.records[f"_loyalty-sender.{domain.domain}"] = ["v=spf1 -all", f"loyalty-sender={domain.token}"]


def test_an_unproven_address_is_only_where_answers_go(brand, customer, sends_from, box, notify, work):
    """A manager wrote another brand's address, and our mail server signed it."""
    sends_from("hello@victim.example.com")

    mail = mail_to(customer, box, notify, work)

    assert mail["From"] == f"{brand.name} <points@platform.example.org>"
    assert mail["Reply-To"] == "hello@victim.example.com"
    assert "victim" not in mail["Message-ID"]


def test_a_proven_domain_is_sent_from(brand, customer, domain, names, sends_from, box, notify, work):
    sends_from("hello@acme.example.com")
    published(names, domain)

    work()

    mail = mail_to(customer, box, notify, work)
    assert mail["From"] == f"{brand.name} Ltd <hello@acme.example.com>"
    assert names.questions == ["_loyalty-sender.acme.example.com"]


@pytest.mark.parametrize(
    "sender", ["hello@sub.acme.example.com", "hello@example.com", "hello@acme.example.com.evil.example"]
)
def test_a_proof_is_of_that_domain_alone(customer, domain, names, sends_from, box, notify, work, sender):
    published(names, domain)
    sends_from(sender)

    assert mail_to(customer, box, notify, work)["From"].endswith("<points@platform.example.org>")


def test_no_brand_writes_in_the_name_of_another(brand, customer, domain, names, sends_from, box, notify, work):
    published(names, domain)
    sends_from("hello@acme.example.com", sender_name=factories.brand(name="Northwind Coffee").name)
    work()

    assert mail_to(customer, box, notify, work)["From"] == f"{brand.name} <hello@acme.example.com>"


def test_one_brands_proof_is_not_anothers(brand, customer, domain, names, sends_from, box, notify, work):
    other = sender_domains.create(brand=factories.brand(), domain="acme.example.com", at=timezone.now())
    published(names, other)
    sends_from("hello@acme.example.com")

    assert mail_to(customer, box, notify, work)["From"] == f"{brand.name} <points@platform.example.org>"
    other.refresh_from_db()
    domain.refresh_from_db()
    assert (bool(other.verified_at), domain.verified_at) == (True, None)


def test_what_the_dns_holds_is_told_to_nobody(domain, names, work):
    names.records["_loyalty-sender.acme.example.com"] = ["internal-secret"]

    work()

    domain.refresh_from_db()
    assert domain.last_error == "This TXT record does not exist."
    assert "internal-secret" not in str(list(Event.objects.values()))


def test_each_reads_in_their_language_what_is_wrong(brand, domain):
    SenderDomain.objects.update(last_error="The DNS did not answer.")
    readers = [browser(staff(brand, email=f"{tongue}@example.com", portal_language=tongue)) for tongue in ("en", "de")]

    pages = [text(reader.get(address("loyalty.senderdomain"))) for reader in readers]

    assert ["The DNS did not answer." in page for page in pages] == [True, False]
    assert ["Das DNS hat nicht geantwortet." in page for page in pages] == [False, True]


def test_a_silent_dns_proves_nothing_and_takes_nothing_away(domain, names, work, monkeypatch):
    published(names, domain)
    work()
    names.silent = True
    monkeypatch.setattr(sender_domains, "LOOKUP_SECONDS", 0.2)
    sender_domains.request_checks(domains=[domain], at=timezone.now() + timedelta(minutes=5))

    work_once(work)

    domain.refresh_from_db()
    assert (bool(domain.verified_at), domain.missing_since, domain.last_error) == (
        True,
        None,
        "The DNS did not answer.",
    )
    assert Event.objects.pending().get().detail_type == "check-sender-domain"


def work_once(work):
    """The failed attempt waits for its next one, and is not tried for ever."""
    from events import worker

    worker.drain(lane="domains")


def test_a_record_that_is_gone_for_three_days_ends_it(brand, domain, names, work):
    published(names, domain)
    work()
    assert sender_domains.may_send_from(brand_id=brand.pk, address="a@acme.example.com")

    Event.objects.all().delete()  # the minute has passed
    names.records.clear()
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


def test_asking_often_looks_once_a_minute(domain, names, work):
    for _ in range(20):
        sender_domains.request_checks(domains=[domain], at=domain.created_at)

    work()

    assert len(names.questions) == 1


@pytest.mark.parametrize("wrong", ["", "com", "a b.com", "-a.com", "127.0.0.1", "x" * 64 + ".com", "a..com", "\0.com"])
def test_what_is_no_domain_is_refused(brand, wrong):
    with pytest.raises(Invalid, match="Enter a domain"):
        sender_domains.create(brand=brand, domain=wrong, at=timezone.now())


def test_a_domain_is_written_as_dns_has_it_and_once(brand, domain):
    made = sender_domains.create(brand=brand, domain=" Bücher.Example.COM. ", at=timezone.now())

    assert made.domain == "xn--bcher-kva.example.com"
    with pytest.raises(Invalid, match="already has this domain"):
        sender_domains.create(brand=brand, domain="ACME.example.com", at=timezone.now())


def test_a_brand_has_a_bounded_number(brand, monkeypatch):
    monkeypatch.setattr(sender_domains, "MAX_PER_BRAND", 1)
    sender_domains.create(brand=brand, domain="one.example.com", at=timezone.now())

    with pytest.raises(Invalid, match="already has 1 sender domains"):
        sender_domains.create(brand=brand, domain="two.example.com", at=timezone.now())


def test_staff_add_look_again_and_remove_a_domain(brand, names, work):
    page = browser(staff(brand, role="manager"))

    page.post(address("loyalty.senderdomain", "add"), {"brand": brand.pk, "domain": "acme.example.com"})
    domain = SenderDomain.objects.get()
    shown = html.unescape(text(page.get(address("loyalty.senderdomain", "change", domain.pk))))
    assert f"_loyalty-sender.acme.example.com<br>TXT loyalty-sender={domain.token}" in shown
    work()
    published(names, domain)
    Event.objects.all().delete()  # the minute has passed
    chosen = {"action": "check_again", "_selected_action": [domain.pk]}
    page.post(address("loyalty.senderdomain"), chosen)
    work()

    assert "Verified: e-mail can be sent" in text(page.get(address("loyalty.senderdomain")))
    page.post(address("loyalty.senderdomain", "delete", domain.pk), {"post": "yes"})
    assert not SenderDomain.objects.exists()
    assert AuditLogEntry.objects.filter(kind="loyalty.senderdomain").count() == 3
