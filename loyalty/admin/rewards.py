"""Page: a brand's catalogue of rewards, for points and from campaigns. The audit log records stock corrections too."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.tenants import pictures
from brands.tenants.pictures import EncodedPicture
from core.numbers import format_number
from loyalty.admin.resources import RewardResource
from loyalty.models.rewards import PoolCode, Reward
from loyalty.rewards import pools
from portal.base.badges import badge
from portal.base.sidebar import PROGRAMME, SidebarEntry
from portal.import_export.importable import ImportingAdmin
from portal.mixins.images import PictureAdminMixin, PictureForm
from portal.mixins.translations import TranslationsAdmin, translated_form
from portal.undo import switches
from portal.undo.switches import SwitchUndoMixin
from portal.unfold import display

MAX_MILESTONES = 20  # shown on a reward's page


class RewardForm(PictureForm):
    """Redemptions reduce the stock while the form is open, so an untouched stock field does not change it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "stock" in self.fields:
            self.fields["stock"].show_hidden_initial = True

    def encode(self, upload: bytes) -> EncodedPicture:
        return pictures.photograph(upload)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        initial_name = self.add_initial_prefix("stock")
        if self.instance.pk and initial_name in self.data and "stock" in self.changed_data:
            left = Reward.objects.select_for_update(no_key=True).get(pk=self.instance.pk).stock
            if left != self.fields["stock"].clean(self.data[initial_name]):
                self.check_stock(left)
        return cleaned

    def check_stock(self, left: int | None) -> None:
        """Report the current stock, which the user has not seen. Saving once more overwrites it."""
        now = _("unlimited") if left is None else left
        self.add_error("stock", _("The stock has changed in the meantime. It is now %(stock)s.") % {"stock": now})
        self.data = {**self.data.dict(), self.add_initial_prefix("stock"): left}  # type: ignore[attr-defined] # a QueryDict


SWITCH = switches.kind("loyalty.reward")


@admin.register(Reward)
class RewardAdmin(SwitchUndoMixin, ImportingAdmin, TranslationsAdmin, PictureAdminMixin):
    role_permissions: ClassVar = {"owner": "view add change delete", "manager": "view add change", "support": "view"}
    sidebar = SidebarEntry(PROGRAMME, 5, "featured_seasonal_and_gifts")
    resource = RewardResource
    form = translated_form(RewardForm, Reward)
    list_display = ("name", "price", "stock_left", "minimum_level", "is_active", "valid_from", "valid_until")
    list_filter = ("is_active",)
    list_select_related = ("minimum_level",)
    search_fields = ("name",)
    readonly_fields = ("codes_left", "won_in")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "brand",
                    "name",
                    "description",
                    "won_in",
                )
            },
        ),
        (gettext_lazy("Picture"), {"fields": ("current_picture", ("picture_file", "remove_picture"))}),
        (
            gettext_lazy("Stock and codes for bought and won rewards"),
            {"fields": (("stock", "code_days"), ("uses_pool", "codes_left"))},
        ),
        (
            gettext_lazy("Price and purchase terms"),
            {
                "fields": (
                    ("cost", "limit_per_member"),
                    ("minimum_level", "segment"),
                    "valid_from",
                    "valid_until",
                    "is_active",
                )
            },
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Annotates each reward with the number of available codes in its pool."""
        codes = PoolCode.objects.available(timezone.now()).filter(reward=OuterRef("pk")).order_by().values("reward")
        left = Subquery(codes.annotate(many=Count("pk")).values("many"))
        rows: QuerySet[Any] = super().get_queryset(request).annotate(left=Coalesce(left, 0))
        return rows

    @display(description=gettext_lazy("cost"), ordering="cost")
    def price(self, reward: Reward) -> str:
        return _("only won") if reward.cost is None else format_number(reward.cost)

    @display(description=gettext_lazy("won in"))
    def won_in(self, reward: Any) -> SafeString | str:
        """The campaigns whose milestones give it. Uses the reverse relation, because campaigns is a higher app."""
        if not reward.pk:
            return "—"
        rows = reward.milestones.select_related("campaign").order_by("-campaign_id", "threshold")[:MAX_MILESTONES]
        texts = ((_("%(campaign)s, at %(number)s") % {"campaign": it.campaign, "number": it.threshold},) for it in rows)
        return format_html_join("; ", "{}", texts) or _("No campaign gives this reward yet.")

    @display(description=gettext_lazy("stock"), ordering="stock")
    def stock_left(self, reward: Any) -> SafeString | str:
        if not reward.uses_pool:
            return _("Unlimited") if reward.stock is None else format_number(reward.stock)
        return self.codes_left(reward)

    @display(description=gettext_lazy("partner codes left"))
    def codes_left(self, reward: Any) -> SafeString | str:
        """The number of available codes. A pool that runs low is highlighted."""
        if not (reward.pk and reward.uses_pool):
            return "—"
        number = format_number(reward.left)
        if reward.left > pools.LOW:
            return number
        text = _("%(number)s left: import more") % {"number": number} if reward.left else _("None left: import more")
        return badge("warning" if reward.left else "danger", text)
