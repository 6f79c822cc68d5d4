"""What is held about a person, handed out whole."""

import json
import tracemalloc

from django.utils import timezone

from authcodes import persons as persons_of_scans
from loyalty import events, persons, webhook_endpoints
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

    data = json.loads(response.content)["data"]
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

    response = api.as_customer(customer).get("customer/data")

    assert b"secret" not in response.content


def test_much_is_written_in_bounded_memory(brand, customer, tmp_path):
    """54 MB of it took 1.3 GB with four calls."""
    rows = ({"auth_code": f"X-{number:08}", "location": "y" * 200} for number in range(100_000))
    tracemalloc.start()
    with (tmp_path / "export.json").open("wb") as file:
        for part in persons.as_json({"scans": rows, "none": iter(()), "account": None}):
            file.write(part.encode())
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 2_000_000
    found = json.loads((tmp_path / "export.json").read_text())
    assert (len(found["scans"]), found["none"], found["account"]) == (100_000, [], None)


def test_scans_are_read_a_few_at_a_time(brand, customer):
    held = persons_of_scans.export(customer.pk, brand.pk)

    assert not isinstance(held, list)
    assert list(held) == []
