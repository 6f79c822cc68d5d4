"""Points of batches and products above a brand's ceiling need the approval of a second person."""

from django.db import migrations

INSTALL = """
CREATE TRIGGER points_above_ceiling BEFORE INSERT OR UPDATE OF points_per_scan ON authcodes_batchrange
    FOR EACH ROW EXECUTE FUNCTION refuse_points_above_ceiling('authcodes.batchrange', 'points_per_scan', '');
CREATE TRIGGER points_above_ceiling BEFORE INSERT OR UPDATE OF redeem_point_value ON authcodes_product
    FOR EACH ROW EXECUTE FUNCTION refuse_points_above_ceiling('authcodes.product', 'redeem_point_value', '');
"""
REMOVE = """
DROP TRIGGER points_above_ceiling ON authcodes_product;
DROP TRIGGER points_above_ceiling ON authcodes_batchrange;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("authcodes", "0016_code_prefixes"),
        ("loyalty", "0019_points_approvals"),
    ]

    operations = [migrations.RunSQL(INSTALL, REMOVE)]
