"""A new brand notifies its customers without any further settings."""

from importlib import import_module

from django.urls import reverse

from brands.models.tenants import Brand
from events import worker
from events.models import Event
from loyalty.models.notifications import Notification, NotificationSettings
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text


def test_brand_created_in_the_portal_has_active_settings(db):
    operator = browser(factories.user(is_staff=True, is_superuser=True))
    page = operator.get(address("brands.brand", "add"))
    form_data = {name: value for name, value in form_of(page).items() if value is not None}
    form_data |= {"name": "Fir", "slug": "fir", "time_zone": "UTC", "support_email": "help@fir.example"}

    answer = operator.post(address("brands.brand", "add"), form_data)

    assert answer.status_code == 302
    own_settings = NotificationSettings.objects.get(brand__slug="fir")
    assert (own_settings.is_active, own_settings.email_on) == (True, True)


def test_points_at_a_new_brand_are_notified(api, brand, customer, deliver_events):
    import_module("loyalty.notifications.defaults").create(brand)
    api.as_customer(customer).verify(factories.code(brand))
    deliver_events()
    worker.drain(lane="notices")

    assert Event.objects.get(detail_type="notify").status == "done"
    assert Notification.objects.filter(brand=brand, user=customer).exists()


def test_front_page_warns_that_a_brand_sends_no_notifications(brand):
    factories.batch(brand, assigned=False)
    factories.product(brand)
    owner = browser(staff(brand))
    assert Brand.objects.count() == 1

    def has_warning():
        return "Customers are notified only about recalls" in text(owner.get(reverse("admin:index")))

    assert has_warning()
    NotificationSettings.objects.create(brand=brand)
    assert not has_warning()
