"""Import and export of levels, rewards and notification templates."""

from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _

from loyalty.admin.ceiling_resource import CeilingResource
from loyalty.models.levels import BrandLevel
from loyalty.models.notifications import NotificationTemplate
from loyalty.models.rewards import Reward
from loyalty.notifications import catalogue
from portal.import_export.cells import column
from portal.import_export.plans import PlannedRow
from portal.import_export.resource import TenantResource

REWARD_TYPES = _("points or percentage.")
MOMENT = _("Such as 2026-12-31 18:00, in the brand's time zone.")


class LevelResource(CeilingResource):
    """Levels by name. A name therefore never changes."""

    name = column(BrandLevel, "name")
    threshold = column(BrandLevel, "threshold")
    scan_reward_type = column(BrandLevel, "scan_reward_type")
    scan_reward_value = column(BrandLevel, "scan_reward_value")
    benefits = column(BrandLevel, "benefits")

    required = ("threshold",)
    points_field = "scan_reward_value"
    reward_type_field = "scan_reward_type"
    example: ClassVar[dict[str, str]] = {
        "name": "Gold",
        "threshold": "1000",
        "scan_reward_type": "points",
        "scan_reward_value": "5",
        "benefits": "Free shipping",
    }
    notes: ClassVar[dict[str, Any]] = {
        "name": _("Required. The name of the level to change. A new name creates a level."),
        "threshold": _("Required. Lifetime points needed to reach this level."),
        "scan_reward_type": REWARD_TYPES,
        "scan_reward_value": _("What a scan earns, such as 5."),
        "benefits": _("What members of the level get, one benefit per line."),
    }

    class Meta:
        model = BrandLevel
        import_id_fields = ("name",)


class RewardResource(TenantResource):
    """Rewards by id, or by a name that is unique."""

    name = column(Reward, "name")
    description = column(Reward, "description")
    cost = column(Reward, "cost")
    stock = column(Reward, "stock")
    limit_per_member = column(Reward, "limit_per_member")
    minimum_level = column(Reward, "minimum_level", reference="name")
    segment = column(Reward, "segment", reference="name")
    valid_from = column(Reward, "valid_from")
    valid_until = column(Reward, "valid_until")
    code_days = column(Reward, "code_days")
    active = column(Reward, "is_active", "active")
    partner_codes = column(Reward, "uses_pool", "partner_codes")

    has_id = True
    required = ("cost",)
    related = ("minimum_level", "segment")
    example: ClassVar[dict[str, str]] = {
        "id": "",
        "name": "Free coffee",
        "description": "One cup of any size.",
        "cost": "100",
        "stock": "500",
        "limit_per_member": "1",
        "minimum_level": "",
        "segment": "",
        "valid_from": "2026-01-01 00:00",
        "valid_until": "2026-12-31 23:59:59",
        "code_days": "90",
        "active": "yes",
        "partner_codes": "no",
    }
    notes: ClassVar[dict[str, Any]] = {
        "name": _("Required. If the id is empty, the name of the reward to change. A new name creates a reward."),
        "cost": _("In points. Leave the cell empty for a reward that is only won in campaigns."),
        "stock": _("Leave empty for unlimited stock."),
        "limit_per_member": _("Leave empty for no limit."),
        "minimum_level": _("The name of a level. Leave empty for all members."),
        "segment": _("The name of a segment. Leave empty for all members."),
        "valid_from": MOMENT,
        "valid_until": MOMENT,
        "code_days": _("Days until an unused code expires. Leave empty for no expiry."),
        "active": _("yes or no."),
        "partner_codes": _("yes or no. For yes, leave the stock empty: the codes left in the pool are the stock."),
    }

    class Meta:
        model = Reward
        import_id_fields = ("name",)


class NotificationTemplateResource(TenantResource):
    """A brand's notification texts by notification, channel and language, which never change."""

    template = column(NotificationTemplate, "template")
    channel = column(NotificationTemplate, "channel")
    language = column(NotificationTemplate, "language")
    subject = column(NotificationTemplate, "subject")
    body = column(NotificationTemplate, "body")

    required = ("body",)
    example: ClassVar[dict[str, str]] = {
        "template": "NOTIFY_LEVEL_REACHED",
        "channel": "push",
        "language": "en",
        "subject": "Well done!",
        "body": "You have reached {level_name}.",
    }
    notes: ClassVar[dict[str, Any]] = {
        "template": _("Required. Such as NOTIFY_LEVEL_REACHED; the page of a text lists all of them."),
        "channel": _("Required. email, sms or push."),
        "language": _("Required. en, de or ar."),
        "subject": _("Subject of an e-mail or title of a push message. An SMS has none."),
        "body": _("Required. The text with its {names}."),
    }

    class Meta:
        model = NotificationTemplate
        import_id_fields = ("template", "channel", "language")

    def import_more(self, planned: PlannedRow, row: dict[str, str]) -> None:
        """Applies the rules of the text's page."""
        super().import_more(planned, row)
        it = planned.instance
        if not planned.errors and planned.changes:
            for field, problem in catalogue.text_problems(
                it.template, it.channel, {"subject": it.subject, "body": it.body}
            ):
                planned.add_error(field, problem)
