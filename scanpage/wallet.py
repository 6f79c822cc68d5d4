"""The way to a customer's wallet pass: a link can carry no access token, so the page's server asks for it."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.views.decorators.http import require_safe

from brands.identity import api_keys
from scanpage import theme
from scanpage.api_client import Answer
from scanpage.session_cookies import Visitor

GOOGLE = "https://pay.google.com/"


@require_safe
def apple(request: HttpRequest) -> HttpResponse:
    """The pass itself, as the API gives it."""
    visitor = visitor_of(request)
    answer = visitor.api.get("customer/wallet/apple")
    if not answer.is_good:
        return finished(visitor, no_card(visitor, answer))
    response = HttpResponse(answer.content, content_type=answer.content_type)
    response.headers["Content-Disposition"] = 'attachment; filename="pass.pkpass"'
    return finished(visitor, response)


@require_safe
def google(request: HttpRequest) -> HttpResponse:
    """To Google, and nowhere else."""
    visitor = visitor_of(request)
    answer = visitor.api.get("customer/wallet/google")
    link = google_link(answer)
    return finished(visitor, HttpResponseRedirect(link) if link else no_card(visitor, answer))


def google_link(answer: Answer) -> str:
    """Where Google saves the pass; nowhere else does the page lead anybody."""
    data = answer.data
    link = str(data.get("save_url", "")) if isinstance(data, dict) else ""
    return link if link.startswith(GOOGLE) else ""


def no_card(visitor: Visitor, answer: Answer) -> HttpResponse:
    """Back to the account, which says so, or to its login where the session has ended."""
    if answer.status == 401 and not visitor.unsure:
        visitor.leave()
    return HttpResponseRedirect("/s/?account&no_card" if visitor.is_customer else "/s/?account")


def finished(visitor: Visitor, response: HttpResponse) -> HttpResponse:
    """With the visitor's cookies: a token that was changed on the way here must reach the browser."""
    response.headers["Cache-Control"] = "no-store"
    visitor.finish(response)
    return response


def visitor_of(request: HttpRequest) -> Visitor:
    brand = theme.known_brand(request)
    return Visitor.of(request, api_keys.of_scan_page(brand=brand, at=timezone.now()))
