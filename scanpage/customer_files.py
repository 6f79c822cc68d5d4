"""A customer's own files: wallet passes, a reward's code as a QR code, and all of their data.

A link cannot send an access token, so the page's server gets them from the API. The address of a QR code contains the
redemption, not its code, because addresses end up in logs and histories.
"""

from io import BytesIO

import qrcode
from django.core.handlers.exception import response_for_exception
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.views.decorators.http import require_safe
from qrcode.image.svg import SvgPathImage

from brands.identity import api_keys
from scanpage import theme
from scanpage.api_client import Answer
from scanpage.session_cookies import PageSession

GOOGLE = "https://pay.google.com/"


@require_safe
def apple(request: HttpRequest) -> HttpResponse:
    """The pass itself, from the API."""
    page_session = page_session_of(request)
    answer = page_session.api.get("customer/wallet/apple")
    if not answer.is_good:
        return finished(page_session, no_card(page_session, answer))
    response = HttpResponse(answer.content, content_type=answer.content_type)
    response.headers["Content-Disposition"] = 'attachment; filename="pass.pkpass"'
    return finished(page_session, response)


@require_safe
def google(request: HttpRequest) -> HttpResponse:
    """Redirect to Google, and nowhere else."""
    page_session = page_session_of(request)
    answer = page_session.api.get("customer/wallet/google")
    link = google_link(answer)
    return finished(page_session, HttpResponseRedirect(link) if link else no_card(page_session, answer))


def google_link(answer: Answer) -> str:
    """The address where Google saves the pass; empty for any other address."""
    data = answer.data
    link = str(data.get("save_url", "")) if isinstance(data, dict) else ""
    return link if link.startswith(GOOGLE) else ""


def no_card(page_session: PageSession, answer: Answer) -> HttpResponse:
    """Redirect to the account, which reports it, or to its login if the session has ended."""
    if answer.status == 401 and not page_session.failed_refresh:
        page_session.leave()
    return HttpResponseRedirect("/s/?account&no_card" if page_session.is_customer else "/s/?account")


@require_safe
def reward_code(request: HttpRequest, redemption: int) -> HttpResponse:
    """The code as an SVG, for the customer of the redemption; 404 for anyone else."""
    page_session = page_session_of(request)
    rows = page_session.api.get("customer/loyalty/redemptions").data if page_session.is_customer else None
    redemptions = rows if isinstance(rows, list) else []
    good = {row["redemption_id"]: row["code"] for row in redemptions if row["state"] == "good"}
    if redemption not in good:
        return finished(page_session, response_for_exception(request, Http404()))
    content = BytesIO()
    qrcode.make(good[redemption], image_factory=SvgPathImage, box_size=10, border=4).save(content)
    return finished(page_session, HttpResponse(content.getvalue(), content_type="image/svg+xml"))


@require_safe
def own_data(request: HttpRequest) -> HttpResponse:
    """The latest export of the customer's data, as a file; back to the account page if there is none."""
    page_session = page_session_of(request)
    answer = page_session.api.get("customer/data") if page_session.is_customer else None
    if answer is None or not answer.is_good:
        return finished(page_session, HttpResponseRedirect("/account"))
    response = HttpResponse(answer.content, content_type=answer.content_type)
    response.headers["Content-Disposition"] = 'attachment; filename="my-data.json"'
    return finished(page_session, response)


def finished(page_session: PageSession, response: HttpResponse) -> HttpResponse:
    """Set the customer's cookies: tokens renewed during the request must reach the browser."""
    response.headers["Cache-Control"] = "no-store"
    page_session.finish(response)
    return response


def page_session_of(request: HttpRequest) -> PageSession:
    brand = theme.known_brand(request)
    return PageSession.of(request, api_keys.of_scan_page(brand=brand, at=timezone.now()))
