"""Home: what needs somebody, and a new brand's steps."""

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
from tests.authcodes.dashboard.dashboards import DAY, NOW, home, local, opened
from tests.support import factories, portal

pytestmark = pytest.mark.django_db


def alerts(page: Any) -> list[str]:
    return [alert.text for alert in page.alerts]


# --- What needs somebody ---------------------------------------------------------------------------------------------


def test_a_calm_brand_needs_nobody(brand: Brand) -> None:
    response = opened(brand)

    assert response.context["home"].alerts == []
    assert "Nothing needs your attention." in portal.text(response)


def expiring(brand: Brand) -> str:
    factories.batch(brand, range_name="Spring", quantity=5, expiration_date=local(NOW(), brand) + 3 * DAY)
    factories.batch(brand, range_name="Later", quantity=5, expiration_date=local(NOW(), brand) + 30 * DAY)
    return "Batch Spring with its 5 codes expires at the end of"


def short_of_stock(brand: Brand) -> str:
    factories.reward(brand, name="Mug", stock=2)
    factories.reward(brand, name="Bag", stock=500)
    factories.reward(brand, name="Cap", stock=0, is_active=False)
    return "Mug: 2 left in stock."


def certificate(brand: Brand) -> str:
    fields = {"brand": brand, "account": "TEAM", "private_key": "x"}
    WalletIssuer.objects.create(platform="apple", identifier="pass.soon", expires_at=NOW() + 9 * DAY, **fields)
    WalletIssuer.objects.create(platform="google", identifier="33", expires_at=NOW() + 90 * DAY, **fields)
    return "The wallet certificate apple: pass.soon expires on"


def failing_webhook(brand: Brand) -> str:
    fields = {"brand": brand, "url": "https://example.com/", "types": ["points.earned"]}
    WebhookEndpoint.objects.create(description="Shop", failing_since=NOW() - timedelta(hours=5), **fields)
    WebhookEndpoint.objects.create(description="Fine", **fields)
    return "Webhook Shop of"


def unreached_recall(brand: Brand) -> str:
    batch = factories.batch(brand, quantity=1)
    portal.scan(batch.codes.get(), user=factories.customer(brand))
    text = {"recall_id": "R-7", "contact": "x@example.com", "message": "Bring it back.", "reason": "Found."}
    recalls.recall_batch(batch=batch, at=NOW(), **text)
    return "Recall R-7: customers who scanned its codes have not been notified."


def dead_event(brand: Brand) -> str:
    portal.event(brand, status="dead")
    return f"1 event of {brand} failed permanently."


def ending_campaign(brand: Brand) -> str:
    factories.campaign(brand, campaign_name="Three bags", ends_at=NOW() + 2 * DAY)
    factories.campaign(brand, campaign_name="Long", ends_at=NOW() + 9 * DAY)
    return "Campaign Three bags ends on"


NEEDS = [expiring, short_of_stock, certificate, failing_webhook, unreached_recall, dead_event, ending_campaign]


@pytest.mark.parametrize("need", NEEDS)
def test_what_needs_somebody_is_named_with_where_it_is_settled(brand: Brand, need: Any) -> None:
    other = factories.brand()
    text = need(brand)

    [alert] = home(brand).alerts

    assert text in alert.text
    assert portal.browser(portal.staff(brand)).get(alert.link).status_code == 200
    assert alerts(home(other)) == []


@pytest.mark.parametrize("need", [certificate, failing_webhook, dead_event])
def test_who_may_not_see_the_rows_is_not_told_of_them(brand: Brand, need: Any) -> None:
    need(brand)

    assert alerts(home(brand, "support")) == []


def test_a_recall_whose_customers_are_notified_needs_nobody(brand: Brand) -> None:
    unreached_recall(brand)
    recall = brand.recalls.get()
    Job.objects.create(brand=brand, kind="notify-recall", title="Notify", parameters={"recall": recall.pk})

    assert alerts(home(brand)) == []


# --- A new brand -----------------------------------------------------------------------------------------------------


def test_the_steps_of_a_new_brand_end_with_a_scan_by_ones_own_phone() -> None:
    brand = factories.brand(hostname="")
    BrandHostname.objects.filter(brand=brand).delete()
    client = portal.browser(portal.staff(brand))

    def going() -> Any:
        return client.get(reverse("admin:index")).context["home"].setup

    assert (going().done, len(going().steps), going().test_scan) == (0, 8, None)
    factories.level(brand)
    factories.product(brand)
    batch = factories.batch(brand, quantity=3, prefix="NEW-")
    assert [step.title for step in going().steps if step.is_done] == [
        "Create the first level",
        "Create a product",
        "Create a batch",
    ]
    assert going().needs_address
    BrandHostname.objects.create(brand=brand, hostname="new.example.com", is_primary=True)
    last = batch.codes.order_by("code").last()
    assert going().test_scan.code == last.code
    assert going().test_scan.link.endswith(f"//new.example.com/s/{last.code}")
    portal.scan(last)
    assert going().test_scan is None
    factories.reward(brand)
    NotificationSettings.objects.create(brand=brand)
    portal.staff(brand, role="support")
    Brand.objects.filter(pk=brand.pk).update(colour_accent="#123456")
    assert going() is None


def test_the_test_scan_offers_no_code_that_would_not_scan(brand: Brand) -> None:
    BrandHostname.objects.get_or_create(brand=brand, hostname="shop.example.com")
    factories.expired_code(brand)
    factories.batch(brand, quantity=2, assigned=False)
    deactivated = factories.batch(brand, quantity=1)
    deactivated.codes.update(deactivated_at=NOW())

    assert home(brand).setup.test_scan is None
