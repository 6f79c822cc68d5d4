"""The session of the page's customer: cookies that no script can read keep them logged in."""

from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from scanpage.api_client import Answer, Api

YEAR = 365 * 86_400
EARLY_SECONDS = 60  # an access token this close to its expiry is no longer issued


@dataclass
class PageSession:
    """The session of anyone who opens a brand's page. `finish` writes its changes to the response's cookies."""

    request: HttpRequest
    guest: Api
    access: str = ""
    expires_in: int = 0
    # Set if it is unknown whether this is a customer, because the refresh was rate-limited or the API was down.
    failed_refresh: Answer | None = None
    _tokens: dict[str, Any] | None = None
    _left: bool = False

    @classmethod
    def of(cls, request: HttpRequest, key: str) -> "PageSession":
        """With a fresh access token, if the cookies have a valid session."""
        page_session = cls(request, Api(request, key), request.COOKIES.get(name("access"), ""))
        if not page_session.access:
            page_session.renew()
        return page_session

    def renew(self) -> None:
        """Exchange the refresh token, which can be used only once, for new tokens; at most once in a request."""
        refresh = self.request.COOKIES.get(name("refresh"), "")
        if refresh and not self._tokens and not self._left:
            self.use_tokens(self.guest.post("auth/token/refresh", {"refresh": refresh}))

    @property
    def is_customer(self) -> bool:
        return bool(self.access)

    @property
    def api(self) -> Api:
        """The API with this session's access token."""
        return replace(self.guest, access=self.access)

    def log_in(self, email: str, password: str) -> Answer:
        device = self.request.COOKIES.get(name("device"), "")[:300]
        answer = self.guest.post("auth/token", {"email": email, "password": password, "device_token": device})
        self.use_tokens(answer, leave=False)
        return answer

    def register(self, email: str, password: str, entered: dict[str, Any], *, consented: bool) -> Answer:
        """Register and log in. With a `registration_id` in the answer, the address must be confirmed first."""
        body = {"email": email, "password": password, **entered, "consented": consented}
        answer = self.guest.post("auth/register", body)
        waits = not answer.is_good or answer.body.get("registration_id")
        return answer if waits else self.log_in(email, password)

    def confirm(self, proof: dict[str, str]) -> Answer:
        """Log in to the account that a mailed code or link confirms."""
        answer = self.guest.post("auth/register/confirm", proof)
        self.use_tokens(answer, leave=False)
        return answer

    def log_out(self) -> Answer | None:
        """End the session. If the API cannot do that now, the cookies stay for another try: returns its answer."""
        refresh = self.request.COOKIES.get(name("refresh"), "")
        if refresh:
            answer = self.guest.post("auth/token/revoke", {"refresh": refresh})
            if answer.is_temporary:
                return answer
        self.leave()
        return None

    def use_tokens(self, answer: Answer, *, leave: bool = True) -> None:
        """Use the tokens of an answer. A rejected refresh ends the session here too; a missing answer does not."""
        if answer.is_good:
            self._tokens, self._left, self.failed_refresh = answer.body, False, None
            self.access, self.expires_in = answer.body["access"], answer.body["expires_in"]
        elif leave and answer.status in {400, 401}:
            self.leave()
        elif leave:
            self.failed_refresh = answer

    def leave(self) -> None:
        self.access, self._tokens, self._left, self.failed_refresh = "", None, True, None

    def finish(self, response: HttpResponseBase) -> None:
        if self._left:
            for what in ("access", "refresh"):
                response.delete_cookie(name(what), samesite="Lax")
        if self._tokens:
            life = max(1, self._tokens["expires_in"] - EARLY_SECONDS)
            lives = {"access": life, "refresh": settings.REFRESH_TOKEN_DAYS * 86_400, "device_token": YEAR}
            for what in lives.keys() & self._tokens.keys():
                response.set_cookie(
                    name(what.removesuffix("_token")),
                    self._tokens[what],
                    max_age=lives[what],
                    httponly=True,
                    samesite="Lax",
                    secure=settings.SESSION_COOKIE_SECURE,
                )


def name(what: str) -> str:
    """A cookie name that, under HTTPS, only this exact host can set."""
    return f"__Host-page_{what}" if settings.SESSION_COOKIE_SECURE else f"page_{what}"
