"""A customer's reward code as a QR code, which the camera of a till reads.

The address names the redemption, not its code: addresses are kept in logs and histories.
"""

from io import BytesIO

import qrcode
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from qrcode.image.svg import SvgPathImage

from scanpage import wallet


@require_safe
def picture(request: HttpRequest, redemption: int) -> HttpResponse:
    """An SVG of the code, for the customer who holds it; for everybody else it does not exist."""
    page_session = wallet.page_session_of(request)
    rows = page_session.api.get("customer/loyalty/redemptions").data if page_session.is_customer else None
    matrix = rows if isinstance(rows, list) else []
    code = next((row["code"] for row in matrix if row["redemption_id"] == redemption and row["state"] == "good"), "")
    if not code:
        raise Http404
    content = BytesIO()
    qrcode.make(code, image_factory=SvgPathImage, box_size=10, border=4).save(content)
    return wallet.finished(page_session, HttpResponse(content.getvalue(), content_type="image/svg+xml"))
