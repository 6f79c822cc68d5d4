"""Forgotten passwords and lost factors: help comes by the person's own mailbox, and tells nobody else anything."""

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole
from brands.models.tenants import BrandHostname
from brands.staff_login import factors, mails
from brands.staff_login.models import Factor, StaffMail
from core.errors import Invalid
from tests.brands.staff_login.signing_in import give_password, is_in, links_sent, with_app
from tests.support import factories
from tests.support.portal import browser, staff

FORGOT = "/admin/password/forgot/"
NEW = "an0ther-pass-phrase"


def ask(window, email):
    return window.post(FORGOT, {"email": email})


def forgotten(window, user):
    ask(window, user.email)
    [link] = links_sent()
    return link


def test_a_link_sets_a_new_password_once_and_ends_every_session(brand, colleague, window):
    inside = Client()
    give_password(inside, colleague)
    link = forgotten(window, colleague)
    window.get(link)  # a mail programme looks first

    first = window.post(link, {"password1": NEW, "password2": NEW})
    second = Client().post(link, {"password1": "y3t-another-phrase", "password2": "y3t-another-phrase"})
    give_password(window, colleague, NEW)

    assert first.headers["Location"] == "/admin/login/"
    assert "has expired or was already used" in second.content.decode()
    assert (is_in(inside), is_in(window)) == (False, True)
    assert AuditLogEntry.objects.filter(brand=brand, user=colleague, action__startswith="Password set").exists()


def test_the_second_factor_is_asked_after_a_new_password_too(colleague, window):
    with_app(colleague)
    link = forgotten(window, colleague)
    window.post(link, {"password1": NEW, "password2": NEW})

    assert give_password(window, colleague, NEW).headers["Location"] == "/admin/second-factor/"


@pytest.mark.parametrize("whose", ["nobody", "customer", "former", "switched off"])
def test_the_answer_to_an_address_is_the_same_whoever_has_it(brand, colleague, window, whose):
    made = {
        "nobody": lambda: "nobody@example.com",
        "customer": lambda: factories.customer(brand).email,
        "former": lambda: factories.user().email,
        "switched off": lambda: staff(brand, is_active=False).email,
    }[whose]
    other = Client()

    known, unknown = ask(window, colleague.email), ask(other, made())
    links = links_sent()

    assert (known.status_code, known.headers["Location"]) == (unknown.status_code, unknown.headers["Location"])
    assert len(links) == 1
    assert [each.to for each in mail.outbox] == [[colleague.email]]


def test_both_cost_the_same_statements(colleague, window, django_assert_num_queries):
    with django_assert_num_queries(5):
        ask(window, colleague.email)
    with django_assert_num_queries(5):
        ask(window, "nobody@example.com")


def test_asking_is_bounded_per_address(colleague, window, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "staff_mail": "2/hour"}
    for _time in range(2):
        ask(window, colleague.email)

    assert "Too many requests" in ask(window, colleague.email).content.decode()
    assert StaffMail.objects.count() == 2


def test_a_brands_hostname_gets_no_link(brand, colleague, settings):
    """Its owner may have it lead to a server of their own, which would be sent the link."""
    settings.ALLOWED_HOSTS = ["*"]
    host = BrandHostname.objects.get(brand=brand).hostname

    response = Client(HTTP_HOST=host).post(FORGOT, {"email": colleague.email})

    assert "at its own address" in response.content.decode()
    assert not StaffMail.objects.exists()


def test_links_lead_to_the_portals_address_whatever_host_was_called(brand, colleague, settings):
    settings.ALLOWED_HOSTS, settings.PORTAL_URL = ["*"], "https://portal.example.com"
    host = BrandHostname.objects.get(brand=brand).hostname

    Client(HTTP_HOST=host).post(FORGOT, {"email": colleague.email})
    mails.send_due(at=timezone.now())

    assert "https://portal.example.com/admin/password/new/" in mail.outbox[0].body
    assert host not in mail.outbox[0].body


