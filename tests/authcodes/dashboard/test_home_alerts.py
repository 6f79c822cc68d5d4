"""Home: its alerts, and the setup steps of a new brand."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from authcodes.recalls import recalls
from brands.models.tenants import Brand, BrandHostname
from jobs.models import Job
from loyalty.models.notifications import NotificationSettings
from loyalty.models.wallets import WalletIssuer
from loyalty.models.webhooks import WebhookEndpoint
from tests.authcodes.dashboard.dashboards import DAY, current_time, home, local, open_home
from tests.support import factories, portal

pytestmark = pytest.mark.django_db


def alert_texts(page: Any) -> list[str]:
    return [alert.text for alert in page.alerts]


# --- Alerts ----------------------------------------------------------------------------------------------------------


def test_brand_without_problems_has_no_alerts(brand: Brand) -> None:
    response = open_home(brand)

    assert response.context["home"].alerts == []
    assert "Nothing needs your attention." in portal.text(response)


def expiring_batch(brand: Brand) -> str:
    factories.batch(brand, range_name="Spring", quantity=5, expiration_date=local(current_time(), brand) + 3 * DAY)
    factories.batch(brand, range_name="Later", quantity=5, expiration_date=local(current_time(), brand) + 30 * DAY)
    return "Batch Spring with its 5 codes expires at the end of"


def low_stock(brand: Brand) -> str:
    factories.reward(brand, name="Mug", stock=2)
    factories.reward(brand, name="Bag", stock=500)
    factories.reward(brand, name="Cap", stock=0, is_active=False)
    return "Mug: 2 left in stock."


def expiring_certificate(brand: Brand) -> str:
    fields = {"brand": brand, "account": "TEAM", "private_key": "x"}
    WalletIssuer.objects.create(platform="apple", identifier="pass.soon", expires_at=current_time() + 9 * DAY, **fields)
    WalletIssuer.objects.create(platform="google", identifier="33", expires_at=current_time() + 90 * DAY, **fields)
    return "The wallet certificate apple: pass.soon expires on"


def failing_webhook(brand: Brand) -> str:
    fields = {"brand": brand, "url": "https://example.com/", "types": ["points.earned"]}
    WebhookEndpoint.objects.create(description="Shop", failing_since=current_time() - timedelta(hours=5), **fields)
    WebhookEndpoint.objects.create(description="Fine", **fields)
    return "Webhook Shop of"


def unreached_recall(brand: Brand) -> str:
    batch = factories.batch(brand, quantity=1)
    portal.scan(batch.codes.get(), user=factories.customer(brand))
    text = {"recall_id": "R-7", "contact": "x@example.com", "message": "Bring it back.", "reason": "Found."}
    recalls.recall_batch(batch=batch, at=current_time(), **text)
    return "Recall R-7: customers who scanned its codes have not been notified."


def dead_event(brand: Brand) -> str:
    portal.event(brand, status="dead")
    return f"1 event of {brand} failed permanently."


def ending_campaign(brand: Brand) -> str:
    factories.campaign(brand, campaign_name="Three bags", ends_at=current_time() + 2 * DAY)
    factories.campaign(brand, campaign_name="Long", ends_at=current_time() + 9 * DAY)
    return "Campaign Three bags ends on"


PROBLEMS = [
    expiring_batch,
    low_stock,
    expiring_certificate,
    failing_webhook,
    unreached_recall,
    dead_event,
    ending_campaign,
]


@pytest.mark.parametrize("create_problem", PROBLEMS)
def test_problem_gives_an_alert_with_a_link_only_in_its_brand(brand: Brand, create_problem: Any) -> None:
    other = factories.brand()
    expected_text = create_problem(brand)

    [alert] = home(brand).alerts

    assert expected_text in alert.text
    assert portal.browser(portal.staff(brand)).get(alert.link).status_code == 200
    assert alert_texts(home(other)) == []


@pytest.mark.parametrize("create_problem", [expiring_certificate, failing_webhook, dead_event])
def test_roles_without_permission_for_the_rows_see_no_alert(brand: Brand, create_problem: Any) -> None:
    create_problem(brand)

    assert alert_texts(home(brand, "support")) == []


def test_recall_whose_customers_are_being_notified_gives_no_alert(brand: Brand) -> None:
    unreached_recall(brand)
    recall = brand.recalls.get()
    Job.objects.create(brand=brand, kind="notify-recall", title="Notify", parameters={"recall": recall.pk})

    assert alert_texts(home(brand)) == []


# --- A new brand -----------------------------------------------------------------------------------------------------


def test_only_operators_are_sent_to_the_page_that_enters_a_hostname() -> None:
    brand = factories.brand(hostname="")
    BrandHostname.objects.filter(brand=brand).delete()
    factories.batch(brand)
    users = portal.staff(is_superuser=True), portal.staff(brand)
    page_address = portal.address("brands.brand", "change", brand.pk)

    pages = [portal.text(portal.browser(user).get(reverse("admin:index"))) for user in users]

    assert ["QR codes need the brand's web address." in each for each in pages] == [True, True]
    assert [f'<a href="{page_address}">Enter a hostname</a>' in each for each in pages] == [True, False]
    assert ["Ask the operator to enter a hostname." in each for each in pages] == [False, True]


def test_setup_steps_of_a_new_brand_disappear_when_all_are_done() -> None:
    brand = factories.brand(hostname="")
    BrandHostname.objects.filter(brand=brand).delete()
    client = portal.browser(portal.staff(brand))

    def setup() -> Any:
        return client.get(reverse("admin:index")).context["home"].setup

    assert (setup().done, len(setup().steps), setup().test_scan) == (0, 8, None)
    factories.level(brand)
    factories.product(brand)
    batch = factories.batch(brand, quantity=3, prefix="NEW-")
    assert [step.title for step in setup().steps if step.is_done] == [
        "Create the first level",
        "Create a product",
        "Create a batch",
    ]
    assert setup().needs_address
    BrandHostname.objects.create(brand=brand, hostname="new.example.com", is_primary=True)
    last = batch.codes.order_by("code").last()
    assert setup().test_scan.code == last.code
    assert setup().test_scan.link.endswith(f"//new.example.com/s/{last.code}")
    portal.scan(last)
    assert setup().test_scan is None
    factories.reward(brand)
    NotificationSettings.objects.create(brand=brand)
    portal.staff(brand, role="support")
    Brand.objects.filter(pk=brand.pk).update(colour_accent="#123456")
    assert setup() is None


def test_test_scan_offers_only_codes_that_can_be_scanned(brand: Brand) -> None:
    BrandHostname.objects.get_or_create(brand=brand, hostname="shop.example.com")
    factories.expired_code(brand)
    factories.batch(brand, quantity=2, assigned=False)
    deactivated = factories.batch(brand, quantity=1)
    deactivated.codes.update(deactivated_at=current_time())

    assert home(brand).setup.test_scan is None
