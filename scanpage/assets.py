"""The page's own files: served with the digest of all of them in the address, so that browsers keep them for ever."""

import gzip
import hashlib
from functools import cache
from pathlib import Path

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from brands.tenants.picture_view import FOR_EVER

FOLDER = Path(__file__).parent / "frontend"
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".wasm": "application/wasm"}


@cache
def files() -> dict[str, Path]:
    """By the path that a page names them with; nothing else can be asked for."""
    return {path.relative_to(FOLDER).as_posix(): path for path in sorted(FOLDER.rglob("*")) if path.suffix in TYPES}


@cache
def version() -> str:
    """Changes with every byte of any of them."""
    digest = hashlib.sha256()
    for name, path in files().items():
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


@cache
def packed(name: str) -> bytes:
    return gzip.compress(files()[name].read_bytes(), 9, mtime=0)


@require_safe
def asset(request: HttpRequest, digest: str, name: str) -> HttpResponse:
    """An old digest is answered too, but not kept: the page that named it is older than the files here."""
    if name not in files():
        raise Http404
    cache_control = FOR_EVER if digest == version() else "no-cache"
    takes_gzip = "gzip" in request.headers.get("Accept-Encoding", "")
    content = packed(name) if takes_gzip else files()[name].read_bytes()
    headers = {"Cache-Control": cache_control, **({"Content-Encoding": "gzip"} if takes_gzip else {})}
    response = HttpResponse(content, content_type=TYPES[files()[name].suffix], headers=headers)
    patch_vary_headers(response, ["Accept-Encoding"])
    return response