def test_an_old_link_has_ended(colleague, window, time_machine):
    link = forgotten(window, colleague)
    time_machine.move_to(timezone.now() + mails.LIFE[StaffMail.Kind.PASSWORD_LINK], tick=True)

    assert "has expired" in window.get(link).content.decode()


@pytest.mark.parametrize("token", ["x", "a:b:c", "%F0%9F%92%A9", "WzEsMiwiMyJd:1x:abc", "A" * 3000])
def test_a_made_up_link_opens_nothing(db, window, token):
    for page in ("password/new", "second-factor/remove"):
        assert "has expired" in window.get(f"/admin/{page}/{token}/").content.decode()


def test_a_link_for_one_thing_does_no_other(colleague, window):
    token = forgotten(window, colleague).split("/")[-2]

    assert "has expired" in window.get(f"/admin/second-factor/remove/{token}/").content.decode()


def test_a_link_is_stored_nowhere(colleague, window):
    token = forgotten(window, colleague).split("/")[-2]

    assert token not in str(list(StaffMail.objects.values()))


def test_a_mail_that_was_not_taken_is_sent_later(colleague, window, settings):
    ask(window, colleague.email)
    settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = (
        "django.core.mail.backends.smtp.EmailBackend",
        "127.0.0.1",
        1,
    )
    assert mails.send_due(at=timezone.now()) == 0
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"

    assert mails.send_due(at=timezone.now()) == 1


def waiting_mail(kind, user):
    return mails.write(user=user, kind=kind, origin="https://portal.example.com", text=lambda: "Ready.")


def test_a_link_for_logging_in_waits_for_no_other_mail(colleague, window, monkeypatch):
    monkeypatch.setattr(mails, "AT_ONCE", 1)
    for _number in range(3):
        waiting_mail(StaffMail.Kind.BUDGET, factories.user(is_staff=True))
    ask(window, colleague.email)
    StaffMail.objects.filter(kind=StaffMail.Kind.PASSWORD_LINK).update(attempts=1)  # it was not taken at first

    assert mails.send_due(at=timezone.now()) == 1
    assert mail.outbox[0].to == [colleague.email]


def test_a_link_that_is_not_taken_does_not_end_the_call_for_the_rest(colleague, window, monkeypatch):
    ask(window, colleague.email)
    waiting_mail(StaffMail.Kind.NOTIFICATION, colleague)
    is_done = mails._is_done
    monkeypatch.setattr(mails, "_is_done", lambda each, at: each.kind not in mails.LOGIN_LINKS and is_done(each, at))

    assert mails.send_due(at=timezone.now()) == 1
    assert StaffMail.objects.get(sent_at=None).kind == StaffMail.Kind.PASSWORD_LINK


def test_an_invitation_or_a_change_comes_before_warnings_and_these_before_reports(colleague, monkeypatch):
    for kind in (StaffMail.Kind.REPORT, StaffMail.Kind.QUOTA, StaffMail.Kind.BUDGET, StaffMail.Kind.NOTIFICATION):
        waiting_mail(kind, colleague)
    monkeypatch.setattr(mails, "AT_ONCE", 1)
    sent = []

    while mails.send_due(at=timezone.now()):
        sent.append(StaffMail.objects.exclude(sent_at=None).exclude(kind__in=sent).get().kind)
    assert sent == ["notification", "quota", "budget", "report"]


# --- An owner helps ---------------------------------------------------------------------------------------------------
@pytest.fixture
def owner(brand):
    return staff(brand, role="owner", email="owner@example.com")


def help_page(what, user, brand):
    staff_role = StaffRole.objects.get(user=user, brand=brand)
    return f"/admin/brands/staffrole/{staff_role.pk}/{what}/"


def test_whoever_waits_to_log_in_waits_for_no_reports(colleague, monkeypatch):
    monkeypatch.setattr(mails, "AT_ONCE", 1)
    for kind in (StaffMail.Kind.REPORT, StaffMail.Kind.PASSWORD_LINK):
        mails.write(user=colleague, kind=kind, origin="https://portal.example.com", text=lambda: "Ready.")

    mails.send_due(at=timezone.now())

    assert StaffMail.objects.get(sent_at=None).kind == StaffMail.Kind.REPORT


