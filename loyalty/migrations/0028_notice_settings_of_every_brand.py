"""Every brand has notification settings: without any its notices were stored as ignored, and nobody was told."""

from django.db import migrations


def create_settings(apps, schema_editor):
    brands, settings = apps.get_model("brands", "Brand"), apps.get_model("loyalty", "NoticeSettings")
    silent = brands.objects.exclude(pk__in=settings.objects.values("brand"))
    settings.objects.bulk_create([settings(brand=brand) for brand in silent])


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0014_quotas_of_brands"),
        ("loyalty", "0027_bounds_of_dates_and_times"),
    ]

    operations = [migrations.RunPython(create_settings, migrations.RunPython.noop)]
