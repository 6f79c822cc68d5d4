"""Import and export of levels, rewards and notification templates."""

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

    name = column(
        BrandLevel, "name", "Gold", _("Required. The name of the level to change. A new name creates a level.")
    )
    threshold = column(BrandLevel, "threshold", "1000", _("Required. Lifetime points needed to reach this level."))
    scan_reward_type = column(BrandLevel, "scan_reward_type", "points", REWARD_TYPES)
    scan_reward_value = column(BrandLevel, "scan_reward_value", "5", _("What a scan earns, such as 5."))
    benefits = column(
        BrandLevel, "benefits", "Free shipping", _("What members of the level get, one benefit per line.")
    )

    required = ("threshold",)
    points_field = "scan_reward_value"
    reward_type_field = "scan_reward_type"

    class Meta:
        model = BrandLevel
        import_id_fields = ("name",)


class RewardResource(TenantResource):
    """Rewards by id, or by a name that is unique."""

    name = column(
        Reward,
        "name",
        "Free coffee",
        _("Required. If the id is empty, the name of the reward to change. A new name creates a reward."),
    )
    description = column(Reward, "description", "One cup of any size.")
    cost = column(
        Reward, "cost", "100", _("In points. Leave the cell empty for a reward that is only won in campaigns.")
    )
    stock = column(Reward, "stock", "500", _("Leave empty for unlimited stock."))
    limit_per_member = column(Reward, "limit_per_member", "1", _("Leave empty for no limit."))
    minimum_level = column(
        Reward, "minimum_level", note=_("The name of a level. Leave empty for all members."), reference="name"
    )
    segment = column(Reward, "segment", note=_("The name of a segment. Leave empty for all members."), reference="name")
    valid_from = column(Reward, "valid_from", "2026-01-01 00:00", MOMENT)
    valid_until = column(Reward, "valid_until", "2026-12-31 23:59:59", MOMENT)
    code_days = column(Reward, "code_days", "90", _("Days until an unused code expires. Leave empty for no expiry."))
    active = column(Reward, "is_active", "yes", _("yes or no."), column_name="active")
    partner_codes = column(
        Reward,
        "uses_pool",
        "no",
        _("yes or no. For yes, leave the stock empty: the codes left in the pool are the stock."),
        column_name="partner_codes",
    )

    has_id = True
    required = ("cost",)
    related = ("minimum_level", "segment")

    class Meta:
        model = Reward
        import_id_fields = ("name",)


class NotificationTemplateResource(TenantResource):
    """A brand's notification texts by notification, channel and language, which never change."""

    template = column(
        NotificationTemplate,
        "template",
        "NOTIFY_LEVEL_REACHED",
        _("Required. Such as NOTIFY_LEVEL_REACHED; the page of a text lists all of them."),
    )
    channel = column(NotificationTemplate, "channel", "push", _("Required. email, sms or push."))
    language = column(NotificationTemplate, "language", "en", _("Required. en, de or ar."))
    subject = column(
        NotificationTemplate,
        "subject",
        "Well done!",
        _("Subject of an e-mail or title of a push message. An SMS has none."),
    )
    body = column(
        NotificationTemplate, "body", "You have reached {level_name}.", _("Required. The text with its {names}.")
    )

    required = ("body",)

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
