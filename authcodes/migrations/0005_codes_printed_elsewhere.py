"""Codes that were printed elsewhere: what the tables and the rules on taken codes need for them."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


# A code that was printed elsewhere could be another brand's: it has that code, or a prefix that could write it, or the
# payload is another's, or holds a code of another's, or is an address on another's host. And what is to be generated must
# not be what some other brand brought in. These read rows of all brands, whoever calls them, and answer yes or no. Whoever
# stores a batch shares a lock that an import of codes takes alone before its last look, so neither misses the other.
PRINTED_ELSEWHERE = """
CREATE OR REPLACE FUNCTION code_is_reserved(for_brand bigint, wanted text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT EXISTS (SELECT 1 FROM authcodes_codeprefix p
                    WHERE rtrim(p.prefix, '0123456789') = rtrim(wanted, '0123456789') AND p.brand_id <> for_brand
                      AND left(wanted, length(p.prefix)) = p.prefix
                      AND substr(wanted, length(p.prefix) + 1) ~ '^[0-9]{1,18}$')
$$;

CREATE OR REPLACE FUNCTION printed_code_is_taken(
    for_brand bigint, wanted text, printed text, inside text, host text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT EXISTS (SELECT 1 FROM authcodes_authcode c
                    WHERE c.code IN (wanted COLLATE "C", inside COLLATE "C") AND c.brand_id <> for_brand)
        OR EXISTS (SELECT 1 FROM authcodes_authcode c
                    WHERE c.payload IN (wanted COLLATE "C", printed COLLATE "C") AND c.brand_id <> for_brand)
        OR code_is_reserved(for_brand, wanted) OR (inside <> '' AND code_is_reserved(for_brand, inside))
        OR (host <> '' AND EXISTS (
               SELECT 1 FROM brands_brandhostname h
                WHERE h.hostname IN (host, split_part(host, ':', 1)) AND h.brand_id <> for_brand))
$$;

-- As code_is_reserved, of all good rows of an upload at once.
CREATE OR REPLACE FUNCTION upload_is_reserved(for_brand bigint, upload bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT EXISTS (SELECT 1 FROM authcodes_importrow r
                     JOIN authcodes_codeprefix p ON rtrim(p.prefix, '0123456789') = rtrim(r.code, '0123456789')
                    WHERE r.upload_id = upload AND r.error = '' AND p.brand_id <> for_brand
                      AND left(r.code, length(p.prefix)) = p.prefix
                      AND substr(r.code, length(p.prefix) + 1) ~ '^[0-9]{1,18}$')
$$;

CREATE OR REPLACE FUNCTION range_is_taken(for_brand bigint, wanted text, first text, last text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT EXISTS (SELECT 1 FROM authcodes_batchrange b
                    WHERE b.first_code <= last COLLATE "C" AND b.last_code >= first COLLATE "C"
                      AND length(b.first_code) = length(first) AND b.brand_id <> for_brand AND NOT b.printed_elsewhere
                      AND rtrim(b.prefix, '0123456789') = rtrim(wanted, '0123456789'))
        OR EXISTS (SELECT 1 FROM authcodes_authcode c
                    WHERE c.code BETWEEN (first COLLATE "C") AND (last COLLATE "C") AND c.payload IS NOT NULL
                      AND length(c.code) = length(first) AND c.brand_id <> for_brand)
        OR EXISTS (SELECT 1 FROM authcodes_authcode c
                    WHERE c.payload BETWEEN (first COLLATE "C") AND (last COLLATE "C")
                      AND length(c.payload) = length(first) AND c.brand_id <> for_brand)
$$;

CREATE OR REPLACE FUNCTION refuse_unreserved_batch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF NEW.printed_elsewhere THEN
        RETURN NEW;
    END IF;
    PERFORM 1 FROM authcodes_codeprefix WHERE prefix = NEW.prefix AND brand_id = NEW.brand_id FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this brand has not reserved this prefix'
              USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'batch_prefix_reserved';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(7216006);
    PERFORM lock_prefix(NEW.prefix);
    IF range_is_taken(NEW.brand_id, NEW.prefix, NEW.first_code, NEW.last_code) THEN
        RAISE EXCEPTION 'some of these codes are taken'
              USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'batch_codes_taken';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION refuse_taken_prefix() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(7216006);
    PERFORM lock_prefix(NEW.prefix);
    IF prefix_is_taken(NEW.brand_id, NEW.prefix, NEW.id) THEN
        RAISE EXCEPTION 'this prefix is taken' USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'code_prefix_taken';
    END IF;
    RETURN NEW;
END $$;

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['code_is_reserved(bigint, text)', 'upload_is_reserved(bigint, bigint)',
                                'printed_code_is_taken(bigint, text, text, text, text)',
                                'range_is_taken(bigint, text, text, text)', 'refuse_taken_prefix()',
                                'refuse_unreserved_batch()'] LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', name, current_schema());
    END LOOP;
END $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('authcodes', '0004_translations'),
        ('brands', '0007_saved_lists'),
        ('campaigns', '0003_translations'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='batchrange',
            name='batch_quantity_positive',
        ),
        migrations.RemoveConstraint(
            model_name='codechange',
            name='code_change_kind_known',
        ),
        migrations.RemoveConstraint(
            model_name='import',
            name='import_kind_known',
        ),
        migrations.AddField(
            model_name='authcode',
            name='payload',
            field=models.CharField(blank=True, db_collation='C', editable=False, max_length=500, null=True, verbose_name='printed payload'),
        ),
        migrations.AddField(
            model_name='batchrange',
            name='printed_elsewhere',
            field=models.BooleanField(db_default=False, default=False, editable=False, help_text='Another company printed its codes, and an import brought them in.', verbose_name='printed elsewhere'),
        ),
        migrations.AddField(
            model_name='import',
            name='batch',
            field=models.OneToOneField(blank=True, editable=False, help_text='The batch that codes printed elsewhere became.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='printed_import', to='authcodes.batchrange'),
        ),
        migrations.AddField(
            model_name='import',
            name='batch_settings',
            field=models.JSONField(db_default={}, default=dict, editable=False, help_text='Of the batch that codes printed elsewhere become.'),
        ),
        migrations.AddField(
            model_name='import',
            name='is_sequential',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name='importrow',
            name='payload',
            field=models.CharField(blank=True, db_collation='C', db_default='', max_length=500),
        ),
        migrations.AddField(
            model_name='importrow',
            name='payload_code',
            field=models.CharField(blank=True, db_collation='C', db_default='', max_length=64),
        ),
        migrations.AddField(
            model_name='importrow',
            name='payload_host',
            field=models.CharField(blank=True, db_default='', max_length=255),
        ),
        migrations.AlterField(
            model_name='codechange',
            name='kind',
            field=models.CharField(choices=[('generated', 'Generated'), ('assigned', 'Assigned'), ('unassigned', 'Unassigned'), ('imported', 'Assigned by import'), ('import_undone', 'Import undone'), ('deactivated', 'Deactivated'), ('reactivated', 'Reactivated'), ('recalled', 'Recalled'), ('recall_withdrawn', 'Recall withdrawn'), ('edited', 'Edited'), ('printed', 'Printed elsewhere')], max_length=16),
        ),
        migrations.AlterField(
            model_name='import',
            name='kind',
            field=models.CharField(choices=[('list', 'List of codes (auth_code, inventory_location, notes)'), ('ranges', 'Ranges (product_sku, auth_code_start, auth_code_end, location, points_per_scan)'), ('printed', 'Codes printed elsewhere (auth_code, payload, inventory_location, notes)')], max_length=7),
        ),
        migrations.AlterField(
            model_name='importchange',
            name='auth_code',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='authcodes.authcode'),
        ),
        migrations.AddIndex(
            model_name='authcode',
            index=models.Index(condition=models.Q(('payload__isnull', False)), fields=['code'], name='auth_code_printed_elsewhere'),
        ),
        migrations.AddIndex(
            model_name='codelookup',
            index=models.Index(condition=models.Q(('auth_code__isnull', False)), fields=['auth_code'], name='code_lookup_of_code'),
        ),
        migrations.AddConstraint(
            model_name='authcode',
            constraint=models.UniqueConstraint(condition=models.Q(('payload__isnull', False)), fields=('payload',), name='auth_code_payload_unique'),
        ),
        migrations.AddConstraint(
            model_name='batchrange',
            constraint=models.CheckConstraint(condition=models.Q(('quantity__gte', 1), ('printed_elsewhere', True), _connector='OR'), name='batch_quantity_positive'),
        ),
        migrations.AddConstraint(
            model_name='batchrange',
            constraint=models.CheckConstraint(condition=models.Q(('printed_elsewhere', False), ('tag_version__isnull', True), _connector='OR'), name='batch_printed_elsewhere_plain'),
        ),
        migrations.AddConstraint(
            model_name='codechange',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['generated', 'assigned', 'unassigned', 'imported', 'import_undone', 'deactivated', 'reactivated', 'recalled', 'recall_withdrawn', 'edited', 'printed'])), name='code_change_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='import',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['list', 'ranges', 'printed'])), name='import_kind_known'),
        ),
        migrations.RunSQL(PRINTED_ELSEWHERE, migrations.RunSQL.noop),
    ]
