"""Response headers that restrict what a browser may do with the page, and who may cache it."""

from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers

# Our own files and no inline script or style. 'wasm-unsafe-eval' allows compiling the camera's decoder, but no scripts.
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
    """Prevent shared caching, framing, and scripts other than ours."""
    response.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    response.headers["Permissions-Policy"] = PERMISSIONS_POLICY
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers.setdefault("Content-Language", translation.get_language() or "en")
    patch_vary_headers(response, ["Accept-Language", "Cookie"])
    return response
