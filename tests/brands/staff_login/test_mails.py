"""Forgotten passwords and lost factors: links go to the user's own mailbox, and reveal nothing to others."""

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole
from brands.models.tenants import BrandHostname
from brands.staff_login import factors, mails
from brands.staff_login.models import Factor, StaffMail
from brands.staff_login.staff import save_account
from core.errors import Invalid
from tests.brands.staff_login.signing_in import add_app, is_logged_in, links_sent, submit_password
from tests.support import factories
from tests.support.portal import browser, staff

FORGOT = "/admin/password/forgot/"
NEW_PASSWORD = "an0ther-pass-phrase"


def request_link(web_client, email):
    return web_client.post(FORGOT, {"email": email})


def password_link(web_client, user):
    request_link(web_client, user.email)
    [link] = links_sent()
    return link


def test_link_sets_a_new_password_once_and_ends_every_session(brand, colleague, web_client):
    logged_in = Client()
    submit_password(logged_in, colleague)
    link = password_link(web_client, colleague)
    web_client.get(link)  # a mail program opens the link first

    first = web_client.post(link, {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})
    second = Client().post(link, {"password1": "y3t-another-phrase", "password2": "y3t-another-phrase"})
    submit_password(web_client, colleague, NEW_PASSWORD)

    assert first.headers["Location"] == "/admin/login/"
    assert "has expired or was already used" in second.content.decode()
    assert (is_logged_in(logged_in), is_logged_in(web_client)) == (False, True)
    assert AuditLogEntry.objects.filter(brand=brand, user=colleague, action__startswith="Password set").exists()


def test_second_factor_is_still_required_after_a_new_password(colleague, web_client):
    add_app(colleague)
    link = password_link(web_client, colleague)
    web_client.post(link, {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})

    assert submit_password(web_client, colleague, NEW_PASSWORD).headers["Location"] == "/admin/second-factor/"


@pytest.mark.parametrize("account", ["nobody", "customer", "former", "switched off"])
def test_answer_does_not_reveal_whether_the_address_has_a_staff_account(brand, colleague, web_client, account):
    create_address = {
        "nobody": lambda: "nobody@example.com",
        "customer": lambda: factories.customer(brand).email,
        "former": lambda: factories.user().email,
        "switched off": lambda: staff(brand, is_active=False).email,
    }[account]
    other = Client()

    known, unknown = request_link(web_client, colleague.email), request_link(other, create_address())
    links = links_sent()

    assert (known.status_code, known.headers["Location"]) == (unknown.status_code, unknown.headers["Location"])
    assert len(links) == 1
    assert [each.to for each in mail.outbox] == [[colleague.email]]


def test_known_and_unknown_addresses_cost_the_same_statements(colleague, web_client, django_assert_num_queries):
    with django_assert_num_queries(5):
        request_link(web_client, colleague.email)
    with django_assert_num_queries(5):
        request_link(web_client, "nobody@example.com")


def test_requests_for_links_are_limited_per_address(colleague, web_client, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "staff_mail": "2/hour"}
    for _ in range(2):
        request_link(web_client, colleague.email)

    assert "Too many requests" in request_link(web_client, colleague.email).content.decode()
    assert StaffMail.objects.count() == 2


def test_no_link_is_sent_at_a_brands_hostname(brand, colleague, settings):
    """The brand's owner could point it at a server of their own, which would then receive the link."""
    settings.ALLOWED_HOSTS = ["*"]
    host = BrandHostname.objects.get(brand=brand).hostname

    response = Client(HTTP_HOST=host).post(FORGOT, {"email": colleague.email})

    assert "at its own address" in response.content.decode()
    assert not StaffMail.objects.exists()


def test_link_leads_to_the_portals_url_whatever_host_was_called(brand, colleague, settings):
    settings.ALLOWED_HOSTS, settings.PORTAL_URL = ["*"], "https://portal.example.com"
    host = BrandHostname.objects.get(brand=brand).hostname

    Client(HTTP_HOST=host).post(FORGOT, {"email": colleague.email})
    mails.send_due(at=timezone.now())

    assert "https://portal.example.com/admin/password/new/" in mail.outbox[0].body
    assert host not in mail.outbox[0].body


