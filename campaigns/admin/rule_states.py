"""The states of earning rules, and the actions that lead from one to another."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.admin import rule_bench
from campaigns.earning import checks, sentences
from campaigns.models.earning_rules import EarningRule
from portal.base.confirmation import WhyForm
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.unfold import action

State = EarningRule.State
COLOURS = {"draft": "", "scheduled": "info", "active": "success", "paused": "warning", "ended": ""}
WORDS = {**dict(State.choices), "scheduled": gettext_lazy("Scheduled")}
# From which states each action leads where, and the words for it.
NEXT: dict[str, tuple[set[str], str, Any]] = {
    "activate": ({"draft", "paused"}, State.ACTIVE, gettext_lazy("The rule counts for actions from now on.")),
    "pause": ({"active"}, State.PAUSED, gettext_lazy("The rule counts for no action until somebody activates it.")),
    "end": ({"draft", "active", "paused"}, State.ENDED, gettext_lazy("The rule ends for good. Its budget is kept.")),
}


class RuleStates(TenantAdmin):
    """Part of the page of earning rules."""

    def may_go(self, request: HttpRequest, object_id: Any, name: str) -> bool:
        if object_id is None:
            return False
        rule = self.get_object(request, str(object_id))
        return self.has_change_permission(request, rule) and rule.state in NEXT[name][0]

    def has_activate_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.may_go(request, object_id, "activate")

    def has_pause_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.may_go(request, object_id, "pause")

    def has_end_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.may_go(request, object_id, "end")

    def has_duplicate_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return object_id is not None and self.has_add_permission(request)

    @action(description=gettext_lazy("Activate"), url_path="activate", icon="play_arrow", permissions=["activate"])
    def activate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.ask(request, object_id, "activate", _("Activate rule"))

    @action(description=gettext_lazy("Pause"), url_path="pause", icon="pause", permissions=["pause"])
    def pause(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.ask(request, object_id, "pause", _("Pause rule"))

    @action(description=gettext_lazy("End"), url_path="end", icon="stop", permissions=["end"])
    def end(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.ask(request, object_id, "end", _("End rule"))

    @action(description=gettext_lazy("Duplicate"), url_path="duplicate", icon="content_copy", permissions=["duplicate"])
    def duplicate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """A draft with another name."""
        return self.ask(request, object_id, "duplicate", _("Duplicate rule"))

    def ask(self, request: HttpRequest, object_id: str, name: str, button: str) -> HttpResponse:
        """The page that says what will happen and asks why; posted, it happens."""
        rule = self.get_object(request, object_id)
        form = WhyForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            with transaction.atomic():
                rule = EarningRule.objects.select_for_update(no_key=True, of=("self",)).get(pk=rule.pk)
                if name == "duplicate":
                    return self.duplicated(request, rule, form.cleaned_data["reason"])
                problems = self.moved(request, rule, name, form.cleaned_data["reason"])
            if not problems:
                self.message_user(request, _("%(rule)s: done.") % {"rule": rule}, messages.SUCCESS)
                return redirect("admin:campaigns_earningrule_change", rule.pk)
            for text in problems:
                form.add_error(None, text)
        words = NEXT[name][2] if name in NEXT else _("A draft of the same rule is made, which counts for nothing yet.")
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": str(rule),
            "form": form,
            "row": rule,
            "sentence": sentences.readable(rule),
            "notes": rule_bench.notes_on(rule) if name == "activate" else [],
            "words": words,
            "button": button,
        }
        return TemplateResponse(request, "admin/campaigns/rule_state.html", context)

    def moved(self, request: HttpRequest, rule: EarningRule, name: str, reason: str) -> list[str]:
        """Another state, if it may be; else why not."""
        states, state, _text = NEXT[name]
        if rule.state not in states:
            raise PermissionDenied
        self.remember(request, [rule])
        rule.state = state
        problems = list(checks.problems_of(rule).values()) if state == State.ACTIVE else []
        if problems:
            return problems
        rule.state_changed_by, rule.state_changed_at = staff_user(request), timezone.now()
        rule.save(update_fields=["state", "state_changed_by", "state_changed_at"])
        self.note(request, [rule], str(WORDS[state]), reason=reason)
        return []

    def duplicated(self, request: HttpRequest, rule: EarningRule, reason: str) -> HttpResponse:
        taken = set(EarningRule.objects.filter(brand=rule.brand).values_list("name", flat=True))
        names = (
            _("%(name)s (copy %(number)d)") % {"name": rule.name[:100], "number": number} for number in range(1, 10_000)
        )
        rule.pk, rule.state = None, State.DRAFT
        rule._state.adding = True  # noqa: SLF001 - Django's way to copy a row
        rule.name = next(name for name in names if name not in taken)
        rule.state_changed_by, rule.state_changed_at = staff_user(request), timezone.now()
        rule.save()
        self.note(request, [rule], _("Added"), reason=reason)
        return redirect("admin:campaigns_earningrule_change", rule.pk)
