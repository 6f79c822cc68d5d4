"""The page's own files. Their address contains the digest of all of them, so browsers cache them forever."""

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
    """The files by the path that pages use; only these can be requested."""
    return {path.relative_to(FOLDER).as_posix(): path for path in sorted(FOLDER.rglob("*")) if path.suffix in TYPES}


@cache
def version() -> str:
    """Changes with every byte of any file."""
    digest = hashlib.sha256()
    for name, path in files().items():
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


@cache
def packed(name: str) -> bytes:
    return gzip.compress(files()[name].read_bytes(), 9, mtime=0)


@require_safe
def asset(request: HttpRequest, digest: str, name: str) -> HttpResponse:
    """An old digest is answered too, but not cached: it comes from a page older than these files."""
    if name not in files():
        raise Http404
    cache_control = FOR_EVER if digest == version() else "no-cache"
    takes_gzip = "gzip" in request.headers.get("Accept-Encoding", "")
    content = packed(name) if takes_gzip else files()[name].read_bytes()
    headers = {"Cache-Control": cache_control, **({"Content-Encoding": "gzip"} if takes_gzip else {})}
    response = HttpResponse(content, content_type=TYPES[files()[name].suffix], headers=headers)
    patch_vary_headers(response, ["Accept-Encoding"])
    return response
