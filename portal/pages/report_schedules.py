"""Page: when saved lists are exported, and who gets a mail about each export."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from brands.audit_log import Changes
from brands.identity.roles import DELETE, STOP, VIEW, brand_scope
from brands.models.people import User
from brands.models.saved_lists import SavedList
from core import languages
from core.numbers import is_id
from jobs.models import ReportRecipient, ReportSchedule
from portal.base.badges import badge
from portal.base.forms import TenantForm
from portal.base.links import link
from portal.base.sidebar import SETTINGS, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.import_export.exportable import ExportingAdmin, within
from portal.saved_lists import queries, rows, schedules
from portal.unfold import CheckboxesWidget, display

MAX_SCHEDULES = 100  # of one user at one brand
NO_LIST = gettext_lazy("Open one of your saved lists and choose Send on a schedule.")
STAFF = "brands.staffrole"


def recipients_for(user: User, saved: SavedList) -> list[User]:
    """Staff of the brand who may export such a list. Users who may not see its staff can only choose themselves."""
    staff = User.objects.filter(staff_roles__brand=saved.brand_id, is_active=True).order_by("email")
    if saved.brand_id not in brand_scope(user, VIEW, STAFF):
        staff = staff.filter(pk=user.pk)
    return [each for each in staff if schedules.may_receive(each, saved.brand, saved.model_label)]


class ScheduleForm(TenantForm):
    """The time, the file format and the recipients."""

    user: User  # who submits the form
    saved: SavedList | None

    recipients = forms.ModelMultipleChoiceField(
        User.objects.none(),
        label=gettext_lazy("Recipients"),
        widget=CheckboxesWidget,
        help_text=gettext_lazy("Staff of the brand who may export this list. The mail has a link, not the file."),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "recipients" not in self.fields:
            return
        field: Any = self.fields["recipients"]
        offered = recipients_for(self.user, self.saved) if self.saved else []
        field.queryset = User.objects.filter(pk__in=[each.pk for each in offered]).order_by("email")
        field.label_from_instance = lambda each: each.email
        if self.instance.pk:
            self.initial["recipients"] = list(self.instance.recipients.values_list("user", flat=True))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.saved is None:
            raise ValidationError(
                _("The saved list was deleted. Delete this schedule.") if self.instance.pk else NO_LIST
            )
        return cleaned


class NewScheduleForm(ScheduleForm):
    """The same for a new schedule, for the saved list in the address."""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.saved is None:
            return cleaned
        self.instance.brand, self.instance.saved_list, self.instance.owner = self.saved.brand, self.saved, self.user
        if ReportSchedule.objects.filter(brand=self.saved.brand, owner=self.user).count() >= MAX_SCHEDULES:
            raise ValidationError(_("You have %(most)d schedules. Delete one first.") % {"most": MAX_SCHEDULES})
        return cleaned


@admin.register(ReportSchedule)
class ReportScheduleAdmin(TenantAdmin):
    role_permissions: ClassVar = {
        "owner": "view add change delete stop",
        "manager": "view add change delete",
        "printer": "view add change delete",
    }
    sidebar = SidebarEntry(SETTINGS, 15, "schedule_send", tab=False)
    list_display = ("title", "rhythm", "state", "next_at", "last_run_at", "owner")
    list_select_related = ("saved_list", "owner")
    fields_of_form = ("frequency", ("weekday", "day", "hour"), "file_format", "recipients")
    fieldsets = (
        (None, {"fields": ("brand", "saved_list", *fields_of_form, "is_paused")}),
        (
            gettext_lazy("History"),
            {"fields": ("owner", ("next_at", "last_run_at"), "last_job", ("failures", "last_problem"))},
        ),
    )
    add_fieldsets = ((None, {"fields": fields_of_form}),)
    readonly_fields = (
        "saved_list",
        "owner",
        "next_at",
        "last_run_at",
        "last_job",
        "failures",
        "last_problem",
        "recipient_emails",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The user's own schedules; owners of a brand see all of their brand's."""
        result = super().get_queryset(request)
        scope = self.brand_scope(request, STOP)
        return result if scope.everywhere else result.filter(Q(owner=request.user.pk) | Q(brand__in=scope.brand_ids))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """It runs with its owner's permissions, so nobody else may change it."""
        return super().has_change_permission(request, obj) and (obj is None or obj.owner_id == request.user.pk)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if obj is None or obj.owner_id == request.user.pk:
            return self.may(request, DELETE, obj)
        return self.may(request, STOP, obj)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """No add button: a schedule is created on its saved list."""
        return super().changelist_view(request, {"has_add_permission": False, **(extra_context or {})})

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        saved = self.chosen_list(request)
        title = _("Send “%(list)s” on a schedule") % {"list": saved} if saved else _("Send a list on a schedule")
        if saved is None and request.method != "POST":
            self.message_user(request, NO_LIST, messages.INFO)
        return super().add_view(request, form_url, {"title": title, **(extra_context or {})})

    def chosen_list(self, request: HttpRequest) -> SavedList | None:
        """The saved list in the address, if this user may open and export it."""
        number = request.GET.get("saved_list", "")
        saved = rows.visible_to(request.user).filter(pk=number).first() if is_id(number) else None
        if saved is None or not isinstance(queries.page_of(saved.model_label), ExportingAdmin):
            return None
        return saved if saved.brand_id in within(request.user, saved.model_label) else None

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Recipients exist only as a form field: users who may not change a schedule see them as text."""
        if obj is None:
            return self.add_fieldsets
        (name, options), *remaining = super().get_fieldsets(request, obj)
        if not self.has_change_permission(request, obj):
            fields = ["recipient_emails" if each == "recipients" else each for each in options["fields"]]
            options = {**options, "fields": fields}
        return [(name, options), *remaining]

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002
        kind = ScheduleForm if obj else NewScheduleForm
        saved = obj.saved_list if obj else self.chosen_list(request)
        form = type(f"Bound{kind.__name__}", (kind,), {"user": staff_user(request), "saved": saved})
        return super().get_form(request, obj, change, form=form, **options)

    def zone_of(self, request: HttpRequest, object_id: str | None) -> Any:
        saved = None if object_id else self.chosen_list(request)
        return saved.brand.zone if saved else super().zone_of(request, object_id)

    def create(self, request: HttpRequest, obj: ReportSchedule, form: Any) -> Any:
        schedules.plan(obj, after=timezone.now())
        made = super().create(request, obj, form)
        self.store_recipients(obj, form)
        return made

    def store(self, obj: ReportSchedule, fields: set[str]) -> None:
        """Plan it again from now on. Resuming a paused schedule resets its failures."""
        schedules.plan(obj, after=timezone.now())
        more = {"next_at", "time_zone"}
        if "is_paused" in fields and not obj.is_paused:
            obj.failures, obj.last_error = 0, ""
            more |= {"failures", "last_error"}
        super().store(obj, fields | more)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's
        super().save_model(request, obj, form, change)
        if change:
            self.store_recipients(obj, form)

    def store_recipients(self, obj: ReportSchedule, form: Any) -> None:
        chosen = {user.pk for user in form.cleaned_data["recipients"]}
        present = set(obj.recipients.values_list("user", flat=True))
        obj.recipients.exclude(user__in=chosen).delete()
        ReportRecipient.objects.bulk_create(
            [ReportRecipient(schedule=obj, user_id=each) for each in sorted(chosen - present)], ignore_conflicts=True
        )

    def extra_changes(self, form: Any) -> Changes:
        if "recipients" not in form.changed_data:
            return {}
        before = User.objects.filter(pk__in=form.initial.get("recipients", ())).order_by("email")
        return {"recipients": (emails(before), emails(form.cleaned_data["recipients"]))}

    @display(description=gettext_lazy("saved list"))
    def title(self, schedule: ReportSchedule) -> str:
        return str(schedule.saved_list or _("Deleted list"))

    @display(description=gettext_lazy("when"))
    def rhythm(self, schedule: ReportSchedule) -> str:
        hour = f"{schedule.hour:02}:00"
        if schedule.frequency == ReportSchedule.Frequency.WEEKLY:
            return f"{schedule.get_weekday_display()}, {hour}"
        if schedule.frequency == ReportSchedule.Frequency.MONTHLY:
            return _("Day %(day)d of each month, %(hour)s") % {"day": schedule.day, "hour": hour}
        return _("Daily, %(hour)s") % {"hour": hour}

    @display(description=gettext_lazy("recipients"))
    def recipient_emails(self, schedule: ReportSchedule) -> str:
        return emails(each.user for each in schedule.recipients.select_related("user"))

    @display(description=gettext_lazy("state"))
    def state(self, schedule: ReportSchedule) -> SafeString:
        if schedule.is_paused:
            return badge("warning", pgettext("scheduled report", "Paused"))
        if schedule.is_running:
            return badge("info", _("Running"))
        return badge("danger", _("Failed")) if schedule.failures else badge("success", _("Planned"))

    @display(description=gettext_lazy("last job"))
    def last_job(self, schedule: ReportSchedule) -> SafeString | str:
        if schedule.job is None:
            return "—"
        return link(reverse("admin:jobs_job_change", args=[schedule.job_id]), schedule.job)

    @display(description=gettext_lazy("last error"))
    def last_problem(self, schedule: ReportSchedule) -> str:
        return languages.translated(schedule.last_error) or "—"


def emails(users: Any) -> str:
    return ", ".join(user.email for user in users)
