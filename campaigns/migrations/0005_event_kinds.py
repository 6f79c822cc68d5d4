"""Brands register kinds of events with typed fields; what rules and stored events rely on never changes."""

import campaigns.models.event_kinds
import core.moments
import core.translations
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

# What was sent or compared once can be read for ever: names and types stay, options are only added. A kind that a rule is
# for stays too: its row is locked by who makes the rule, so neither can overlook the other.
APPEND_ONLY = """
CREATE FUNCTION protect_event_kind() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        RAISE EXCEPTION 'the brand and the name of an event kind never change' USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM campaigns_earningrule r WHERE r.brand_id = OLD.brand_id AND r.kind = OLD.name) THEN
        RAISE EXCEPTION 'an earning rule is for the event kind %', OLD.name USING ERRCODE = 'foreign_key_violation';
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION protect_event_kind_field() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.kind_id, NEW.name, NEW.type) IS DISTINCT FROM (OLD.kind_id, OLD.name, OLD.type)
           OR NOT NEW.options @> OLD.options THEN
            RAISE EXCEPTION 'name, type and options of an event field never change' USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF EXISTS (SELECT FROM campaigns_eventkind k
                 JOIN campaigns_earningrule r ON r.brand_id = k.brand_id AND r.kind = k.name
                WHERE k.id = OLD.kind_id) THEN
        RAISE EXCEPTION 'an earning rule is for the kind of the event field %', OLD.name
              USING ERRCODE = 'foreign_key_violation';
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION find_event_kind_of_rule() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM campaigns_eventkind k WHERE k.brand_id = NEW.brand_id AND k.name = NEW.kind FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the brand has no event kind %', NEW.kind USING ERRCODE = 'foreign_key_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER event_kind_is_in_use BEFORE DELETE ON campaigns_eventkind
    FOR EACH ROW EXECUTE FUNCTION protect_event_kind();
CREATE TRIGGER event_kind_stays BEFORE UPDATE OF brand_id, name ON campaigns_eventkind
    FOR EACH ROW WHEN ((NEW.brand_id, NEW.name) IS DISTINCT FROM (OLD.brand_id, OLD.name))
    EXECUTE FUNCTION protect_event_kind();
CREATE TRIGGER event_kind_field_stays BEFORE UPDATE OR DELETE ON campaigns_eventkindfield
    FOR EACH ROW EXECUTE FUNCTION protect_event_kind_field();
CREATE TRIGGER earning_rule_for_a_known_kind BEFORE INSERT OR UPDATE OF brand_id, kind ON campaigns_earningrule
    FOR EACH ROW WHEN (NEW.kind NOT IN ('scan-auth', 'order-complete', 'log-user-profile-update', 'log-user-login', 'milestone'))
    EXECUTE FUNCTION find_event_kind_of_rule();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0008_order_points_and_returns'),
        ('campaigns', '0004_earning_rules_with_conditions'),
    ]

    operations = [
        migrations.CreateModel(
            name='EventKind',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text="The event's detail-type, such as store-visit. It never changes.", max_length=60, validators=[django.core.validators.RegexValidator('^[a-z][a-z0-9]*(-[a-z0-9]+)*\\Z', 'Use lower-case letters and digits with hyphens between, such as store-visit.'), campaigns.models.event_kinds.validate_kind_name])),
                ('title', models.CharField(help_text='Shown to customers next to their points.', max_length=80)),
                ('is_active', models.BooleanField(default=True, help_text='If not ticked, events of this kind are stored and earn nothing.', verbose_name='accepts events')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('translations', core.translations.TranslationsField(blank=True, db_default={}, default=dict, editable=False, of=('title',))),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='event_kinds', to='brands.brand')),
            ],
            options={
                'ordering': ['brand_id', 'name'],
            },
        ),
        migrations.CreateModel(
            name='EventKindField',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40, validators=[django.core.validators.RegexValidator('^[a-z][a-z0-9_]*\\Z', 'Use lower-case letters, digits and underscores, such as visit_minutes.'), campaigns.models.event_kinds.validate_field_name])),
                ('label', models.CharField(max_length=80)),
                ('type', models.CharField(choices=[('text', 'Text'), ('whole', 'Whole number'), ('decimal', 'Decimal number'), ('switch', 'Yes or no'), ('date', 'Date'), ('time', 'Time of day'), ('product', 'Product'), ('option', 'One of a list')], default='text', max_length=8)),
                ('required', models.BooleanField(default=False)),
                ('options', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=80), blank=True, db_default=[], default=list, size=100)),
                ('kind', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='fields', to='campaigns.eventkind')),
            ],
            options={
                'ordering': ['kind_id', 'id'],
            },
        ),
        migrations.AddConstraint(
            model_name='eventkind',
            constraint=models.UniqueConstraint(fields=('brand', 'name'), name='event_kind_once_per_brand'),
        ),
        migrations.AddConstraint(
            model_name='eventkindfield',
            constraint=models.UniqueConstraint(fields=('kind', 'name'), name='event_field_once_per_kind'),
        ),
        migrations.AddConstraint(
            model_name='eventkindfield',
            constraint=models.CheckConstraint(condition=models.Q(('type__in', ['text', 'whole', 'decimal', 'switch', 'date', 'time', 'product', 'option'])), name='event_field_type_known'),
        ),
        migrations.RunSQL(APPEND_ONLY, migrations.RunSQL.noop),
    ]
