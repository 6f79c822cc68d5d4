"""What a browser may do with each answer: the Content-Security-Policy, and the other headers that isolate pages."""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache

from django.conf import settings
from django.http import HttpRequest, HttpResponse

Policy = Mapping[str, str]


def written(policy: Policy) -> str:
    """The policy as a header's value."""
    return "; ".join(f"{directive} {sources}" for directive, sources in policy.items())


# For programs' answers, files and errors: nothing in them may be loaded or run.
NOTHING: Policy = {
    "default-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
LOADS_NOTHING = written(NOTHING)
# Local files and no inline script. Swagger UI has inline styles, and some of its images are data.
DOCS: Policy = {
    **NOTHING,
    "script-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
}
# The same, and forms. django-unfold's pages use Alpine, which compiles the expressions in their attributes and so needs
# 'unsafe-eval'. Both set widths and colours as inline styles.
PORTAL: Policy = {**DOCS, "script-src": "'self' 'unsafe-eval'", "form-action": "'self'"}
DEFAULTS = {
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-Permitted-Cross-Domain-Policies": "none",
}
ERROR_PAGE = "templates/error.html"
STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


class SecurityHeaders:
    """Adds its policy to every answer; a header that a view sets itself is kept."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", policy_of(request, response))
        for name, value in DEFAULTS.items():
            response.headers.setdefault(name, value)
        return response


def policy_of(request: HttpRequest, response: HttpResponse) -> str:
    is_page = response.headers.get("Content-Type", "").startswith("text/html")
    if not is_page:
        return LOADS_NOTHING
    if response.status_code >= 400:
        return written({**NOTHING, "style-src": f"'sha256-{style_of_errors()}'"})
    result = request.resolver_match  # None if no route matches
    if result and "admin" in result.app_names:
        return written(PORTAL)
    return written(DOCS) if result and result.url_name == "docs" else LOADS_NOTHING


@cache
def style_of_errors() -> str:
    """The digest of the only inline style of error pages. They load no file, because that may fail, too."""
    style = STYLE.search((settings.BASE_DIR / ERROR_PAGE).read_text())
    assert style  # noqa: S101 - the page is ours
    return base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
