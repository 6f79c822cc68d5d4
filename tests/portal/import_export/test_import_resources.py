"""Levels, rewards, earning rules, printers and notification templates as files."""

from datetime import timedelta

import pytest
from django.contrib import admin
from django.utils import timezone

from authcodes.models.prints import Printer
from authcodes.models.products import Product
from brands.models.audit import AuditLogEntry
from campaigns.accrual import welcome
from campaigns.models.earning_rules import EarningRule
from core.encryption import EncryptedTextField
from loyalty.models.external_system import ExternalSystem
from loyalty.models.levels import BrandLevel
from loyalty.models.notifications import NotificationTemplate, Template
from loyalty.models.rewards import Reward
from portal.import_export import registry
from portal.import_export.cells import column
from portal.import_export.importable import ImportingAdmin
from tests.portal.import_export.conftest import CAMPAIGN, RULE
from tests.support import factories
from tests.support.imports import (
    confirm,
    counts,
    export_file,
    import_file,
    line_errors,
    preview,
    problem,
    ticket_of,
    upload,
)
from tests.support.portal import address, browser, staff

pytestmark = pytest.mark.usefixtures("media")


LEVEL, REWARD = "loyalty.brandlevel", "loyalty.reward"
PRINTER, TEMPLATE = "authcodes.printer", "loyalty.notificationtemplate"
LABELS = ["authcodes.product", LEVEL, REWARD, RULE, CAMPAIGN, PRINTER, TEMPLATE]


@pytest.fixture
def brand(db):
    return factories.brand(time_zone="Asia/Kolkata")


def add_rows(brand):
    """Add two rows of every kind, with values that are hard to export."""
    factories.product(brand, sku="A", title="=A", retail_price="0.10", redeem_point_value=0)
    factories.product(brand, sku="B", title="B", is_active=False)
    low = factories.level(brand, "Bronze", 0)
    gold = factories.level(brand, "+Gold", "1000.50", "percentage", "12.5")
    start, end = "2026-01-01T00:00:00.123456+00:00", "2026-12-31T18:29:59+00:00"
    factories.reward(brand, name="Same", minimum_level=gold, valid_from=start, valid_until=end, stock=5)
    factories.reward(brand, name="Same", minimum_level=low, description="a\r\nb", code_days=None)
    factories.earning_rule(brand, "order-complete", "7.5", "percentage")
    factories.earning_rule(brand, "log-user-login")
    campaign = factories.campaign(brand, campaign_name="-Many", target_value=20, starts_at=start, ends_at=end)
    for threshold in range(1, 12):
        factories.milestone(campaign, threshold, reward_name=f"@{threshold}", reward_points=threshold, auto_claim=False)
    factories.campaign(brand, campaign_name="None", target_value=3, type="order")
    Printer.objects.create(brand=brand, name="=Left", offset_x="-0.50", scale="1.005")
    Printer.objects.create(brand=brand, name="Right")
    for language, body in (("en", "{greeting}\r\n\r\n=1+1"), ("de", "-{level_name}")):
        NotificationTemplate.objects.create(
            brand=brand, template=Template.LEVEL_REACHED, channel="email", language=language, subject="@x", body=body
        )


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
@pytest.mark.parametrize("label", LABELS)
def test_exported_file_can_be_imported_without_changes(brand, owner, label, file_format):
    add_rows(brand)
    add_rows(factories.brand())

    page = preview(owner, label, brand, export_file(owner, label, brand, format=file_format))

    assert (counts(page), line_errors(page)) == ({"Unchanged": 2}, {})


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
@pytest.mark.parametrize("label", LABELS)
def test_template_can_be_imported_and_is_then_unchanged(brand, owner, label, file_format):
    template = browser(owner).get(address(label, "import_template"), {"format": file_format}).content

    page = preview(owner, label, brand, template)
    assert line_errors(page) == {}
    response = confirm(owner, label, ticket_of(page))
    assert response.status_code == 302, problem(response)
    assert counts(preview(owner, label, brand, template)) == {"Unchanged": 1}
    entry = AuditLogEntry.objects.get(kind=label)
    assert (entry.brand, entry.user, entry.action) == (brand, owner, "Added")


