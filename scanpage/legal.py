"""Pages with a brand's terms and privacy notice."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse

from scanpage.views import PageView

KINDS = {"terms", "privacy"}


class LegalPage(PageView):
    """One of the brand's texts in force."""

    def get(self, request: HttpRequest, kind: str) -> HttpResponse:
        text: Any = self.legal.get(kind) if kind in KINDS else None
        if text is None:
            raise Http404
        return self.page({"legal_text": text}, template="scanpage/legal.html")
