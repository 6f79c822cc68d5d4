"""A customer's own page: name, language, preferences, address, password and deletion of the account. Forms only."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.dates import MONTHS

from scanpage import account
from scanpage.api_client import Answer
from scanpage.views import PageView

TOPICS, CHANNELS = ("points", "offers", "safety"), ("email", "sms", "push")
ALWAYS = ("safety", "email")  # recalls concern the customer's safety
NAMES = ("first_name", "last_name")
NOTHING: Mapping[str, Any] = MappingProxyType({})
DONE = {"saved", "mailed", "linked", "writing"}


class ProfilePage(PageView):
    """All changes go through the API; a GET changes nothing."""

    def get(self, request: HttpRequest) -> HttpResponse:
        done = next(iter(DONE & set(request.GET)), "")
        return self.respond({"done": done})

    def post(self, request: HttpRequest) -> HttpResponse:
        acts: dict[str, Callable[[], HttpResponse]] = {
            "profile": self.change,
            "email": self.change_email,
            "password": self.change_password,
            "data": self.write_data,
            "erase": self.erase,
        }
        return acts.get(request.POST.get("act", ""), self.redirect_to_page)()

    def respond(self, about: dict[str, Any], *, typed: Mapping[str, Any] = NOTHING, status: int = 200) -> HttpResponse:
        answer = self.page_session.api.get("customer/profile")
        if not answer.is_good:
            if answer.status == 401 and not self.page_session.failed_refresh:
                self.page_session.leave()
            return HttpResponseRedirect("/s/?account")
        profile = {**answer.data, **typed}
        notifications = profile["notifications"]  # a form does not send the one that is always on
        switches = [
            (topic, [(each, notifications[topic].get(each, True), (topic, each) == ALWAYS) for each in CHANNELS])
            for topic in TOPICS
        ]
        month, _hyphen, day = profile["birthday"].partition("-")
        birthday = {"month": month.lstrip("0"), "day": day.lstrip("0"), "months": MONTHS.items(), "days": range(1, 32)}
        export = self.page_session.api.get("customer/data-export").data or {}
        context = {"profile": profile, "saved": answer.data, "switches": switches, "birthday": birthday, **about}
        context |= {"export": export, "tab": "me"}
        return self.page(context, status=status, template="scanpage/profile.html")

    def change(self) -> HttpResponse:
        form = self.request.POST
        choices = {
            topic: {each: f"{topic}/{each}" in form for each in CHANNELS if (topic, each) != ALWAYS} for topic in TOPICS
        }
        # Staff may have corrected a name since the page was shown, so only fields that the customer changed are sent.
        typed = [name for name in NAMES if form.get(name) != form.get(f"shown_{name}")]
        fields = {name: form.get(name, "")[:200] for name in (*typed, "phone", "language")}
        month, day = (form.get(f"birthday_{name}", "")[:2] for name in ("month", "day"))
        fields["birthday"] = f"{month:0>2}-{day:0>2}" if month or day else ""
        typed_profile = {**fields, "notifications": choices}
        return self.ended(self.page_session.api.patch("customer/profile", typed_profile), "saved", typed=typed_profile)

    def change_email(self) -> HttpResponse:
        email = self.request.POST.get("email", "")[:300]
        answer = self.page_session.api.post("auth/email/change", {"email": email})
        return self.ended(answer, "mailed", typed={"new_email": email})

    def change_password(self) -> HttpResponse:
        """Send a link to the customer's own address, as for a forgotten password."""
        profile = self.page_session.api.get("customer/profile")
        if not profile.is_good:
            return self.ended(profile, "linked")
        return self.ended(
            self.page_session.guest.post("auth/password/forgot", {"email": profile.data["email"]}), "linked"
        )

    def write_data(self) -> HttpResponse:
        """Have the brand's data about the customer written to a file, which takes a moment."""
        return self.ended(self.page_session.api.post("customer/data-export", {}), "writing")

    def erase(self) -> HttpResponse:
        if not self.request.POST.get("sure"):
            return self.redirect_to_page()
        answer = self.page_session.api.delete("customer", {"password": self.request.POST.get("password", "")[:256]})
        if not answer.is_good:
            return self.ended(answer, "")
        self.page_session.leave()
        return HttpResponseRedirect("/s/?erased", status=303)

    def ended(self, answer: Answer, done: str, *, typed: Mapping[str, Any] | None = None) -> HttpResponse:
        """Redirect, or show the form again with the `typed` values if the API rejected them."""
        if answer.is_good:
            return self.redirect_to_page(f"?{done}")
        if answer.error == "TOKEN_INVALID":
            self.page_session.leave()
            return HttpResponseRedirect("/s/?account", status=303)
        return self.respond({"wrong": account.error_text(answer)}, typed=typed or {}, status=400)