def test_expired_link_is_rejected(colleague, web_client, time_machine):
    link = password_link(web_client, colleague)
    time_machine.move_to(timezone.now() + mails.LIFE[StaffMail.Kind.PASSWORD_LINK], tick=True)

    assert "has expired" in web_client.get(link).content.decode()


def test_link_to_a_former_address_is_rejected(colleague, web_client):
    link = password_link(web_client, colleague)
    colleague.email = "new@example.com"
    save_account(user=colleague, fields=["email"])

    assert "has expired" in web_client.get(link).content.decode()


@pytest.mark.parametrize("token", ["x", "a:b:c", "%F0%9F%92%A9", "WzEsMiwiMyJd:1x:abc", "A" * 3000])
def test_invalid_link_is_rejected(db, web_client, token):
    for page in ("password/new", "second-factor/remove"):
        assert "has expired" in web_client.get(f"/admin/{page}/{token}/").content.decode()


def test_link_is_valid_only_for_its_own_purpose(colleague, web_client):
    token = password_link(web_client, colleague).split("/")[-2]

    assert "has expired" in web_client.get(f"/admin/second-factor/remove/{token}/").content.decode()


def test_token_of_a_link_is_not_stored(colleague, web_client):
    token = password_link(web_client, colleague).split("/")[-2]

    assert token not in str(list(StaffMail.objects.values()))


def test_mail_that_could_not_be_sent_is_sent_later(colleague, web_client, settings):
    request_link(web_client, colleague.email)
    settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = (
        "django.core.mail.backends.smtp.EmailBackend",
        "127.0.0.1",
        1,
    )
    assert mails.send_due(at=timezone.now()) == 0
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"

    assert mails.send_due(at=timezone.now()) == 1


def queue_mail(kind, user):
    return mails.write(user=user, kind=kind, origin="https://portal.example.com", text=lambda: "Ready.")


def test_login_link_is_sent_before_other_mails(colleague, web_client, monkeypatch):
    monkeypatch.setattr(mails, "AT_ONCE", 1)
    for _number in range(3):
        queue_mail(StaffMail.Kind.BUDGET, factories.user(is_staff=True))
    request_link(web_client, colleague.email)
    StaffMail.objects.filter(kind=StaffMail.Kind.PASSWORD_LINK).update(attempts=1)  # its first attempt failed

    assert mails.send_due(at=timezone.now()) == 1
    assert mail.outbox[0].to == [colleague.email]


def test_failed_login_link_does_not_stop_the_other_mails(colleague, web_client, monkeypatch):
    request_link(web_client, colleague.email)
    queue_mail(StaffMail.Kind.NOTIFICATION, colleague)
    send = mails._send
    no_server = mails.Outcome.NO_SERVER
    monkeypatch.setattr(
        mails, "_send", lambda each, at: no_server if each.kind in mails.LOGIN_LINKS else send(each, at)
    )

    assert mails.send_due(at=timezone.now()) == 1
    assert StaffMail.objects.get(sent_at=None).kind == StaffMail.Kind.PASSWORD_LINK


def test_notifications_are_sent_before_warnings_and_warnings_before_reports(colleague, monkeypatch):
    for kind in (StaffMail.Kind.REPORT, StaffMail.Kind.QUOTA, StaffMail.Kind.BUDGET, StaffMail.Kind.NOTIFICATION):
        queue_mail(kind, colleague)
    monkeypatch.setattr(mails, "AT_ONCE", 1)
    sent = []

    while mails.send_due(at=timezone.now()):
        sent.append(StaffMail.objects.exclude(sent_at=None).exclude(kind__in=sent).get().kind)
    assert sent == ["notification", "quota", "budget", "report"]


# --- An owner helps ---------------------------------------------------------------------------------------------------
@pytest.fixture
def owner(brand):
    return staff(brand, role="owner", email="owner@example.com")


def link_page(action, user, brand):
    staff_role = StaffRole.objects.get(user=user, brand=brand)
    return f"/admin/brands/staffrole/{staff_role.pk}/{action}/"


def test_password_link_is_sent_before_a_report(colleague, monkeypatch):
    monkeypatch.setattr(mails, "AT_ONCE", 1)
    for kind in (StaffMail.Kind.REPORT, StaffMail.Kind.PASSWORD_LINK):
        mails.write(user=colleague, kind=kind, origin="https://portal.example.com", text=lambda: "Ready.")

    mails.send_due(at=timezone.now())

    assert StaffMail.objects.get(sent_at=None).kind == StaffMail.Kind.REPORT


