"""Rules get names, conditions, limits, stacking and states; each version that was ever in force is kept."""

import core.moments
import core.translations
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models

# A rule used to be the only one of its kind: it is called as what it is for. What was switched off is paused.
NAMES_AND_STATES = """
UPDATE campaigns_earningrule
   SET name = CASE kind WHEN 'order-complete' THEN 'Order completed'
                        WHEN 'log-user-profile-update' THEN 'Profile field completed'
                        ELSE 'First login of the day' END,
       state = CASE WHEN is_active THEN 'active' ELSE 'paused' END;
"""
# Whatever changes what is in force, in whichever way, leaves a version that can be decided by again; and a rule has the
# row in which its budget is counted from the beginning. The row of the set is locked: versions are numbered one by one.
VERSIONS = """
CREATE FUNCTION earning_rule_content(campaigns_earningrule) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN $1.state = 'active'
                THEN to_jsonb($1) - '{id,brand_id,state,state_changed_at,state_changed_by_id,without_end}'::text[] END
$$;
CREATE FUNCTION keep_earning_rule_version() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    before jsonb := CASE WHEN TG_OP <> 'INSERT' THEN earning_rule_content(OLD) END;
    after jsonb := CASE WHEN TG_OP <> 'DELETE' THEN earning_rule_content(NEW) END;
    of_rule bigint := CASE WHEN TG_OP = 'DELETE' THEN OLD.id ELSE NEW.id END;
    of_brand bigint := CASE WHEN TG_OP = 'DELETE' THEN OLD.brand_id ELSE NEW.brand_id END;
    next_version integer;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO campaigns_earningrulebudget (rule_id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
    END IF;
    IF TG_OP = 'DELETE' THEN  -- what it gave went with it, however it was deleted
        DELETE FROM campaigns_earningrulebudget WHERE rule_id = OLD.id;
        DELETE FROM campaigns_earningruleuse WHERE rule_id = OLD.id;
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.limits IS DISTINCT FROM OLD.limits THEN  -- staff hear again when it is used up
        UPDATE campaigns_earningrulebudget SET used_up_at = NULL, notified_at = NULL WHERE rule_id = NEW.id;
    END IF;
    IF before IS NOT DISTINCT FROM after THEN
        RETURN NULL;
    END IF;
    INSERT INTO campaigns_earningruleset AS mine (brand_id, version) VALUES (of_brand, 1)
        ON CONFLICT (brand_id) DO UPDATE SET version = mine.version + 1 RETURNING version INTO next_version;
    INSERT INTO campaigns_earningruleversion (brand_id, rule_id, number, set_version, content, written_at)
    SELECT of_brand, of_rule, coalesce(max(v.number), 0) + 1, next_version, after, statement_timestamp()
      FROM campaigns_earningruleversion v WHERE v.brand_id = of_brand AND v.rule_id = of_rule;
    RETURN NULL;
END $$;
CREATE FUNCTION refuse_earning_rule_version_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'campaigns_earningruleversion is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION keep_earning_rule_version() SET search_path = %I, pg_temp', current_schema());
END $$;
INSERT INTO campaigns_earningrulebudget (rule_id) SELECT id FROM campaigns_earningrule;
INSERT INTO campaigns_earningruleset (brand_id, version)
SELECT DISTINCT brand_id, 1 FROM campaigns_earningrule WHERE state = 'active';
INSERT INTO campaigns_earningruleversion (brand_id, rule_id, number, set_version, content, written_at)
SELECT r.brand_id, r.id, 1, 1, earning_rule_content(r), statement_timestamp()
  FROM campaigns_earningrule r WHERE r.state = 'active';
CREATE TRIGGER earning_rule_versions AFTER INSERT OR UPDATE OR DELETE ON campaigns_earningrule
    FOR EACH ROW EXECUTE FUNCTION keep_earning_rule_version();
CREATE TRIGGER earning_rule_versions_are_kept BEFORE UPDATE OR DELETE ON campaigns_earningruleversion
    FOR EACH ROW EXECUTE FUNCTION refuse_earning_rule_version_change();
CREATE TRIGGER earning_rule_versions_not_truncated BEFORE TRUNCATE ON campaigns_earningruleversion
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_earning_rule_version_change();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0007_saved_lists'),
        ('campaigns', '0003_translations'),
        ('loyalty', '0009_explained_entries'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='EarningRuleBudget',
            fields=[
                ('rule', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='budget', serialize=False, to='campaigns.earningrule')),
                ('points', models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), max_digits=14)),
                ('events', models.PositiveBigIntegerField(db_default=0, default=0)),
                ('used_up_at', core.moments.MomentField(null=True)),
                ('notified_at', core.moments.MomentField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='EarningRuleSet',
            fields=[
                ('brand', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='brands.brand')),
                ('version', models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='EarningRuleUse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('period', models.CharField(choices=[('day', 'a day'), ('week', 'a week'), ('month', 'a month'), ('ever', 'in all')], max_length=5)),
                ('started', core.moments.DayField()),
                ('points', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=14)),
                ('events', models.PositiveBigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='EarningRuleVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rule_id', models.BigIntegerField()),
                ('number', models.PositiveIntegerField(help_text="Counts the rule's own versions.")),
                ('set_version', models.PositiveIntegerField()),
                ('content', models.JSONField(null=True)),
                ('written_at', core.moments.MomentField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.AlterModelOptions(
            name='earningrule',
            options={'ordering': ['brand_id', 'kind', '-priority', 'id']},
        ),
        migrations.RemoveConstraint(
            model_name='earningrule',
            name='one_earning_rule_per_kind',
        ),
        migrations.RemoveConstraint(
            model_name='earningrule',
            name='percentage_needs_an_amount',
        ),
        migrations.AddField(
            model_name='earningrule',
            name='basis',
            field=models.CharField(choices=[('whole', 'The whole amount'), ('matching', 'Only the items that match')], db_default='whole', default='whole', max_length=8, verbose_name='percent of'),
        ),
        migrations.AddField(
            model_name='earningrule',
            name='conditions',
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
        migrations.AddField(
            model_name='earningrule',
            name='ends_at',
            field=core.moments.MomentField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='earningrule',
            name='group',
            field=models.CharField(blank=True, db_default='', default='', help_text="Rules that exclude each other share a group. “level” is the group of the level's points.", max_length=40),
        ),
        migrations.AddField(
            model_name='earningrule',
            name='limits',
            field=models.JSONField(blank=True, db_default=[], default=list),
        ),
        migrations.AddField(
            model_name='earningrule',
            name='name',
            field=models.CharField(blank=True, help_text='Shown to customers next to their points. Leave empty to name the rule after its kind.', max_length=120),
        ),
        migrations.AddField(
            model_name='earningrule',
            name='per',
            field=models.CharField(choices=[('event', 'Once for the action'), ('item', 'For each item that matches')], db_default='event', default='event', max_length=5, verbose_name='given'),
        ),
        migrations.AddField(
            model_name='earningrule',
            name='priority',
            field=models.PositiveSmallIntegerField(db_default=100, default=100, help_text='Higher ones count first where the order matters.'),
        ),
        migrations.AddField(
            model_name='earningrule',
            name='stacking',
            field=models.CharField(choices=[('add', 'Adds to other rules'), ('multiply', 'Multiplies what other multipliers left'), ('best', 'Only the best rule of its group counts')], db_default='add', default='add', max_length=8),
        ),
        migrations.AddField(
            model_name='earningrule',
            name='starts_at',
            field=core.moments.MomentField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='earningrule',
            name='state',
            field=models.CharField(choices=[('draft', 'Draft'), ('active', 'Active'), ('paused', 'Paused'), ('ended', 'Ended')], db_default='active', default='active', max_length=8),
        ),
        migrations.AddField(
            model_name='earningrule',
            name='state_changed_at',
            field=core.moments.MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AddField(
            model_name='earningrule',
            name='state_changed_by',
            field=models.ForeignKey(blank=True, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='earningrule',
            name='translations',
            field=core.translations.TranslationsField(blank=True, db_default={}, default=dict, editable=False, of=('name',)),
        ),
        migrations.AddField(
            model_name='earningrule',
            name='without_end',
            field=models.BooleanField(db_default=False, default=False, help_text='Tick it where the rule has conditions or multiplies, and neither an end nor a limit.', verbose_name='runs until somebody ends it'),
        ),
        migrations.AlterField(
            model_name='earningrule',
            name='kind',
            field=models.CharField(choices=[('scan-auth', 'Product scanned'), ('order-complete', 'Order completed'), ('log-user-profile-update', 'Profile field completed'), ('log-user-login', 'First login of the day'), ('milestone', 'Milestone that pays points')], max_length=64, verbose_name='when'),
        ),
        migrations.AlterField(
            model_name='earningrule',
            name='reward_type',
            field=models.CharField(choices=[('points', 'Fixed points'), ('percentage', 'Percent of the amount'), ('multiplier', 'Times what other rules give'), ('bonus', 'Bonus on top, never multiplied')], default='points', max_length=10, verbose_name='effect'),
        ),
        migrations.AlterField(
            model_name='earningrule',
            name='reward_value',
            field=models.DecimalField(decimal_places=2, help_text='Points, percent, or how many times.', max_digits=10, validators=[django.core.validators.MinValueValidator(0)], verbose_name='value'),
        ),
        migrations.RunSQL(NAMES_AND_STATES, migrations.RunSQL.noop),
        migrations.RemoveField(
            model_name='earningrule',
            name='is_active',
        ),
        migrations.AddConstraint(
            model_name='earningrule',
            constraint=models.UniqueConstraint(fields=('brand', 'name'), name='earning_rule_name_unique_in_brand'),
        ),
        migrations.AddConstraint(
            model_name='earningrule',
            constraint=models.CheckConstraint(condition=models.Q(('reward_type__in', ['points', 'percentage', 'multiplier', 'bonus'])), name='earning_rule_effect_known'),
        ),
        migrations.AddConstraint(
            model_name='earningrule',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('reward_type', 'percentage'), _negated=True), ('kind__in', ['order-complete', 'scan-auth']), _connector='OR'), name='percentage_needs_an_amount', violation_error_message='Only orders and scans have an amount to take a percentage of.'),
        ),
        migrations.AddConstraint(
            model_name='earningrule',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('reward_type', 'multiplier'), _negated=True), ('reward_value__gt', 1), _connector='OR'), name='multiplier_above_one', violation_error_message='A multiplier is more than 1, such as 2 for double points.'),
        ),
        migrations.AddConstraint(
            model_name='earningrule',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('stacking', 'multiply'), _negated=True), ('reward_type', 'multiplier'), _connector='OR'), name='only_multipliers_multiply', violation_error_message='Only a multiplier can multiply; let the rule add.'),
        ),
        migrations.AddConstraint(
            model_name='earningrule',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('stacking', 'best'), _negated=True), models.Q(('group', ''), _negated=True), _connector='OR'), name='best_of_a_group', violation_error_message='Name the group of which only the best rule counts.'),
        ),
        migrations.AddConstraint(
            model_name='earningrule',
            constraint=models.CheckConstraint(condition=models.Q(('starts_at__isnull', True), ('ends_at__isnull', True), ('ends_at__gt', models.F('starts_at')), _connector='OR'), name='earning_rule_ends_after_start', violation_error_message='The rule must end after it starts.'),
        ),
        migrations.AddConstraint(
            model_name='earningrule',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['draft', 'active', 'paused', 'ended'])), name='earning_rule_state_known'),
        ),
        migrations.AddConstraint(
            model_name='earningrulebudget',
            constraint=models.CheckConstraint(condition=models.Q(('events__gte', 0), ('points__gte', 0)), name='rule_budget_not_negative'),
        ),
        migrations.AddField(
            model_name='earningruleuse',
            name='account',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='loyalty.userpoints'),
        ),
        migrations.AddField(
            model_name='earningruleuse',
            name='rule',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='campaigns.earningrule'),
        ),
        migrations.AddField(
            model_name='earningruleversion',
            name='brand',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand'),
        ),
        migrations.AddConstraint(
            model_name='earningruleuse',
            constraint=models.UniqueConstraint(fields=('rule', 'account', 'period'), name='one_use_per_period'),
        ),
        migrations.AddConstraint(
            model_name='earningruleuse',
            constraint=models.CheckConstraint(condition=models.Q(('events__gte', 0), ('points__gte', 0)), name='rule_use_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='earningruleversion',
            constraint=models.UniqueConstraint(fields=('brand', 'rule_id', 'set_version'), name='one_version_in_a_set'),
        ),
        migrations.RunSQL(VERSIONS, migrations.RunSQL.noop),
    ]
