"""Part of the page of levels: when levels end. Before saving, it previews how many members would lose their level."""

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from brands import audit_log
from brands.audit_log import AuditedChange
from brands.identity.roles import CHANGE, brand_scope
from brands.models.tenants import Brand
from core.errors import DomainError
from core.numbers import format_number
from loyalty.admin.levels.period_form import RULE_FIELDS, LevelPeriodForm
from loyalty.points.level_periods.preview import PeriodPreview, preview
from loyalty.points.level_periods.rules import LevelRule
from portal.base.audit_mixin import audit_context
from portal.base.tenant_admin import TenantAdmin
from portal.lists.local_time import day_text
from portal.shell.brand_links import brand_links, chosen_brand
from portal.unfold import action

BRAND = "brands.brand"


class LevelPeriods(TenantAdmin):
    """Anyone who may change the brand's settings may change when its levels end."""

    actions_list = ("periods",)

    def brands_to_change(self, request: HttpRequest) -> list[int]:
        scope = brand_scope(request.user, CHANGE, BRAND)
        return [brand.pk for brand in self.brands_seen(request) if brand.pk in scope]

    def has_periods_permission(self, request: HttpRequest) -> bool:
        return bool(self.brands_to_change(request))

    @action(description=gettext_lazy("When levels end"), url_path="periods", icon="event", permissions=["periods"])
    def periods(self, request: HttpRequest) -> HttpResponse:
        brand_ids = self.brands_to_change(request)
        if not brand_ids:
            raise PermissionDenied
        brands = Brand.objects.filter(pk__in=brand_ids).order_by("name", "pk")
        brand = chosen_brand(brands, request.POST.get("brand") or request.GET.get("brand", ""))
        saves = "save" in request.POST
        form = LevelPeriodForm(request.POST or None, brand=brand, reason_required=saves)
        sentences: list[str] = []
        result: PeriodPreview | None = None
        if request.method == "POST" and form.is_valid():
            if saves:
                return self.save_periods(request, brand, form)
            try:
                result = preview(brand=brand, rule=form.rule, at=timezone.now()) if form.rule else None
                sentences = sentences_of(form.rule, result)
            except DomainError as error:
                form.add_error(None, error.message)
        context = {
            "title": _("When levels end"),
            "form": form,
            "brands": brand_links(brands, brand, lambda each: f"{request.path}?brand={each.pk}"),
            "sentences": sentences,
            "levels": [
                (each.level, format_number(each.members), format_number(each.falling))
                for each in (result.levels if result else ())
            ],
        }
        return self.render_page(request, "admin/loyalty/level_periods.html", context)

    def save_periods(self, request: HttpRequest, brand: Brand, form: LevelPeriodForm) -> HttpResponse:
        with transaction.atomic():
            brand = Brand.objects.select_for_update(no_key=True).get(pk=brand.pk)
            before = Brand.objects.get(pk=brand.pk)
            for name, value in form.values.items():
                setattr(brand, name, value)
            brand.save(update_fields=RULE_FIELDS)
            changes = audit_log.changes(before, brand)
            if changes:
                audit_log.record(
                    audit_context=audit_context(request, form.cleaned_data["reason"]),
                    action=gettext_noop("Level periods changed"),
                    rows=[AuditedChange(brand, brand.pk, changes)],
                )
        self.message_user(request, _("Saved. Members' levels follow within minutes."))
        return redirect("admin:loyalty_brandlevel_changelist")


def sentences_of(rule: LevelRule | None, result: PeriodPreview | None) -> list[str]:
    """What the chosen rule would do, as sentences for the person who decides."""
    if rule is None or result is None:
        return [_("No level ends. All the points that a member ever earned count towards a level.")]
    today = rule.today(timezone.now())
    if result.members:
        count_sentence = _(
            "Members above the lowest level: %(members)s. With too few points from %(first)s to %(last)s to keep "
            "their level: %(falling)s. These members would have fallen."
        ) % {
            "members": format_number(result.members),
            "falling": format_number(result.falling),
            "first": day_text(result.first),
            "last": day_text(result.last),
        }
    else:
        count_sentence = _("No member is above the lowest level yet.")
    return [
        count_sentence,
        _("A level that is reached today stays until %(until)s.") % {"until": day_text(rule.last_day_of_level(today))},
        _("Members keep the level they have now for at least one whole period: nobody falls before %(day)s.")
        % {"day": day_text(result.falls_on)},
    ]
