"""Ledger entries say whose they are, so that a brand's list of them reads no other brand's."""

import django.db.models.deletion
from django.db import migrations, models

FILL = """
ALTER TABLE loyalty_transaction DISABLE TRIGGER ledger_is_append_only;
UPDATE loyalty_transaction t SET brand_id = a.brand_id FROM user_points a WHERE a.user_point_id = t.user_point_id;
ALTER TABLE loyalty_transaction ENABLE TRIGGER ledger_is_append_only;
CREATE FUNCTION fill_brand_of_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT brand_id INTO NEW.brand_id FROM user_points WHERE user_point_id = NEW.user_point_id;
    RETURN NEW;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION fill_brand_of_entry() SET search_path = %I, pg_temp', current_schema());
END $$;
-- Accruals, which are most of the entries, name the brand of the account that they have locked.
CREATE TRIGGER brand_of_entry BEFORE INSERT ON loyalty_transaction
    FOR EACH ROW WHEN (NEW.brand_id IS NULL) EXECUTE FUNCTION fill_brand_of_entry();
"""
UNDO = """
DROP TRIGGER brand_of_entry ON loyalty_transaction;
DROP FUNCTION fill_brand_of_entry();
"""


def brand(**options: bool) -> models.ForeignKey:
    return models.ForeignKey(
        db_constraint=False,
        db_index=False,
        editable=False,
        on_delete=django.db.models.deletion.PROTECT,
        related_name="+",
        to="brands.brand",
        **options,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0008_order_points_and_returns"),
        ("loyalty", "0010_programme_rollups"),
    ]

    operations = [
        migrations.AddField("loyaltytransaction", "brand", brand(null=True)),
        migrations.RunSQL(FILL, UNDO),
        migrations.AlterField("loyaltytransaction", "brand", brand()),
        migrations.AddIndex(
            "loyaltytransaction", models.Index(fields=["brand", "-loyalty_transaction_id"], name="ledger_of_brand")
        ),
        migrations.AlterField(
            "userpoints",
            "brand",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="members",
                to="brands.brand",
            ),
        ),
        migrations.AddIndex(
            "userpoints", models.Index(fields=["brand", "-user_point_id"], name="members_newest_first")
        ),
        migrations.AddIndex(
            "userpoints",
            models.Index(
                condition=models.Q(("status", "blocked")), fields=["brand", "-user_point_id"], name="blocked_members"
            ),
        ),
    ]
