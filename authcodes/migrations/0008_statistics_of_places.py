"""How often a scan's city and region occur is known to the planner, which knows nothing of expressions by itself."""

from django.db import migrations

CITY = "lower(trim(split_part(location, ',', 1)))"
REGION = "lower(trim(split_part(location, ',', 2)))"


class Migration(migrations.Migration):
    dependencies = [
        ("authcodes", "0007_scans_of_batches_and_products"),
    ]

    operations = [
        migrations.RunSQL(
            f"CREATE STATISTICS {name} ON ({expression}) FROM authcodes_scan", f"DROP STATISTICS {name}"
        )
        for name, expression in (("scan_cities", CITY), ("scan_regions", REGION))
    ]