@pytest.mark.parametrize("label", LABELS)
def test_rows_of_another_brand_are_treated_as_missing(brand, owner, label):
    other_brand = factories.brand()
    add_rows(other_brand)
    content = export_file(staff(other_brand), label, other_brand)

    page = preview(owner, label, brand, content)

    if label in {REWARD, CAMPAIGN}:
        assert set(line_errors(page).values()) >= {"id: There is no row with this id in this brand."}
        content = "\n".join(line.partition(",")[2] for line in content.decode().splitlines())
        page = preview(owner, label, brand, content) if label == CAMPAIGN else page
    assert "Changed" not in counts(page)
    assert "Unchanged" not in counts(page)


@pytest.mark.parametrize("label", LABELS)
def test_import_pages_respond(brand, owner, label):
    client = browser(owner)

    assert address(label, "import") in client.get(address(label)).content.decode()
    for action in ("import", "import_template", "import_export"):
        assert client.get(address(label, action)).status_code == 200
    assert client.get(address(label, "import_template"), {"format": "xls"}).status_code == 404
    for action in ("import_preview", "import_errors"):
        assert client.get(address(label, action)).status_code == 400


def test_secrets_and_the_brand_cannot_be_columns():
    secret = next(field.name for field in ExternalSystem._meta.fields if isinstance(field, EncryptedTextField))

    for model, name in [(ExternalSystem, secret), (Reward, "brand")]:
        with pytest.raises(Exception, match="must not be a column"):
            column(model, name)


def test_every_importing_admin_has_its_resource_in_the_registry():
    imported_resources = {
        model_admin.resource for model_admin in admin.site._registry.values() if isinstance(model_admin, ImportingAdmin)
    }

    assert imported_resources == set(registry.resources().values())


# --- Price lists


def test_price_list_changes_only_prices_of_existing_products(brand, owner):
    factories.product(brand, sku="A", title="Jacket", retail_price="10", redeem_point_value=3)

    page = preview(owner, "authcodes.product", brand, "sku,retail_price\nA,12.50\nNEW,5\n")
    assert line_errors(page) == {3: "title: This field cannot be blank."}

    assert import_file(owner, "authcodes.product", brand, "sku,retail_price\nA,12.50\n").status_code == 302
    [product] = Product.objects.filter(brand=brand)
    assert (product.title, str(product.retail_price), product.redeem_point_value) == ("Jacket", "12.50", 3)


# --- Printers


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("A,21,0,1", "offset_x: Shift the print by at most 20 mm."),
        ("A,0,-20.5,1", "offset_y: Shift the print by at most 20 mm."),
        ("A,0,0,1.2", "scale: The scale must be between 0.9 and 1.1."),
        ("A,x,0,1", "offset_x: Enter a number."),
        (",0,0,1", "name: This field is required."),
    ],
)
def test_printers_are_validated_as_on_their_page(brand, owner, row, message):
    page = preview(owner, PRINTER, brand, f"name,offset_x,offset_y,scale\n{row}\n")

    assert line_errors(page) == {2: message}


def test_printer_role_can_import_printers_and_support_cannot(brand):
    assert import_file(staff(brand, role="printer"), PRINTER, brand, "name\nA\n").status_code == 302
    assert upload(staff(brand, role="support"), PRINTER, brand, "name\nB\n").status_code == 403


# --- Notification templates