def test_factors_are_removed_only_by_the_colleague_with_their_password(brand, owner, colleague, web_client):
    add_app(colleague)
    logged_in = Client()
    logged_in.force_login(colleague)

    browser(owner).post(link_page("reset-factors", colleague, brand), {"reason": "Lost phone"})
    assert Factor.objects.filter(user=colleague).exists()
    [link] = links_sent()
    wrong = web_client.post(link, {"password": "a guess"})
    assert Factor.objects.filter(user=colleague).exists()
    web_client.post(link, {"password": factories.PASSWORD})

    assert "The password is wrong" in wrong.content.decode()
    assert not factors.has_any(colleague)
    entries = AuditLogEntry.objects.filter(brand=brand).order_by("id").values_list("user__email", "action", "reason")
    assert list(entries) == [
        (owner.email, "Link sent to remove second factors", "Lost phone"),
        (colleague.email, "All second factors removed with a link sent to this address", ""),
    ]


def test_limit_of_links_for_a_shared_colleague_is_counted_by_brand(brand, owner, colleague, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "staff_mail": "1/hour"}
    other = factories.brand()
    StaffRole.objects.create(user=colleague, brand=other, role="printer")
    neighbour = staff(other, role="owner", email="neighbour@example.com")

    for sender, own_brand in ((neighbour, other), (neighbour, other), (owner, brand)):
        browser(sender).post(link_page("password-link", colleague, own_brand), {"reason": "Forgot it"})

    texts = StaffMail.objects.order_by("id").values_list("text", flat=True)
    assert [sender.email in text for sender, text in zip((neighbour, owner), texts, strict=True)] == [True, True]


def test_mail_names_the_owner_who_requested_the_link(brand, owner, colleague):
    browser(owner).post(link_page("password-link", colleague, brand), {"reason": "Forgot it"})
    mails.send_due(at=timezone.now())

    assert mail.outbox[0].to == [colleague.email]
    assert owner.email in mail.outbox[0].body


@pytest.mark.parametrize("action", ["reset-factors", "password-link"])
@pytest.mark.parametrize("role", ["manager", "printer", "support"])
def test_only_owners_can_send_links_to_colleagues(brand, colleague, action, role):
    page = link_page(action, colleague, brand)

    response = browser(staff(brand, role=role)).post(page, {"reason": "x"})

    assert response.status_code in {403, 404}
    assert not StaffMail.objects.exists()


@pytest.mark.parametrize("action", ["reset-factors", "password-link"])
def test_owner_of_another_brand_cannot_send_links(brand, colleague, action):
    response = browser(staff(factories.brand())).post(link_page(action, colleague, brand), {"reason": "x"})

    assert response.status_code == 404
    assert not StaffMail.objects.exists()


@pytest.mark.parametrize("action", ["reset-factors", "password-link"])
def test_owner_cannot_send_links_to_superusers_or_themselves(brand, owner, action):
    operator = staff(brand, is_superuser=True)

    answers = [
        browser(owner).post(link_page(action, user, brand), {"reason": "x"}).status_code for user in (operator, owner)
    ]

    assert answers == [403, 403]
    assert not StaffMail.objects.exists()


def test_page_does_not_reveal_that_a_colleague_works_for_another_brand(brand, owner, colleague):
    """Whether a colleague also works for another brand is that brand's business."""
    both = staff(brand, factories.brand(name="Elsewhere"), role="printer")

    pages = [browser(owner).get(link_page("reset-factors", each, brand)).content.decode() for each in (colleague, both)]

    assert "Elsewhere" not in pages[1]
    assert pages[0].count("<form") == pages[1].count("<form")


def test_link_opened_twice_at_the_same_time_can_be_used_once(colleague, web_client):
    token = password_link(web_client, colleague).split("/")[-2]
    opened = [mails.opened(kind=StaffMail.Kind.PASSWORD_LINK, token=token) for _ in range(2)]

    mails.use(opened[0], at=timezone.now())

    with pytest.raises(Invalid):
        mails.use(opened[1], at=timezone.now())