def test_an_owner_has_factors_removed_by_the_colleague_alone(brand, owner, colleague, window):
    with_app(colleague)
    inside = Client()
    inside.force_login(colleague)

    browser(owner).post(help_page("reset-factors", colleague, brand), {"reason": "Lost phone"})
    assert Factor.objects.filter(user=colleague).exists()
    [link] = links_sent()
    wrong = window.post(link, {"password": "a guess"})
    assert Factor.objects.filter(user=colleague).exists()
    window.post(link, {"password": factories.PASSWORD})

    assert "The password is wrong" in wrong.content.decode()
    assert not factors.has_any(colleague)
    trail = AuditLogEntry.objects.filter(brand=brand).order_by("id").values_list("user__email", "action", "reason")
    assert list(trail) == [
        (owner.email, "Link sent to remove second factors", "Lost phone"),
        (colleague.email, "All second factors removed with a link sent to this address", ""),
    ]


def test_a_brand_uses_up_no_other_brands_help_for_a_colleague_of_both(brand, owner, colleague, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "staff_mail": "1/hour"}
    other = factories.brand()
    StaffRole.objects.create(user=colleague, brand=other, role="printer")
    neighbour = staff(other, role="owner", email="neighbour@example.com")

    for person, own in ((neighbour, other), (neighbour, other), (owner, brand)):
        browser(person).post(help_page("password-link", colleague, own), {"reason": "Forgot it"})

    texts = StaffMail.objects.order_by("id").values_list("text", flat=True)
    assert [person.email in text for person, text in zip((neighbour, owner), texts, strict=True)] == [True, True]


def test_the_mail_names_who_asked(brand, owner, colleague):
    browser(owner).post(help_page("password-link", colleague, brand), {"reason": "Forgot it"})
    mails.send_due(at=timezone.now())

    assert mail.outbox[0].to == [colleague.email]
    assert owner.email in mail.outbox[0].body


@pytest.mark.parametrize("what", ["reset-factors", "password-link"])
@pytest.mark.parametrize("role", ["manager", "printer", "support"])
def test_only_owners_help(brand, colleague, what, role):
    page = help_page(what, colleague, brand)

    response = browser(staff(brand, role=role)).post(page, {"reason": "x"})

    assert response.status_code in {403, 404}
    assert not StaffMail.objects.exists()


@pytest.mark.parametrize("what", ["reset-factors", "password-link"])
def test_an_owner_of_another_brand_finds_nobody_to_help(brand, colleague, what):
    response = browser(staff(factories.brand())).post(help_page(what, colleague, brand), {"reason": "x"})

    assert response.status_code == 404
    assert not StaffMail.objects.exists()


@pytest.mark.parametrize("what", ["reset-factors", "password-link"])
def test_an_owner_helps_no_superuser_and_not_themselves(brand, owner, what):
    operator = staff(brand, is_superuser=True)

    answers = [
        browser(owner).post(help_page(what, person, brand), {"reason": "x"}).status_code for person in (operator, owner)
    ]

    assert answers == [403, 403]
    assert not StaffMail.objects.exists()


def test_help_for_who_works_elsewhere_too_looks_like_any_other(brand, owner, colleague):
    """Whether a colleague also works for another brand is that brand's business."""
    both = staff(brand, factories.brand(name="Elsewhere"), role="printer")

    pages = [browser(owner).get(help_page("reset-factors", each, brand)).content.decode() for each in (colleague, both)]

    assert "Elsewhere" not in pages[1]
    assert pages[0].count("<form") == pages[1].count("<form")


def test_two_who_open_a_link_at_the_same_time_use_it_once(colleague, window):
    token = forgotten(window, colleague).split("/")[-2]
    found = [mails.opened(kind=StaffMail.Kind.PASSWORD_LINK, token=token) for _window in range(2)]

    mails.use(found[0], at=timezone.now())

    with pytest.raises(Invalid):
        mails.use(found[1], at=timezone.now())
