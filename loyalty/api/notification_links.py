"""Pages behind links in notifications: opt out, and confirm a recall. The link's signature replaces a login."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from brands.models.people import User
from brands.models.tenants import Brand
from loyalty.models.notifications import Channel, Notification, Topic
from loyalty.notifications import batching, catalogue, delivery, names, placeholders, preferences, rendering
from loyalty.notifications.placeholders import Value
from loyalty.notifications.rendering import ACKNOWLEDGE, OPT_OUT

POLICY = (
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"  # no scripts
)


class LinkedPage(View):
    """GET only shows what POST will do, because mail programs open links by themselves. Uses no cookies."""

    purpose = ""
    phrases = ""
    http_method_names = ["get", "head", "post", "options"]

    @method_decorator(csrf_exempt)
    @method_decorator(never_cache)
    def dispatch(self, request: HttpRequest, *_: Any, token: str, **__: Any) -> HttpResponse:
        claims = rendering.read_link(self.purpose, token)
        if claims is None:
            raise Http404
        answer: HttpResponse = super().dispatch(request, claims=claims)  # type: ignore[assignment]
        answer.headers["Content-Security-Policy"] = POLICY
        answer.headers["Referrer-Policy"] = "no-referrer"
        answer.headers["X-Robots-Tag"] = "noindex"
        return answer

    def page(self, request: HttpRequest, brand: Brand, language: str, **page_context: Any) -> HttpResponse:
        context = {
            "brand": brand,
            "language": language,
            "direction": catalogue.direction(language),
            "title": catalogue.phrase(language, "title", of=self.phrases),
            "button": catalogue.phrase(language, "button", of=self.phrases),
            **page_context,
        }
        return render(request, "loyalty/notifications/page.html", context)

    def phrase(self, language: str, name: str, **values: str) -> str:
        result = {key: Value(value) for key, value in values.items()}
        return placeholders.fill(catalogue.phrase(language, name, of=self.phrases), result)


class OptOut(LinkedPage):
    """Opt out of a topic on a channel. The unsubscribe button of mail programs sends the POST (RFC 8058)."""

    purpose, phrases = OPT_OUT, "opt_out_page"

    def get(self, request: HttpRequest, claims: dict[str, Any]) -> HttpResponse:
        return self.opt_out_page(request, claims, name="ask")

    def post(self, request: HttpRequest, claims: dict[str, Any]) -> HttpResponse:
        self.check(claims)
        preferences.opt_out(claims["u"], claims["b"], channel=claims["c"], topics=[claims["t"]], at=timezone.now())
        return self.opt_out_page(request, claims, name="done")

    def check(self, claims: dict[str, Any]) -> None:
        """Raises Http404 if the user, brand, topic or channel of a signed link no longer exists."""
        there = User.objects.filter(pk=claims["u"]).exists() and Brand.objects.filter(pk=claims["b"]).exists()
        if not there or claims["t"] not in Topic.values or claims["c"] not in Channel.values:
            raise Http404

    def opt_out_page(self, request: HttpRequest, claims: dict[str, Any], *, name: str) -> HttpResponse:
        self.check(claims)
        brand, language = brand_and_language(claims["b"], claims["u"])
        channel = catalogue.phrase(language, claims["c"], of="channels")
        lines = [self.phrase(language, name, brand_name=brand.name, channel=channel), self.phrase(language, "safety")]
        return self.page(request, brand, language, lines=lines, is_done=name == "done")


class Acknowledge(LinkedPage):
    """A customer confirms having read a recall."""

    purpose, phrases = ACKNOWLEDGE, "acknowledge_page"

    def get(self, request: HttpRequest, claims: dict[str, Any]) -> HttpResponse:
        return self.acknowledgement_page(request, self.notification(claims))

    def post(self, request: HttpRequest, claims: dict[str, Any]) -> HttpResponse:
        notification = self.notification(claims)
        batching.acknowledge(notification=notification, at=timezone.now())
        notification.refresh_from_db(fields=["acknowledged_at"])
        return self.acknowledgement_page(request, notification)

    def notification(self, claims: dict[str, Any]) -> Notification:
        row = Notification.objects.select_related("brand").filter(pk=claims["n"]).first()
        if row is None:
            raise Http404
        return row

    def acknowledgement_page(self, request: HttpRequest, notification: Notification) -> HttpResponse:
        brand, language = brand_and_language(notification.brand_id, notification.user_id)
        payload = names.in_language(notification.payload, brand_id=brand.pk, language=language)
        lines = [str(payload.get(name, "")) for name in ("product_name", "message", "recall_id", "contact")]
        done = [self.phrase(language, "done")] if notification.acknowledged_at else []
        return self.page(request, brand, language, lines=[*done, *lines], is_done=bool(done))


def brand_and_language(brand_id: int, user_id: int) -> tuple[Brand, str]:
    brand = Brand.objects.get(pk=brand_id)
    return brand, preferences.read(user_id, brand_id).language or delivery.settings_of(brand_id).language
