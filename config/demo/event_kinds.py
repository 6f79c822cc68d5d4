"""The demo brands' own kind of event."""

from brands.models.tenants import Brand
from campaigns.models.event_kinds import EventKind, EventKindField

NAME, TITLE = "store-visit", "Store visit"


def build(brand: Brand) -> None:
    """Create an own kind, for which staff can make a rule."""
    kind = EventKind.objects.create(brand=brand, name=NAME, title=TITLE)
    EventKindField.objects.create(
        kind=kind,
        name="store",
        label="Store",
        type=EventKindField.Type.OPTION,
        required=True,
        options=["Berlin", "Hamburg"],
    )
    EventKindField.objects.create(kind=kind, name="minutes", label="Minutes", type=EventKindField.Type.WHOLE)
