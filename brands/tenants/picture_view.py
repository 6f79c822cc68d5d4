"""Pictures over HTTP: the large one for wallets and apps, the small one for pages. Anyone who has the id may see it."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.views import View

from brands.models.tenants import Picture

FOR_EVER = "public, max-age=31536000, immutable"  # every upload is a new picture with a new id


class PictureFile(View):
    """`large` or `small`, depending on the address."""

    http_method_names = ["get", "head"]

    def get(self, _request: HttpRequest, picture_id: UUID, size: str) -> HttpResponse:
        field = "small" if size == "small" else "content"
        row = Picture.objects.filter(pk=picture_id).values_list(field, "content_type").first()
        if row is None:
            raise Http404
        content, content_type = row
        served_type = "image/webp" if size == "small" else content_type
        return HttpResponse(bytes(content), content_type=served_type, headers={"Cache-Control": FOR_EVER})
