"""Adds sandbox brands, which stay what they were made as."""

from django.db import migrations, models

# A sandbox that became live would have test codes on real products, and customers who never heard of anything.
SANDBOX_IS_FOR_GOOD = """
CREATE FUNCTION refuse_sandbox_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'whether a brand is a sandbox is set when it is made' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER sandbox_is_for_good BEFORE UPDATE ON brands_brand
    FOR EACH ROW WHEN (NEW.is_sandbox IS DISTINCT FROM OLD.is_sandbox) EXECUTE FUNCTION refuse_sandbox_change();
"""
UNDO = """
DROP TRIGGER sandbox_is_for_good ON brands_brand;
DROP FUNCTION refuse_sandbox_change();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0005_web_origins'),
    ]

    operations = [
        migrations.AddField(
            model_name='brand',
            name='is_sandbox',
            field=models.BooleanField(db_default=False, default=False, help_text='For trying things out. Nothing is sent to customers, and its codes, prints and wallet passes are marked as a test. Cannot be changed later.', verbose_name='sandbox'),
        ),
        migrations.RunSQL(SANDBOX_IS_FOR_GOOD, UNDO),
    ]
