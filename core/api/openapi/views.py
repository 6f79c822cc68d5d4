"""The API's description and its try-out page, both public. Their errors are JSON as everywhere in the API."""

from functools import lru_cache
from threading import Lock
from typing import Any

from django.http import HttpResponse
from django.utils import translation
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from core.api.json_codec import Json
from core.api.tokenless_views import TokenlessView

CACHE_HEADERS = {"Cache-Control": "public, max-age=3600", "Vary": "Accept"}
making = Lock()


class PublicView(TokenlessView):
    """A view without authentication. Its renderers write YAML and HTML, and would fail for an error."""

    http_method_names = ["get", "head"]

    def handle_exception(self, exc: Exception) -> Any:
        rejected = super().handle_exception(exc)
        headers = {**rejected.headers, "Content-Type": Json.media_type}
        return HttpResponse(Json().render(rejected.data), status=rejected.status_code, headers=headers)


class Schema(PublicView, SpectacularAPIView):
    """YAML, or JSON if the client accepts it. The same for everyone, in one language."""

    schema = None  # it does not describe itself

    def get(self, request: Request, *_where: Any, **_more: Any) -> HttpResponse:
        renderer: BaseRenderer = request.accepted_renderer
        kind: Any = type(renderer)  # mypy takes it for unhashable
        with making:
            content = described(kind)
        name = f'inline; filename="openapi.{renderer.format}"'
        media_type = f"{renderer.media_type}; charset={renderer.charset}" if renderer.charset else renderer.media_type
        return HttpResponse(content, content_type=media_type, headers={**CACHE_HEADERS, "Content-Disposition": name})


@lru_cache(maxsize=8)
def described(renderer: Any) -> bytes:
    """The description, rendered once per process: that takes half a second, and anyone may request it."""
    generator: Any = SchemaGenerator
    with translation.override("en"):
        result: bytes = renderer().render(generator().get_schema(request=None, public=True))
    return result


class TryOut(PublicView, SpectacularSwaggerSplitView):
    """Swagger UI, served from local files."""

    url_name = "schema"
    template_name = "api_docs.html"
