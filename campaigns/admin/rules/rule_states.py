"""The states of earning rules, and the actions that change them."""

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from campaigns.admin.campaign_copies import name_of_copy
from campaigns.admin.rules import rule_try_out
from campaigns.earning import checks, sentences
from campaigns.models.earning_rules import EarningRule
from core.errors import Invalid
from loyalty.points import approvals
from portal.base.confirmation import ConfirmedAction
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.undo import offers
from portal.unfold import action

State = EarningRule.State
COLOURS = {"draft": "", "scheduled": "info", "active": "success", "paused": "warning", "ended": ""}
TEXTS = {**dict(State.choices), "scheduled": gettext_lazy("Scheduled")}
# For each action: the states in which it is allowed, the new state, and the text for staff.
NEXT: dict[str, tuple[set[str], str, Any]] = {
    "activate": ({"draft", "paused"}, State.ACTIVE, gettext_lazy("The rule counts for actions from now on.")),
    "pause": ({"active"}, State.PAUSED, gettext_lazy("The rule counts for no action until somebody activates it.")),
    "end": ({"draft", "active", "paused"}, State.ENDED, gettext_lazy("The rule ends permanently. Its budget is kept.")),
}

UNDONE_BY = {"activate": "pause", "pause": "activate"}


class RuleStates(TenantAdmin):
    """Part of the model admin of earning rules."""

    def may_go(self, request: HttpRequest, object_id: Any, name: str) -> bool:
        rule = self.addressed_row(request, object_id)
        return rule is not None and self.has_change_permission(request, rule) and rule.state in NEXT[name][0]

    def has_activate_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.may_go(request, object_id, "activate")

    def has_pause_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.may_go(request, object_id, "pause")

    def has_end_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.may_go(request, object_id, "end")

    def has_duplicate_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """Only users who may add a rule at this rule's brand."""
        rule = self.addressed_row(request, object_id)
        return rule is not None and self.has_add_permission(request, rule)

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
        """Make a draft copy with another name."""
        return self.ask(request, object_id, "duplicate", _("Duplicate rule"))

    def ask(self, request: HttpRequest, object_id: str, name: str, button: str) -> HttpResponse:
        """Confirm on a page that shows the rule and the effect and asks for a reason, then act."""
        rule = self.get_object(request, object_id)
        what = (
            NEXT[name][2]
            if name in NEXT
            else _("This creates a draft of the same rule. The draft does not count for any action yet.")
        )
        requested = ConfirmedAction(
            title=_("%(action)s: %(rule)s") % {"action": button, "rule": rule},
            paragraphs=[sentences.readable(rule), what],
            consequences=rule_try_out.notes_on(rule) if name == "activate" else [],
            button=button,
            dangerous=name == "end",
        )
        act = self.duplicated if name == "duplicate" else partial(self.moved, name=name)
        return requested.respond(self, request, rule, partial(act, request, rule.pk))

    def moved(self, request: HttpRequest, rule_id: int, answers: dict[str, Any], *, name: str) -> None:
        """Change the state. Raises Invalid, which says what to fix first."""
        rule = self.move(request, rule_id, name, reason=answers["reason"])
        text = _("%(rule)s: done.") % {"rule": rule}
        if name in UNDONE_BY:
            what = {"rule": rule.pk, "act": name}
            offers.report_with_undo(request, text, "earning-rule", brand_id=rule.brand_id, arguments=what)
        else:
            self.message_user(request, text, messages.SUCCESS)

    def move(self, request: HttpRequest, rule_id: int, name: str, *, reason: str) -> EarningRule:
        rule = locked(rule_id)
        states, state, _text = NEXT[name]
        if rule.state not in states:
            raise Invalid(_("Somebody has changed the rule's state in the meantime."))
        self.remember(request, [rule])
        rule.state = state
        if problems := checks.problems_of(rule) if state == State.ACTIVE else {}:
            raise Invalid(" ".join(problems.values()))
        rule.state_changed_by, rule.state_changed_at = staff_user(request), timezone.now()
        rule.save(update_fields=["state", "state_changed_by", "state_changed_at"])
        self.record_action(request, [rule], TEXTS[state], reason=reason)
        return rule

    def duplicated(self, request: HttpRequest, rule_id: int, answers: dict[str, Any]) -> HttpResponse:
        """Make a draft copy with a unique name; its value is cut to what one person may set."""
        rule = locked(rule_id)
        names = EarningRule.objects.filter(brand=rule.brand).values_list("name", flat=True)
        rule.pk, rule.state = None, State.DRAFT
        rule._state.adding = True
        rule.name = name_of_copy(rule.name, taken=names)
        most = approvals.ceiling(brand=rule.brand, reward_type=rule.reward_type)
        rule.reward_value = min(rule.reward_value, most)
        rule.state_changed_by, rule.state_changed_at = staff_user(request), timezone.now()
        rule.save()
        self.record_action(request, [rule], gettext_noop("Added"), reason=answers["reason"])
        return redirect("admin:campaigns_earningrule_change", rule.pk)


def locked(rule_id: int) -> EarningRule:
    """The current row, locked until the transaction ends."""
    return EarningRule.objects.select_for_update(no_key=True).get(pk=rule_id)
