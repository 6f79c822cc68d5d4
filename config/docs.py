"""The API's description and its try-out page, open to everybody; their errors are JSON like all the others."""

from typing import Any

from django.http import HttpResponse
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.views import APIView

from config.bodies import Json


class Open(APIView):
    """Read by anybody. Their renderers write YAML and HTML, and fail at what is neither schema nor page."""

    authentication_classes = ()
    permission_classes = ()
    http_method_names = ["get", "head"]

    def handle_exception(self, exc: Exception) -> Any:
        refused = super().handle_exception(exc)
        headers = {**refused.headers, "Content-Type": Json.media_type}
        return HttpResponse(Json().render(refused.data), status=refused.status_code, headers=headers)


class Schema(Open, SpectacularAPIView):
    """YAML, or JSON for whoever accepts that."""


class TryOut(Open, SpectacularSwaggerSplitView):
    """Swagger UI from our own files."""

    url_name = "schema"
    template_name = "api_docs.html"
