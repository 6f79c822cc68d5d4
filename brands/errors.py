"""Errors about tokens, API keys, origins, brands and users."""

from django.utils.translation import gettext_lazy as _

from core.errors import DomainError


class ApiKeyInvalid(DomainError, code="API_KEY_INVALID", status=401):
    default_message = _("The api-key header is missing or its key is not valid.")


class OriginNotAllowed(DomainError, code="ORIGIN_NOT_ALLOWED", status=403):
    default_message = _("The Origin header must name a hostname of the key's brand.")


class BrandMismatch(DomainError, code="BRAND_MISMATCH", status=403):
    default_message = _("The key, the token and the request belong to different brands.")


class UserNotFound(DomainError, code="USER_NOT_FOUND", status=404):
    default_message = _("This brand has no user with this id.")
