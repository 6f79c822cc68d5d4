"""Free space in the pages of codes: a scan's update then touches no index."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("authcodes", "0001_codes_and_scans")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE authcodes_authcode SET (fillfactor = 85)",
            "ALTER TABLE authcodes_authcode RESET (fillfactor)",
        ),
    ]
