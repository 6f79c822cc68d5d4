"""Proving an address: the pages that a mail's link opens."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from brands.page import account
from brands.page.views import PageView


class ConfirmPage(PageView):
    """Looking at it confirms nothing: mail programmes open links by themselves."""

    asks_password = False

    def get(self, _request: HttpRequest, **_token: str) -> HttpResponse:
        return self.shown()

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        proof = {"token": token[:500]}
        if self.asks_password:
            answer = self.visitor.confirm({**proof, "password": request.POST.get("password", "")[:256]})
        else:
            answer = self.visitor.guest.post("auth/email/verification/confirm", proof)
        if not answer.is_good:
            return self.shown(wrong_code=account.complaint(answer), status=400)
        return self.shown(confirmed=True)

    def shown(self, *, status: int = 200, **about: Any) -> HttpResponse:
        response = self.page({"confirm_link": True, "asks_password": self.asks_password, **about}, status=status)
        response.headers["Referrer-Policy"] = "no-referrer"
        return response


class ConfirmRegistrationPage(ConfirmPage):
    """Whoever opens the link of a registration that was not theirs does not know its password."""

    asks_password = True


class ConfirmEmailPage(ConfirmPage):
    """Of a customer's own account."""
