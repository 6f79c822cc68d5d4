"""Gives hub keys scopes, and lets the audit log name the key that did something."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


# What every hub key could do before there were scopes.
KEEP_WHAT_HUB_KEYS_COULD_DO = """
UPDATE brands_apikey SET scopes = '{read,events,members,till,codes}' WHERE kind = 'hub'
"""

KEY_OF_AN_ENTRY_STAYS = """
CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('audit.erasing', true) = 'on'
       AND (NEW.id, NEW.at, NEW.user_id, NEW.api_key_id, NEW.brand_id, NEW.kind, NEW.row_id, NEW.action, NEW.request_id)
           IS NOT DISTINCT FROM
           (OLD.id, OLD.at, OLD.user_id, OLD.api_key_id, OLD.brand_id, OLD.kind, OLD.row_id, OLD.action, OLD.request_id)
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'brands_auditlogentry is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0002_triggers_and_storage'),
    ]

    operations = [
        migrations.AddField(
            model_name='apikey',
            name='networks',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=43), blank=True, db_default=[], default=list, help_text='IP addresses or networks such as 203.0.113.0/24. Leave empty to allow every network.', size=None, verbose_name='allowed networks'),
        ),
        migrations.AddField(
            model_name='apikey',
            name='scopes',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'Read: all but names and addresses'), ('events', 'Events: scans, orders, profiles, logins'), ('members', 'Members: find, enrol, change, block'), ('points', 'Points: adjust balances'), ('till', 'Till: check and use reward codes'), ('codes', 'Codes: generate, assign, switch off'), ('admin', 'Admin: products, rewards, recalls')], max_length=10), blank=True, db_default=[], default=list, help_text='What a hub key may do. An app key has none.', size=None, verbose_name='scopes'),
        ),
        migrations.AddField(
            model_name='auditlogentry',
            name='api_key',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.apikey', verbose_name='API key'),
        ),
        migrations.RunSQL(KEEP_WHAT_HUB_KEYS_COULD_DO, migrations.RunSQL.noop),
        migrations.RunSQL(KEY_OF_AN_ENTRY_STAYS, migrations.RunSQL.noop),
    ]
