"""The brand's codes and scans over HTTP."""

from authcodes.models.scans import Scan
from tests.support import factories


def test_scans_do_not_name_customers_of_other_brands(api, brand, customer):
    code, other_brand = factories.code(brand, scan_limit=None), factories.brand()
    api.as_customer(customer).verify(code)
    api.as_customer(factories.customer(other_brand), brand=other_brand).verify(code)
    own, foreign = Scan.objects.order_by("scanned_at")
    assert (own.reason, foreign.reason) == ("accepted", "other_brand")

    listed = {row["scan_id"]: row["user_id"] for row in api.hub().get("brand/scans").json()["data"]}
    single = {
        str(scan.pk): api.hub().get(f"brand/scans/{scan.pk}").json()["data"]["user_id"] for scan in (own, foreign)
    }

    assert listed == single == {str(own.pk): customer.pk, str(foreign.pk): None}
