"""What a browser may do with the page: its policies, and who may keep it."""

from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers

# Our own files and no inline script or style; 'wasm-unsafe-eval' lets the camera's decoder be compiled, and no script.
POLICY = {
    "default-src": "'none'",
    "script-src": "'self' 'wasm-unsafe-eval'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "worker-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}
CONTENT_SECURITY_POLICY = "; ".join(f"{directive} {sources}" for directive, sources in POLICY.items())
PERMISSIONS_POLICY = (
    "camera=(self), geolocation=(self), display-capture=(), microphone=(), payment=(), usb=(), "
    "accelerometer=(), gyroscope=(), magnetometer=(), midi=()"
)


def protected(response: HttpResponseBase) -> HttpResponseBase:
    """Nobody else's cache may keep the page, nobody's frame show it, and no script but ours run in it."""
    response.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    response.headers["Permissions-Policy"] = PERMISSIONS_POLICY
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers.setdefault("Content-Language", translation.get_language() or "en")
    patch_vary_headers(response, ["Accept-Language", "Cookie"])
    return response
