"""A forgotten password: the page that a mail's link opens, where a customer sets a new one."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from scanpage import account
from scanpage.views import PageView


class NewPasswordPage(PageView):
    """Looking at it uses nothing up: mail programmes open links by themselves."""

    def get(self, _request: HttpRequest, **_token: str) -> HttpResponse:
        return self.respond()

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        data = {"token": token[:500], "password": request.POST.get("password", "")[:256]}
        answer = self.page_session.guest.post("auth/password/reset", data)
        if not answer.is_good:
            return self.respond(wrong_password=account.complaint(answer), status=400)
        self.page_session.leave()  # whoever is logged in here is no more
        return HttpResponseRedirect("/s/?password=set", status=303)

    def respond(self, *, status: int = 200, **about: Any) -> HttpResponse:
        response = self.page({"password": "new", **about}, status=status)
        response.headers["Referrer-Policy"] = "no-referrer"
        return response
