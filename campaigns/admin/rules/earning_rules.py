"""Page: the builder of earning rules, with a test bench next to it, and the states of a rule."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.forms.widgets import Script
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.identity.roles import ADD, CHANGE
from campaigns.admin.campaign_templates import CAMPAIGN_TEMPLATES
from campaigns.admin.form_pages import FormPages
from campaigns.admin.replays.replays import RuleReplays
from campaigns.admin.rules import rule_try_out, value_choices
from campaigns.admin.rules.earning_rule_resource import EarningRuleResource
from campaigns.admin.rules.rule_form import EarningRuleForm
from campaigns.admin.rules.rule_states import COLOURS, TEXTS, RuleStates
from campaigns.earning import choices, limits, sentences
from campaigns.earning.limits import Limit, LimitsError
from campaigns.intake import own_kinds
from campaigns.models.earning_rules import EarningRule
from core.errors import Invalid
from loyalty.admin.ceiling import CeilingAdmin
from loyalty.models.accounts import UserPoints
from portal.base.badges import badge
from portal.base.fieldsets import fieldsets_without
from portal.base.sidebar import PROGRAMME, SidebarEntry
from portal.base.tenant_scope import staff_user
from portal.import_export.importable import ImportingAdmin
from portal.lists import local_time
from portal.lists.filters import BrandsValuesFilter
from portal.lists.number_columns import format_points, format_times
from portal.mixins.translations import TranslationsAdmin, translated_form
from portal.unfold import ChoicesFilter, display

State = EarningRule.State


class KindFilter(BrandsValuesFilter):
    """The service's kinds of actions, and those that the user's brands have registered."""

    title = gettext_lazy("when")
    parameter_name = "kind__exact"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        texts = {value: str(label) for value, label in EarningRule.Kind.choices}
        return [(name, texts.get(name, name)) for name in self.values()]

    def values(self) -> list[str]:
        return [*EarningRule.Kind.values, *own_kinds.names(self.brand_ids)]


@admin.register(EarningRule)
class EarningRuleAdmin(RuleStates, RuleReplays, FormPages, ImportingAdmin, TranslationsAdmin, CeilingAdmin):
    role_permissions: ClassVar = {
        "owner": "view add change delete",
        "manager": "view add change delete",
        "support": "view",
    }
    sidebar = SidebarEntry(PROGRAMME, 4, "calculate")
    resource = EarningRuleResource
    form = translated_form(EarningRuleForm, EarningRule)
    points_fields = ("reward_value",)
    reward_type_field = "reward_type"
    list_display = ("name", "kind_now", "reward_type", "reward_value", "state_now", "budget_now")
    list_filter = (KindFilter, ("state", ChoicesFilter))
    list_select_related = ("budget_use",)
    search_fields = ("name",)
    readonly_fields = ("state_now", "state_changed", "budget_now", "reads_back")
    actions_detail = ("activate", "pause", "end", "duplicate", "replay")
    change_form_outer_after_template = "admin/campaigns/rule_try_out.html"
    fieldsets = (
        (None, {"fields": ("brand", ("name", "kind"), "reads_back")}),
        (gettext_lazy("Conditions"), {"fields": ("conditions",)}),
        (
            gettext_lazy("What it gives"),
            {"fields": (("reward_type", "reward_value"), ("per", "basis"), "limits")},
        ),
        (gettext_lazy("When"), {"fields": ("starts_at", "ends_at", "without_end")}),
        (gettext_lazy("Together with other rules"), {"fields": (("stacking", "group"), "priority")}),
        (gettext_lazy("State"), {"fields": (("state_now", "state_changed"), "budget_now")}),
    )

    class Media:
        css: ClassVar = {"all": ("campaigns/rule_builder.css",)}
        js = (Script("campaigns/rule_builder.js", type="module"),)

    def own_views(self) -> dict[str, Any]:
        views = {"read": ("read/", self.read), "try": ("try/", self.tried), "choices": ("choices/", self.offered)}
        return {**views, **super().own_views()}

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """The sentence is a field for users who may only view; editors have it next to the form."""
        result = super().get_fieldsets(request, obj)
        may = self.has_change_permission(request, obj) if obj else True
        hidden = {"reads_back"} if may else {"conditions", "limits"}
        return fieldsets_without(result, hidden)

    # --- Columns

    @display(description=gettext_lazy("when"), ordering="kind")
    def kind_now(self, rule: EarningRule) -> str:
        return str(rule.get_kind_display())

    @display(description=gettext_lazy("state"), ordering="state")
    def state_now(self, rule: EarningRule) -> SafeString:
        state = rule.state_at(timezone.now()) if rule.pk else State.DRAFT.value
        return badge(COLOURS[state], TEXTS[state])

    @display(description=gettext_lazy("since"))
    def state_changed(self, rule: EarningRule) -> str:
        if not rule.pk:
            return "-"
        at = local_time.moment_text(rule.state_changed_at, timezone.get_current_timezone())
        return f"{at} · {rule.state_changed_by.get_full_name()}" if rule.state_changed_by else at

    @display(description=gettext_lazy("given so far"))
    def budget_now(self, rule: EarningRule) -> SafeString | str:
        """What a rule with a budget has given so far; a badge if nothing is left."""
        own = budget_limits(rule)
        if not rule.pk or not own:
            return "-"
        used = rule.budget_use
        if any((used.events if each.counts_events else used.points) >= each.amount for each in own):
            return badge("danger", _("Out of budget"))
        amounts = {"points": format_points(used.points), "times": format_times(used.events)}
        return _("%(points)s, %(times)s") % amounts

    @display(description=gettext_lazy("the rule"))
    def reads_back(self, rule: EarningRule) -> str:
        return sentences.readable(rule) if rule.pk else "-"

    def form_context(self, request: HttpRequest, row: EarningRule | None) -> dict[str, Any]:
        return {**self.try_out_of(request, row), **self.latest_replay_of(row, request.user)}

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A campaign template that is a rule fills the form."""
        initial = super().get_changeform_initial_data(request)
        template = CAMPAIGN_TEMPLATES.get(request.GET.get("template", ""))
        brands = {str(brand.pk): brand for brand in self.brands_seen(request)}
        brand = brands.get(str(initial.get("brand", ""))) or next(iter(brands.values()), None)
        if template is None or not template.is_rule or brand is None:
            return initial
        return {**initial, **template.initial(timezone.now(), brand.zone)}

    def try_out_of(self, request: HttpRequest, row: EarningRule | None) -> dict[str, Any]:
        """The addresses that the page's script calls; empty without permission to change rules."""
        if not self.may_save(request, row):
            return {}
        names = ("read", "try", "choices")
        return {
            "rule_addresses": {name: reverse(f"admin:campaigns_earningrule_{name}") for name in names},
            "rule_id": row.pk if row else None,
            "rule_brand": self.brand_of_form(request, row),
            "rule_sentence": sentences.readable(row) if row else "",
        }

    # --- Answers to the script

    def offered(self, request: HttpRequest) -> HttpResponse:
        """Values to choose from; with `ids`, the labels of these."""
        brand, name = self.brand_seen(request, request.GET.get("brand", "")), request.GET.get("name", "")
        if brand is None or name not in choices.CHOICES:
            raise Http404
        return value_choices.answer(request, brand=brand, name=name)

    def read(self, request: HttpRequest) -> HttpResponse:
        """The rule of an unsaved form as a sentence, and the rules that it overlaps."""
        return self.answered(request, self.read_back)

    def tried(self, request: HttpRequest) -> HttpResponse:
        """What the rule would earn."""
        return self.answered(request, self.trial)

    def answered(
        self, request: HttpRequest, answer: Callable[[HttpRequest, EarningRule], Mapping[str, Any]]
    ) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        values = request.POST
        brand = self.brand_seen(request, values.get("brand", ""))
        rule = self.get_object(request, values["rule"]) if values.get("rule") else EarningRule(state=State.DRAFT)
        if rule.pk:
            brand = rule.brand
        if brand is None or brand.pk not in self.brand_scope(request, ADD + CHANGE):
            raise Http404
        rule.brand = brand
        form = EarningRuleForm(values, instance=rule)
        for name in set(form.fields) - {*NAMED}:
            del form.fields[name]
        form.full_clean()
        problems = [text for texts in form.errors.values() for text in texts]
        if problems:
            return JsonResponse({"sentence": "", "notes": problems, "lines": [(_("Cannot be tested"), problems)]})
        return JsonResponse(answer(request, form.instance))

    def read_back(self, request: HttpRequest, rule: EarningRule) -> Mapping[str, Any]:
        return {"sentence": sentences.readable(rule), "notes": rule_try_out.notes_on(rule)}

    def trial(self, request: HttpRequest, rule: EarningRule) -> Mapping[str, Any]:
        values = {
            name.removeprefix("trial_"): str(value) for name, value in request.POST.items() if name.startswith("trial_")
        }
        typed = values.get("member", "").strip()
        try:
            result = self.customers(request, typed) if typed else []
        except Invalid as error:
            return {"lines": [(_("Cannot be tested"), [error.message])], "events": []}
        account = UserPoints.objects.filter(brand=rule.brand, user__in=result).first()
        if account is None:
            return {"lines": [(_("Cannot be tested"), [_("Name a member of the brand.")])], "events": []}
        if values.get("list"):
            return {"events": rule_try_out.past_events(rule.brand, rule.kind, account.user_id)}
        return {"lines": rule_try_out.tried(rule, user_id=account.user_id, entered=values)}

    # --- Saving and states

    def save_form(self, request: HttpRequest, form: Any, change: Any) -> Any:
        """A new rule is a draft until staff activate it."""
        obj = super().save_form(request, form, change)
        if not change:
            obj.state = State.DRAFT
            obj.state_changed_by, obj.state_changed_at = staff_user(request), timezone.now()
        return obj

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only drafts can be deleted; a rule that was ever in force is ended."""
        may = super().has_delete_permission(request, obj)
        return may and (obj is None or obj.state == State.DRAFT)


def budget_limits(rule: EarningRule) -> list[Limit]:
    """The limits of the rule in all; none if they can no longer be read."""
    try:
        return [each for each in limits.read(rule.limits) if each.per == limits.RULE]
    except LimitsError:
        return []


# The fields that the answers to an unsaved form need.
NAMED = (
    "name",
    "kind",
    "conditions",
    "reward_type",
    "reward_value",
    "per",
    "basis",
    "limits",
    "starts_at",
    "ends_at",
    "without_end",
    "stacking",
    "group",
    "priority",
)