TEXTS = "template,channel,language,subject,body\n"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("NOTIFY_LEVEL_REACHED,email,en,Hi,{nobody}", "body: {nobody} is not available here."),
        ("NOTIFY_LEVEL_REACHED,email,en,Hi,{unclosed", "body: A brace is unmatched."),
        ("NOTIFY_LEVEL_REACHED,sms,en,Hi,Text", "subject: An SMS has no subject."),
        ("NOTIFY_PASSWORD_FORGOTTEN,sms,en,,Text", "channel: This notification is not sent by this channel."),
        ("NOTIFY_PASSWORD_FORGOTTEN,email,en,Hi,Text", "body: This text must contain {"),
        (f"NOTIFY_LEVEL_REACHED,sms,en,,{'x' * 481}", "body: Enter at most 480 characters."),
        ("NOTIFY_X,email,en,Hi,Text", "template: Select a valid choice."),
        ("NOTIFY_LEVEL_REACHED,email,fr,Hi,Text", "language: Select a valid choice."),
        ("NOTIFY_LEVEL_REACHED,email,en,Hi,", "body: This field is required."),
    ],
)
def test_notification_templates_are_validated_as_on_their_page(brand, owner, row, message):
    [error] = line_errors(preview(owner, TEMPLATE, brand, f"{TEXTS}{row}\n")).values()

    assert message in error


def test_templates_are_matched_by_notification_channel_and_language(brand, owner):
    rows = "NOTIFY_LEVEL_REACHED,email,en,A,A\nNOTIFY_LEVEL_REACHED,email,de,B,B\nNOTIFY_LEVEL_REACHED,push,en,C,C\n"
    import_file(owner, TEMPLATE, brand, TEXTS + rows)
    before = NotificationTemplate.objects.get(subject="B").updated_at

    page = preview(owner, TEMPLATE, brand, TEXTS + rows.replace("B,B", "B,After"))
    assert counts(page) == {"Changed": 1, "Unchanged": 2}
    confirm(owner, TEMPLATE, ticket_of(page))

    changed = NotificationTemplate.objects.get(subject="B")
    assert (changed.language, changed.body, changed.updated_at > before) == ("de", "After", True)
    entry = AuditLogEntry.objects.get(kind=TEMPLATE, action="Changed")
    assert entry.changes == {"body": ["B", "After"]}
    duplicates = preview(owner, TEMPLATE, brand, TEXTS + rows + "NOTIFY_LEVEL_REACHED,push,en,D,D\n")
    assert line_errors(duplicates) == dict.fromkeys((4, 5), "Lines 4, 5 are for the same row.")


# --- Levels


def test_duplicate_level_thresholds_are_rejected(brand, owner):
    factories.level(brand, "Bronze", 0)
    factories.level(brand, "Silver", 100)

    page = preview(owner, LEVEL, brand, "name,threshold\nBronze,100\nGold,500\nBlack,500\n")

    assert line_errors(page) == dict.fromkeys((2, 3, 4), "Another row already has this: threshold.")


def test_level_reward_above_the_ceiling_cannot_be_imported(brand, owner):
    header = "name,threshold,scan_reward_type,scan_reward_value\n"
    content = f"{header}A,1,points,{brand.max_points_per_scan + 1}\nB,2,percentage,101\n"

    assert [text.split(".")[0] for text in line_errors(preview(owner, LEVEL, brand, content)).values()] == [
        f"scan_reward_value: Above the ceiling of {brand.max_points_per_scan:,}",
        "scan_reward_value: Above the ceiling of 100",
    ]


def test_manager_can_import_levels_and_support_cannot(brand):
    assert import_file(staff(brand, role="manager"), LEVEL, brand, "name,threshold\nA,1\n").status_code == 302
    assert upload(staff(brand, role="support"), LEVEL, brand, "name,threshold\nB,2\n").status_code == 403
    assert [level.name for level in BrandLevel.objects.filter(brand=brand)] == ["A"]


# --- Rewards


def test_reward_is_matched_by_its_id_or_by_a_unique_name(brand, owner):
    first, second = factories.reward(brand, name="Same"), factories.reward(brand, name="Same")
    unique_reward = factories.reward(brand, name="Alone")

    page = preview(owner, REWARD, brand, "id,name,cost\n,Same,1\n9999999,Same,1\nx,Same,1\n")
    assert line_errors(page) == {
        2: "name: Several rows have this name. Add the column “id”.",
        3: "id: There is no row with this id in this brand.",
        4: "id: There is no row with this id in this brand.",
    }

    import_file(owner, REWARD, brand, f"id,name,cost\n{second.pk},Other,2\n,Alone,3\n,New,4\n")
    rewards = {reward.name: (reward.pk, reward.cost) for reward in Reward.objects.filter(brand=brand)}
    assert rewards.keys() == {"Same", "Other", "Alone", "New"}
    assert (rewards["Other"], rewards["Alone"]) == ((second.pk, 2), (unique_reward.pk, 3))
    assert rewards["Same"][0] == first.pk


