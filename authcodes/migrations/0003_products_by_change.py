"""Products have a moment of their last change, which the database sets."""

import core.moments
import django.db.models.functions.datetime
from django.db import migrations, models


# Not the transaction's moment: many rows that one statement changes are then told apart.
NOTE_CHANGE = """
CREATE FUNCTION note_product_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END $$;
CREATE TRIGGER product_change_is_noted BEFORE UPDATE ON authcodes_product
    FOR EACH ROW EXECUTE FUNCTION note_product_change();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('authcodes', '0002_triggers_and_storage'),
        ('brands', '0004_idempotent_requests'),
    ]

    operations = [
        migrations.AddField(
            model_name='product',
            name='updated_at',
            field=core.moments.MomentField(db_default=django.db.models.functions.datetime.Now(), editable=False, help_text='Set by the database with every change.'),
        ),
        migrations.AddIndex(
            model_name='product',
            index=models.Index(fields=['brand', 'updated_at'], name='product_updated'),
        ),
        migrations.AddIndex(
            model_name='product',
            index=models.Index(fields=['brand', '-id'], name='product_newest_first'),
        ),
        migrations.RunSQL(NOTE_CHANGE, migrations.RunSQL.noop),
    ]
