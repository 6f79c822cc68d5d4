"""Earning rules, and actions that earn by them, for the tests of several folders."""

from django.utils import timezone

from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from loyalty.models.ledger import LoyaltyTransaction
from tests.campaigns.accrual.test_handlers import report
from tests.support import factories


def record_scan(customer, code):
    """Record a scan, which waits for its points."""
    context = ScanContext(at=timezone.now(), user_id=customer.pk, brand_id=code.brand_id)
    scanning.scan(scanned=code.code, context=context)


def row(field, operator, value):
    return {"field": field, "operator": operator, "value": value}


def rule(brand, kind="scan-auth", value=2, effect="multiplier", *, all_of=(), **fields):
    defaults = {"name": f"{effect} {value}", "without_end": True, "conditions": {"all": list(all_of)} if all_of else {}}
    return factories.earning_rule(brand, kind, value, effect, **{**defaults, **fields})


def limit(per="member", what="points", period="ever", most=5, **extra):
    return {"per": per, "what": what, "period": period, "most": most, **extra}


def scan(brand, customer, **product):
    """The points that the customer earned by scanning a new code."""
    fields = {"sku": f"S{timezone.now().timestamp()}", "title": "Serum", **product}
    new_product = factories.product(brand, **fields)
    code = factories.code(brand, product=new_product)
    payload = {"type": "authenticator_scan", "product": {"authCode": code.code}}
    return report(brand, customer, "scan-auth", payload).outcome["points_earned"]


def order(number, *items, subtotal=100, **fields):
    return {"type": "order", "order": {"orderId": number, "subtotal": str(subtotal), "items": list(items), **fields}}


def earned():
    return list(LoyaltyTransaction.objects.order_by("pk").values_list("points_earned", flat=True))
