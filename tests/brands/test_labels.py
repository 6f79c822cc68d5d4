"""Every name that people read of a model or a field can be translated."""

from django.apps import apps
from django.utils.functional import Promise
from django.utils.translation import override, trans_real

OURS = ("brands", "campaigns", "loyalty", "authcodes", "staff_login")


def test_no_model_or_field_has_a_name_that_stays_english():
    models = [model for app in OURS for model in apps.get_app_config(app).get_models()]
    names = [(model.__name__, model._meta.verbose_name) for model in models]
    names += [(model.__name__, model._meta.verbose_name_plural) for model in models]
    names += [
        (f"{model.__name__}.{field.name}", field.verbose_name)
        for model in models
        for field in model._meta.local_fields
        if field.verbose_name != "ID"  # Django's own
    ]

    assert [where for where, name in names if not isinstance(name, Promise)] == []


def test_a_catalogue_reaches_them(monkeypatch):
    field = apps.get_model("authcodes", "AuthCode")._meta.get_field("scan_count")
    with override("de"):
        monkeypatch.setattr(trans_real.translation("de"), "gettext", {"scan count": "Zahl der Scans"}.get)
        assert str(field.verbose_name) == "Zahl der Scans"
    assert str(field.verbose_name) == "scan count"
