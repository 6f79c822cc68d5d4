"""The guide's pages in the portal, and its pictures: for everybody who works there."""

from pathlib import PurePosixPath
from typing import Any

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from portal.guide import markdown, sections

PICTURES = {".png": "image/png", ".svg": "image/svg+xml"}


def page(request: HttpRequest, name: str = sections.START) -> HttpResponseBase:
    text = sections.text_of(name)
    if not text:
        raise Http404
    rendered = markdown.render(text, link=link, picture=picture)
    titles = {each.page: each.page_title for each in sections.places() if each.section.level == 1}
    context: dict[str, Any] = {
        **admin.site.each_context(request),
        "title": rendered.sections[0].title if rendered.sections else _("Guide"),
        "guide": rendered,
        "guide_sections": [each for each in rendered.sections if each.level == 2],
        "guide_pages": [(sections.address_of(key), title, key == name) for key, title in titles.items()],
    }
    return TemplateResponse(request, "admin/portal/guide.html", context)


def image(request: HttpRequest, name: str) -> HttpResponseBase:  # noqa: ARG001 - a view
    """A picture of the guide: a file of its folder, whatever else the address names."""
    path = next((each for each in (sections.folder() / "images").glob("*") if each.name == name), None)
    kind = PICTURES.get(path.suffix) if path else None
    if path is None or kind is None:
        raise Http404
    response = HttpResponse(path.read_bytes(), content_type=kind)
    response["Cache-Control"] = "private, max-age=86400"
    return response


def link(target: str) -> str:
    """To another page of the guide, a section of this one, or somewhere else in the world."""
    if target.startswith(("https://", "http://", "#")):
        return target
    path, mark, section = target.partition("#")
    name = path.removesuffix(".md")
    return f"{sections.address_of(name)}{mark}{section}" if name in sections.PAGES else ""


def picture(target: str) -> str:
    return reverse("admin:help_image", args=[PurePosixPath(target).name]) if target.startswith("images/") else ""
