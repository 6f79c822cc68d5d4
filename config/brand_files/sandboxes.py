"""Creates a sandbox brand with the configuration of a file."""

from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db import transaction
from django.forms import modelform_factory
from django.utils import timezone
from django.utils.module_loading import import_string

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.models.tenants import Brand
from config.brand_files import applying
from config.brand_files.reading import BrandFile, BrandFileError


def create(*, slug: str, name: str, file: BrandFile, reason: str) -> Brand:
    """The sandbox, after all of the file was applied to it. Its webhooks are switched off: they have the live brand's
    addresses, which must not get a sandbox's events. Raises BrandFileError; then nothing was created."""
    with transaction.atomic():
        brand = _brand(slug, name, file)
        changes = audit_log.changes(None, brand)
        context = AuditContext(None, timezone.now(), reason=reason)
        audit_log.record(audit_context=context, action=audit_log.ADDED, rows=[AuditedChange(brand, brand.pk, changes)])
        for path in settings.BRAND_DEFAULTS:
            import_string(path)(brand)
        applying.apply(brand, without_active_webhooks(file), reason=reason)
    brand.refresh_from_db()
    return brand


def _brand(slug: str, name: str, file: BrandFile) -> Brand:
    """The stored brand, with only its required fields."""
    brand_data = file.data.get("brand")
    email = brand_data.get("support_email") if isinstance(brand_data, dict) else None
    page: Any = admin.site.get_model_admin(Brand)
    form_class = modelform_factory(Brand, form=page.form, fields=["name", "slug", "support_email", "is_sandbox"])
    form = form_class({"name": name, "slug": slug, "support_email": email, "is_sandbox": True})
    if not form.is_valid():
        paths = {"support_email": "brand.support_email"}
        raise BrandFileError(
            [file.problem(paths.get(key, key), " ".join(map(str, errors))) for key, errors in form.errors.items()]
        )
    made: Brand = form.save()
    return made


def without_active_webhooks(file: BrandFile) -> BrandFile:
    webhooks = file.data.get("webhooks")
    if not isinstance(webhooks, list):
        return file
    off = [{**each, "is_active": False} if isinstance(each, dict) else each for each in webhooks]
    return replace(file, data={**file.data, "webhooks": off})
