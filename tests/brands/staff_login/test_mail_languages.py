"""Each kind of mail to staff is in its recipient's language, as a mail server receives it."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone, translation

from brands.audit_log import AuditContext
from brands.models.people import StaffRole, User
from brands.models.saved_lists import SavedList
from brands.models.tenants import Brand
from brands.staff_login import joining, mails, quota_mails
from brands.staff_login import staff as people
from brands.staff_login.models import Invitation, StaffMail
from brands.tenants.quotas import Resource, Usage
from campaigns.earning import budgets
from campaigns.models.campaigns import CampaignBudgetUse
from campaigns.models.earning_rules import EarningRuleBudgetUse
from jobs import runner
from jobs.models import Job, ReportRecipient, ReportSchedule
from loyalty.models.notifications import NotificationSettings
from portal.saved_lists import schedules
from tests.support import factories
from tests.support.fakes.fake_providers import Mailbox, mailbox
from tests.support.portal import browser, staff

pytestmark = pytest.mark.django_db(transaction=True)
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
NEW_PASSWORD = "an0ther-pass-phrase"
DIRECTIONS = {"de": "ltr", "ar": "rtl", "en": "ltr"}


@pytest.fixture
def mail_server(settings: Any) -> Iterator[Mailbox]:
    settings.PORTAL_URL = "https://portal.example.com"
    with mailbox() as running:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", running.port
        yield running


@pytest.fixture
def owner(brand: Brand) -> User:
    return staff(brand, email="olivia@example.com")


def set_language(user: User, language: str) -> User:
    user.portal_language = language
    user.save(update_fields=["portal_language"])
    return user


def set_brand_language(brand: Brand, language: str) -> None:
    NotificationSettings.objects.update_or_create(brand=brand, defaults={"language": language})


def send_due(mail_server: Mailbox) -> EmailMessage:
    """Send the mail that is due, and return it."""
    mails.send_due(at=timezone.now())
    return mail_server.mails[-1]


def part(message: EmailMessage, kind: str) -> str:
    body = message.get_body((kind,))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


# --- The causes of a mail of each kind ---
def forgot(_brand: Brand, user: User) -> None:
    Client().post("/admin/password/forgot/", {"email": user.email})


def factors_link(brand: Brand, user: User) -> None:
    role = StaffRole.objects.get(user=user, brand=brand)
    helper = set_language(staff(brand, email="helen@example.com"), "en")
    browser(helper).post(f"/admin/brands/staffrole/{role.pk}/reset-factors/", {"reason": "Lost phone"})


def set_password(brand: Brand, user: User) -> None:
    forgot(brand, user)
    StaffMail.objects.update(sent_at=timezone.now())
    link = mails.link_of(StaffMail.objects.get(), user).removeprefix("https://portal.example.com")
    Client().post(link, {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})


def joined(brand: Brand, user: User) -> None:
    """Accept an invitation of another brand."""
    other = factories.brand(name="Southwind")
    invitation = Invitation.objects.create(
        brand=other,
        email=user.email,
        role="manager",
        invited_by=staff(other, email="ingrid@example.com"),
        expires_at=timezone.now() + mails.RETENTION,
        digest=bytes(32),
    )
    assert brand != other
    joining.accept(
        invitation, user=user, origin="https://portal.example.com", audit_context=AuditContext(user, timezone.now())
    )


def invited(_brand: Brand, user: User) -> None:
    other = factories.brand(name="Southwind")
    inviter = set_language(staff(other, email="ingrid@example.com"), "en")
    values = {"brand": other.pk, "email": user.email, "role": "manager"}
    browser(inviter).post("/admin/staff_login/invitation/add/", values)


def near_quota(brand: Brand, user: User) -> None:
    quota_mails.mail(StaffRole.objects.get(user=user, brand=brand), Usage(brand, Resource.CODES, 12_000, 9_700))


def rule_used_up(brand: Brand, _user: User) -> None:
    rule = factories.earning_rule(brand, "scan-auth", 2, "multiplier", name="Spring", without_end=True)
    values = {"points": 25_800, "events": 1_204, "used_up_at": timezone.now()}
    EarningRuleBudgetUse.objects.update_or_create(rule=rule, defaults=values)
    assert budgets.notify_used_up(at=timezone.now()) == 1


def campaign_used_up(brand: Brand, _user: User) -> None:
    campaign = factories.campaign(brand, budget=25_800)
    factories.milestone(campaign, 1, reward_points=20)
    CampaignBudgetUse.objects.update_or_create(campaign=campaign, defaults={"points": 25_800})
    assert budgets.notify_used_up(at=timezone.now()) == 1


def schedule(brand: Brand, user: User, **fields: Any) -> ReportSchedule:
    saved = SavedList.objects.create(
        owner=user, brand=brand, name="Live", model_label="authcodes.authcode", query={"status": ["unscanned"]}
    )
    report_schedule = ReportSchedule.objects.create(
        **{"owner": user, "brand": brand, "saved_list": saved, "frequency": "daily", "hour": 12, **fields},
        next_at=NOON,
        time_zone=brand.time_zone,
    )
    ReportRecipient.objects.create(schedule=report_schedule, user=user)
    return report_schedule


def reported(brand: Brand, user: User) -> None:
    schedule(brand, user)
    schedules.run_due(at=NOON)
    runner.run(Job.objects.get().pk)
    schedules.report_ended(at=NOON)


def report_failed(brand: Brand, user: User) -> None:
    report_schedule = schedule(brand, user, failures=2)
    SavedList.objects.filter(pk=report_schedule.saved_list_id).update(query={"gone": ["1"]})
    schedules.run_due(at=NOON)


def report_cancelled(brand: Brand, user: User) -> None:
    schedule(brand, user)
    schedules.run_due(at=NOON)
    Job.objects.update(status="cancelled")
    schedules.report_ended(at=NOON)


Cause = Callable[[Brand, User], None]
# The cause of a mail, its subject, and a part of its text.
GERMAN: list[tuple[Cause, str, str]] = [
    (forgot, "Setzen Sie ein neues Passwort für das Treueportal", "innerhalb von 30 Minuten"),
    (factors_link, "Entfernen Sie Ihre zweiten Faktoren für das Treueportal", "helen@example.com von BRAND hat diesen"),
    (set_password, "Ihre Anmeldung am Treueportal wurde geändert", "gesendeten Link gesetzt."),
    (joined, "Ihre Anmeldung am Treueportal wurde geändert", "Sie arbeiten jetzt für Southwind."),
    (invited, "Einladung, für Southwind zu arbeiten", "ingrid@example.com lädt Sie ein"),
    (
        near_quota,
        "Ein Kontingent Ihrer Marke geht zur Neige",
        "80 % eines Kontingents. Codes: 9.700 von 12.000.",
    ),
    (rule_used_up, "Das Budget einer Punkteregel ist aufgebraucht", "hat 25.800 Punkte vergeben, 1.204-mal."),
    (campaign_used_up, "Das Budget einer Kampagne ist aufgebraucht", "hat 25.800 Punkte gezahlt"),
    (reported, "Ein regelmäßiger Bericht ist fertig", "Der Bericht „Live“ von BRAND ist fertig."),
    (report_failed, "Ein regelmäßiger Bericht ist fehlgeschlagen", "Er ist 3-mal in Folge fehlgeschlagen"),
    (report_cancelled, "Ein regelmäßiger Bericht ist fehlgeschlagen", "Der Export wurde abgebrochen."),
]
ARABIC: list[tuple[Cause, str, str]] = [
    (forgot, "تعيين كلمة مرور جديدة لبوابة الولاء", "افتحه خلال 30 دقيقة"),
    (factors_link, "إزالة عوامل التحقق الثانية لبوابة الولاء", "طلب helen@example.com من BRAND هذا الرابط لك."),
    (set_password, "تغيّرت طريقة تسجيل دخولك إلى بوابة الولاء", "عُيّنت كلمة المرور برابط أُرسل إلى هذا العنوان."),
    (joined, "تغيّرت طريقة تسجيل دخولك إلى بوابة الولاء", "Southwind."),
    (invited, "دعوة للعمل لدى Southwind", "يدعوك ingrid@example.com للعمل لدى Southwind"),
    (near_quota, "إحدى حصص علامتك التجارية على وشك النفاد", "9,700 من 12,000."),
    (rule_used_up, "استُنفدت ميزانية قاعدة كسب", "منحت القاعدة «Spring» 25,800 نقطة، 1,204 مرات."),
    (campaign_used_up, "استُنفدت ميزانية حملة", "25,800 نقطة، واستُنفدت ميزانيتها."),
    (reported, "تقرير مجدول جاهز", "التقرير «Live» للعلامة التجارية BRAND جاهز."),
    (report_failed, "فشل تقرير مجدول", "فشل 3 مرات متتالية، وهو الآن متوقف مؤقتًا."),
    (report_cancelled, "فشل تقرير مجدول", "أُلغي التصدير."),
]
CASES = [("de", *case) for case in GERMAN] + [("ar", *case) for case in ARABIC]


@pytest.mark.parametrize(
    ("language", "cause", "subject", "body"), CASES, ids=[f"{case[0]}-{case[1].__name__}" for case in CASES]
)
def test_mail_is_in_its_recipients_language(
    brand: Brand, owner: User, mail_server: Mailbox, language: str, cause: Cause, subject: str, body: str
) -> None:
    set_language(owner, language)
    set_brand_language(brand, "en")

    cause(brand, owner)
    message = send_due(mail_server)

    plain, page = part(message, "plain"), part(message, "html")
    assert (message["To"], message["Subject"].strip(), message["Content-Language"]) == (owner.email, subject, language)
    assert body.replace("BRAND", str(brand)) in plain
    assert plain.startswith({"de": "Guten Tag,", "ar": "مرحبًا،"}[language])
    assert f'<html lang="{language}" dir="{DIRECTIONS[language]}">' in page
    assert subject in page
    for line in filter(None, plain.splitlines()):
        assert line in page.replace("&quot;", '"').replace("&#x27;", "'").replace("&amp;", "&")
    for link in re.findall(r"https://portal\.example\.com/\S+", plain):
        assert f'<a href="{link}" dir="ltr"' in page
    assert translation.get_language() == "en"


# --- The choice of the language ---
@pytest.mark.parametrize(
    ("user_language", "brand_language", "language"),
    [("ar", "de", "ar"), ("en", "de", "en"), ("", "de", "de"), ("", "", "en")],
)
def test_language_is_the_users_then_the_brands_then_the_default(
    brand: Brand, owner: User, mail_server: Mailbox, user_language: str, brand_language: str, language: str
) -> None:
    set_language(owner, user_language)
    if brand_language:
        set_brand_language(brand, brand_language)

    near_quota(brand, owner)

    assert send_due(mail_server)["Content-Language"] == language
    assert people.language_of(owner) == people.language_of(owner, brand_id=brand.pk) == language
    assert people.language_of(None, brand_id=brand.pk) == (brand_language or "en")
    assert people.language_of(None) == "en"


def test_two_owners_get_the_same_mail_each_in_their_language(brand: Brand, owner: User, mail_server: Mailbox) -> None:
    set_language(owner, "de")
    set_language(staff(brand, email="omar@example.com"), "ar")

    rule_used_up(brand, owner)
    send_due(mail_server)

    assert {mail["To"]: mail["Content-Language"] for mail in mail_server.mails} == {
        "olivia@example.com": "de",
        "omar@example.com": "ar",
    }


def test_invitation_of_a_new_user_is_in_the_brands_language(brand: Brand, owner: User, mail_server: Mailbox) -> None:
    set_brand_language(brand, "de")
    set_language(owner, "ar")

    browser(owner).post(
        "/admin/staff_login/invitation/add/", {"brand": brand.pk, "email": "nora@example.com", "role": "printer"}
    )

    assert send_due(mail_server)["Subject"].strip() == f"Einladung, für {brand} zu arbeiten"


def test_mail_is_sent_in_the_language_of_its_stored_text(brand: Brand, owner: User, mail_server: Mailbox) -> None:
    """It is never in two languages, even if the user changes theirs while it waits."""
    set_language(owner, "de")
    near_quota(brand, owner)
    set_language(owner, "ar")

    message = send_due(mail_server)

    assert message["Content-Language"] == "de"
    assert "nutzt 80 %" in part(message, "plain")
    assert message["Subject"].strip() == "Ein Kontingent Ihrer Marke geht zur Neige"


def test_names_are_neither_markup_nor_links(brand: Brand, owner: User, mail_server: Mailbox) -> None:
    brand.name = "<b>https://evil.example/</b>"
    brand.save()

    near_quota(brand, owner)
    page = part(send_due(mail_server), "html")

    assert "&lt;b&gt;https://evil.example/&lt;/b&gt;" in page
    assert 'href="https://evil' not in page
