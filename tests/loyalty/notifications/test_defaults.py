"""A brand writes to its customers from its first day, without anybody making settings."""

from importlib import import_module

from django.urls import reverse

from brands.models.tenants import Brand
from events import worker
from events.models import Event
from loyalty.models.notifications import Notification, NotificationSettings
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text


def test_brand_made_in_the_portal_has_settings_that_send(db):
    operator = browser(factories.user(is_staff=True, is_superuser=True))
    page = operator.get(address("brands.brand", "add"))
    sent = {name: value for name, value in form_of(page).items() if value is not None}
    sent |= {"name": "Fir", "slug": "fir", "time_zone": "UTC", "support_email": "help@fir.example"}

    answer = operator.post(address("brands.brand", "add"), sent)

    assert answer.status_code == 302
    own = NotificationSettings.objects.get(brand__slug="fir")
    assert (own.is_active, own.email_on) == (True, True)


def test_points_of_a_new_brands_customer_become_a_notice(api, brand, customer, deliver):
    import_module("loyalty.notifications.defaults").create(brand)
    api.as_customer(customer).verify(factories.code(brand))
    deliver()
    worker.drain(lane="notices")

    assert Event.objects.get(detail_type="notify").status == "done"
    assert Notification.objects.filter(brand=brand, user=customer).exists()


def test_front_page_says_that_a_brand_sends_nothing(brand):
    factories.batch(brand, assigned=False)
    factories.product(brand)
    owner = browser(staff(brand))
    assert Brand.objects.count() == 1

    def says_so():
        return "Customers are notified only about recalls" in text(owner.get(reverse("admin:index")))

    assert says_so()
    NotificationSettings.objects.create(brand=brand)
    assert not says_so()
