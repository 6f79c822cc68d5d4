"""Brand files: a small one, and helpers that apply a file and read what it may change."""

from brands.models.tenants import Brand
from campaigns.models.campaigns import Milestone
from config.brand_files import applying, reading, sections
from loyalty.models.notifications import NotificationSettings

REASON = "A test"
SMALL = b"format: 1\ncampaigns:\n  - campaign_name: Five\n    target_value: 5\n"


def apply(brand, content, **options):
    content = content.encode() if isinstance(content, str) else content
    return applying.apply(brand, reading.read(content), reason=REASON, **options)


def rows(brand):
    """Everything that a file could change, with ids."""
    tables = [list(Brand.objects.filter(pk=brand.pk).values()), list(NotificationSettings.objects.values())]
    models = [section.model for section in sections.SECTIONS if isinstance(section, sections.ListSection)]
    tables += [list(model.objects.filter(brand=brand).order_by("pk").values()) for model in models]
    return [*tables, list(Milestone.objects.filter(campaign__brand=brand).order_by("pk").values())]