def test_minimum_level_must_be_a_level_of_the_brand(brand, owner):
    factories.level(brand, "Gold", 5)
    factories.level(factories.brand(), "Black", 5)

    page = preview(owner, REWARD, brand, "name,cost,minimum_level\nA,1,Gold\nB,1,Black\n")

    assert line_errors(page) == {3: "minimum_level: There is no “Black” in this brand."}


def test_dates_are_whole_days_in_the_brands_time_zone(brand, owner):
    header = "name,cost,valid_from,valid_until\n"
    import_file(owner, REWARD, brand, header + "A,1,2026-03-01,2026-03-31\n")

    reward = Reward.objects.get(brand=brand)
    assert reward.valid_from.isoformat() == "2026-02-28T18:30:00+00:00"
    assert reward.valid_until.isoformat() == "2026-03-31T18:29:59+00:00"
    page = preview(owner, REWARD, brand, header + "B,1,2026-03-31,2026-03-01\nC,1,1969-01-01,\nD,1,٢٠٢٦-01-01,\n")
    assert line_errors(page) == {
        2: "The reward must end after it starts.",
        3: "valid_from: Enter a date from 1970 to 2199.",
        4: "valid_from: Use the digits 0 to 9.",
    }


def test_stock_changed_since_the_preview_blocks_the_import(brand, owner):
    reward = factories.reward(brand, name="A", stock=5)
    page = preview(owner, REWARD, brand, "name,cost,stock\nA,7,5\n")
    Reward.objects.filter(pk=reward.pk).update(stock=4)

    response = confirm(owner, REWARD, ticket_of(page))

    assert (response.status_code, problem(response).startswith("The rows have changed")) == (400, True)
    assert Reward.objects.get().stock == 4


def test_database_constraint_is_reported_by_line(brand, owner):
    page = preview(owner, REWARD, brand, "name,cost,code_days\nA,1,36501\nB,1,36500\n")

    assert list(line_errors(page)) == [2]


# --- Earning rules


def test_earning_rules_are_validated_as_on_their_page(brand, owner):
    header = "kind,reward_type,reward_value,active\n"
    page = preview(owner, RULE, brand, header + "log-user-login,percentage,5,yes\nnothing,points,5,yes\n")

    assert line_errors(page)[2] == "Only orders and scans have an amount to take a percentage of."
    assert line_errors(page)[3].startswith("kind: Select a valid choice.")
    import_file(owner, RULE, brand, header + "order-complete,percentage,5,no\n")
    rule = EarningRule.objects.get(brand=brand)
    assert (rule.kind, rule.reward_type, rule.reward_value, rule.is_active) == (
        "order-complete",
        "percentage",
        5,
        False,
    )


def test_rule_activated_by_a_file_welcomes_no_earlier_members(brand, owner):
    """As on the rule's page: it pays from its activation on."""
    paused_at = timezone.now() - timedelta(days=2)
    rule = factories.earning_rule(brand, "member-welcome", 50, state="paused", state_changed_at=paused_at)
    factories.customer(brand)

    header = "name,kind,reward_value,state\n"
    import_file(owner, RULE, brand, f"{header}{rule.name},member-welcome,50,active\nLogin,log-user-login,5,active\n")

    rule.refresh_from_db()
    assert (rule.state, rule.state_changed_by, rule.state_changed_at > paused_at) == ("active", owner, True)
    assert welcome.publish_welcomes(at=timezone.now()) == 0
    login = EarningRule.objects.get(name="Login")
    assert login.state_changed_by == owner
    import_file(owner, RULE, brand, f"{header}Login,log-user-login,6,active\n")
    assert EarningRule.objects.get(name="Login").state_changed_at == login.state_changed_at
