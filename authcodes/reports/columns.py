"""Columns of reports about codes and scans, and which customers a report may name."""

from django.db import models
from django.db.models import Case, DateField, Exists, F, Func, OuterRef, Q, Value, When
from django.db.models.functions import Cast, Now

from authcodes.models.codes import codes_recalled
from core.spreadsheets.report import Column, Report
from loyalty.models.accounts import UserPoints

# A brand's code may have been scanned in another brand's app; then the customer is hidden from the first brand.
CUSTOMER_IS_OURS = Q(user__registered_brand=F("brand")) | Exists(
    UserPoints.objects.filter(user=OuterRef("user"), brand=OuterRef("brand"))
)


CUSTOMER_EMAIL = Case(When(CUSTOMER_IS_OURS, then=F("user__email")))
BRANDS_DAY = Cast(
    Func(F("brand__time_zone"), Now(), function="timezone", output_field=models.DateTimeField()), DateField()
)
# The status that matters most to a customer who scans the code, worded like the filter of the lists.
STATUS = Case(
    When(codes_recalled(), then=Value("Recalled")),
    When(deactivated_at__isnull=False, then=Value("Deactivated")),
    When(batch__expiration_date__lt=BRANDS_DAY, then=Value("Expired")),
    When(product__isnull=True, then=Value("Not assigned")),
    When(scan_count__gt=0, then=Value("Scanned")),
    default=Value("Unscanned"),
)
SCANS = Report(
    "scans",
    {
        "auth_code": (Column.TEXT, F("code")),
        "product": (Column.TEXT, F("product__title")),
        "scan_date": (Column.MOMENT, F("scanned_at")),
        "customer_email": (Column.TEXT, CUSTOMER_EMAIL),
        "location": (Column.TEXT, F("location")),
        "points_awarded": (Column.NUMBER, F("points_awarded")),
    },
)
UNSCANNED = Report(
    "unscanned-codes",
    {
        "auth_code": (Column.TEXT, F("code")),
        "product": (Column.TEXT, F("product__title")),
        "created_date": (Column.MOMENT, F("created_at")),
        "expiration_date": (Column.DAY, F("batch__expiration_date")),
        "status": (Column.TEXT, STATUS),
    },
)
