"""The pages behind links in mails: confirm an address, or set a new password."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from scanpage import account, assets
from scanpage.api_client import Answer, Api
from scanpage.views import PageView


class ConfirmPage(PageView):
    """A GET confirms nothing, because mail clients open links by themselves."""

    asks_password = False

    def get(self, _request: HttpRequest, **_token: str) -> HttpResponse:
        return self.respond()

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        answer = self.proved({"token": token[:500]}, request.POST.get("password", "")[:256])
        if not answer.is_good:
            return self.respond(wrong_code=account.error_text(answer), status=400)
        return self.respond(confirmed=True)

    def proved(self, proof: dict[str, str], _password: str) -> Answer:
        return self.page_session.guest.post("auth/email/verification/confirm", proof)

    def respond(self, *, status: int = 200, **page_context: Any) -> HttpResponse:
        response = self.page({"confirm_link": True, "asks_password": self.asks_password, **page_context}, status=status)
        response.headers["Referrer-Policy"] = "no-referrer"
        return response


class ConfirmRegistrationPage(ConfirmPage):
    """Asks for the password, which only the person who registered knows."""

    asks_password = True

    def proved(self, proof: dict[str, str], password: str) -> Answer:
        return self.page_session.confirm({**proof, "password": password})


class ConfirmEmailPage(ConfirmPage):
    """Confirms the address of a customer's own account."""


class ChangeEmailPage(ConfirmPage):
    """Confirms the new address of a customer's account. Opening the link is not enough: it asks for the password."""

    asks_password = True

    def proved(self, proof: dict[str, str], password: str) -> Answer:
        answer = self.page_session.guest.post("auth/email/change/confirm", {**proof, "password": password})
        if answer.is_good:  # it ended every session
            self.page_session.leave()
        return answer

    def respond(self, *, status: int = 200, **page_context: Any) -> HttpResponse:
        return super().respond(status=status, changes_email=True, **page_context)


class NewPasswordPage(PageView):
    """A GET uses nothing up, because mail clients open links by themselves.

    The portal's own address has the page too, for people who registered with no brand.
    """

    def get(self, _request: HttpRequest, **_token: str) -> HttpResponse:
        return self.respond()

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        answer = reset(self.page_session.guest, request, token)
        if not answer.is_good:
            return self.respond(wrong_password=account.error_text(answer), status=400)
        self.page_session.leave()  # the customer logged in here no longer is
        return HttpResponseRedirect("/s/?password=set", status=303)

    def respond(self, *, status: int = 200, **page_context: Any) -> HttpResponse:
        response = self.page({"password": "new", **page_context}, status=status)
        response.headers["Referrer-Policy"] = "no-referrer"
        return response

    def respond_without_brand(self, request: HttpRequest, **path: Any) -> HttpResponse:
        answer = reset(Api(request, key=""), request, path["token"]) if request.method == "POST" else None
        context: dict[str, Any] = {
            "assets": f"/page/assets/{assets.version()}",
            "password": "set" if answer and answer.is_good else "new",
            "wrong_password": account.error_text(answer) if answer and not answer.is_good else "",
        }
        status = 400 if context["wrong_password"] else 200
        response = render(request, "scanpage/new_password.html", context, status=status)
        response.headers["Referrer-Policy"] = "no-referrer"
        return response


def reset(api: Api, request: HttpRequest, token: str) -> Answer:
    data = {"token": token[:500], "password": request.POST.get("password", "")[:256]}
    return api.post("auth/password/reset", data)
