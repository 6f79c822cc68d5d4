"""Page: segments of members, with a live count and a sample while staff edit one."""

from typing import Any, ClassVar

from django.contrib import admin
from django.forms.widgets import Script
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns.admin.form_pages import FormPages
from campaigns.admin.rules import value_choices
from campaigns.admin.segment_form import ConditionsForm, SegmentForm
from campaigns.segments import member_conditions, preview, sentences, uses
from campaigns.segments.ages import age_text
from campaigns.segments.fields import MEMBER_FIELDS
from campaigns.segments.preview import Preview
from core.numbers import grouped
from loyalty.members.masking import sees_members
from loyalty.models.programme.segments import Segment
from portal.base.fieldsets import fieldsets_without
from portal.base.sidebar import CUSTOMERS, SidebarEntry
from portal.unfold import action, display

OFFERED = {field.choices for field in MEMBER_FIELDS.values() if field.choices}


@admin.register(Segment)
class SegmentAdmin(FormPages):
    role_permissions: ClassVar = {
        "owner": "view add change delete",
        "manager": "view add change delete",
        "support": "view",
    }
    sidebar = SidebarEntry(CUSTOMERS, 2, "groups")
    form = SegmentForm
    list_display = ("name", "members_now", "age")
    search_fields = ("name",)
    readonly_fields = ("members_now", "age", "problem", "reads_back", "used_by")
    actions_detail = ("list_members",)
    change_form_outer_after_template = "admin/campaigns/segment_preview.html"
    fieldsets = (
        (None, {"fields": ("brand", "name", "reads_back")}),
        (gettext_lazy("Conditions"), {"fields": ("conditions",)}),
        (gettext_lazy("Members"), {"fields": (("members_now", "age"), "problem", "used_by")}),
    )

    class Media:
        css: ClassVar = {"all": ("campaigns/rule_builder.css",)}
        js = (Script("campaigns/rule_builder.js", type="module"),)

    def own_views(self) -> dict[str, Any]:
        return {"read": ("read/", self.read), "choices": ("choices/", self.offered), **super().own_views()}

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """The sentence is a field for users who may only view; editors have it next to the form."""
        result = super().get_fieldsets(request, obj)
        may = self.has_change_permission(request, obj) if obj else True
        hidden = {"reads_back"} if may else {"conditions"}
        if obj is None:
            hidden |= {"problem", "used_by", "members_now", "age"}
        return fieldsets_without(result, hidden)

    # --- Columns

    @display(description=gettext_lazy("members"), ordering="member_count")
    def members_now(self, segment: Segment) -> str:
        return "-" if segment.member_count is None else grouped(segment.member_count)

    @display(description=gettext_lazy("evaluated"), ordering="evaluated_at")
    def age(self, segment: Segment) -> str:
        if segment.evaluated_at is None:
            return _("Within a minute")
        return age_text(segment.evaluated_at, at=timezone.now())

    @display(description=gettext_lazy("problem"))
    def problem(self, segment: Segment) -> str:
        """Why the segment is no longer evaluated."""
        return member_conditions.problem_of(segment.conditions, brand=segment.brand) or "-"

    @display(description=gettext_lazy("the segment"))
    def reads_back(self, segment: Segment) -> str:
        return sentences.readable(segment) if segment.pk else "-"

    @display(description=gettext_lazy("used by"))
    def used_by(self, segment: Segment) -> str:
        return ", ".join(uses.uses_of(segment)) or "-"

    def has_list_members_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        segment = self.addressed_row(request, object_id)
        return segment is not None and sees_members(request.user, segment.brand_id)

    @action(description=gettext_lazy("List members"), url_path="members", icon="group", permissions=["list_members"])
    def list_members(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Redirect to the list of members, which can also export them."""
        segment = self.get_object(request, object_id)
        members = reverse("admin:loyalty_userpoints_changelist")
        return redirect(f"{members}?{urlencode({'segment': segment.pk})}")

    def form_context(self, request: HttpRequest, row: Segment | None) -> dict[str, Any]:
        """The addresses that the page's script calls; empty without permission to change segments."""
        if not self.may_save(request, row):
            return {}
        return {
            "segment_addresses": {name: reverse(f"admin:loyalty_segment_{name}") for name in ("read", "choices")},
            "segment_brand": self.brand_of_form(request, row),
        }

    # --- Answers to the script

    def offered(self, request: HttpRequest) -> HttpResponse:
        """Values to choose from; with `ids`, the labels of these."""
        brand, name = self.brand_edited(request, request.GET.get("brand", "")), request.GET.get("name", "")
        if name not in OFFERED:
            raise Http404
        return value_choices.answer(request, brand=brand, name=name)

    def read(self, request: HttpRequest) -> HttpResponse:
        """The conditions of an unsaved form: as a sentence, the number of matching members, and some of them."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        brand = self.brand_edited(request, request.POST.get("brand", ""))
        form = ConditionsForm(request.POST, instance=Segment(brand=brand))
        problems = [text for texts in form.errors.values() for text in texts]
        if problems:
            return JsonResponse({"sentence": "", "notes": problems, "count": "", "sample": []})
        conditions = form.instance.conditions
        result = preview.preview(conditions, brand=brand, at=timezone.now())
        answer = {"sentence": sentences.sentence(conditions, brand=brand), "notes": [], "count": count_text(result)}
        return JsonResponse({**answer, "sample": sample_of(result) if sees_members(request.user, brand.pk) else []})

    def store(self, obj: Segment, fields: set[str]) -> None:
        """A segment with changed conditions is evaluated again within a minute."""
        if "conditions" in fields:
            obj.plan_fingerprint, obj.tried_at = "", None
            fields = fields | {"plan_fingerprint", "tried_at"}
        super().store(obj, fields)

    # --- Deleting

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Do not list the segment's members; whatever uses the segment protects it from deletion."""
        used = [text for segment in objs for text in uses.uses_of(segment)]
        return [str(segment) for segment in objs], {}, set(), used

    def delete_row(self, obj: Segment) -> None:
        uses.delete(obj)


def count_text(result: Preview) -> str:
    if result.count is None:
        return _("Counting takes too long for this page. The count appears once the segment is saved and evaluated.")
    return ngettext("%(count)s member", "%(count)s members", result.count) % {"count": grouped(result.count)}


def sample_of(result: Preview) -> list[tuple[str, str]]:
    """Some of the members, as links."""
    return [
        (str(member.user), reverse("admin:loyalty_userpoints_change", args=[member.pk])) for member in result.sample
    ]
