"""What is held about a person, handed out whole."""

from django.utils import timezone

from loyalty import events, webhook_endpoints
from tests import make


def test_customer_reads_everything_held_about_them_here(api, brand, customer, deliver):
    mine = api.as_customer(customer)
    webhook_endpoints.create(brand=brand, url="https://shop.example/hook", types=["code.scanned"], at=timezone.now())
    make.points(customer, brand, 30)
    make.redemption(customer, make.reward(brand, name="A mug"))
    mine.verify(make.code(brand), latitude=46.9, longitude=7.4)
    deliver()
    events.drain_slow(lane="announce")

    response = mine.get("customer/data")

    data = response.json()["data"]
    assert response["Cache-Control"] == "no-store"
    assert data["loyalty"]["person"]["email"] == customer.email
    assert len(data["loyalty"]["transactions"]) == 3
    assert [each["name"] for each in data["loyalty"]["redemptions"]] == ["A mug"]
    assert [each["latitude"] for each in data["scans"]] == [46.9]
    assert [(told["type"], told["data"]["latitude"]) for told in data["webhooks"]] == [("code.scanned", 46.9)]
    assert "notices" in data


def test_nothing_of_other_people_or_brands_is_in_it(api, brand, customer):
    other, neighbour = make.brand(name="Elsewhere"), make.customer(brand)
    make.members.enrol(user_id=customer.pk, brand_id=other.pk, at=customer.date_joined)
    make.points(customer, other, 70, reason_id="secret:1")
    make.points(neighbour, brand, 7, reason_id="secret:2")

    assert "secret" not in api.as_customer(customer).get("customer/data").content.decode()
