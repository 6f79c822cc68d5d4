"""Notes of staff on members, what the list of members is sorted by, and the friends whom a member brought by their key."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import core.moments


# As loyalty/members/listing keeps them from then on; when a member was seen last is known from then on, too.
FILL = """
INSERT INTO loyalty_listedmember (account_id, brand_id, name, email, points, spent, last_seen_at)
SELECT account.user_point_id, account.brand_id,
       lower(coalesce(nullif(btrim(concat_ws(' ', coalesce(account.first_name, customer.first_name),
                                             coalesce(account.last_name, customer.last_name))), ''), customer.email)),
       lower(customer.email), account.points, account.points_redeemed - account.points_returned, account."updatedAt"
  FROM user_points account JOIN brands_user customer ON customer.id = account.user_id
"""
MARK = "INSERT INTO loyalty_listedmembersmark (id, until) VALUES (1, now())"


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0012_broadcast_quota"),
        ("loyalty", "0020_reward_catalogue"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="MemberNote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("text", models.TextField(max_length=2000, verbose_name="note")),
                (
                    "created_at",
                    core.moments.MomentField(
                        default=django.utils.timezone.now, editable=False, verbose_name="written at"
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notes",
                        to="loyalty.userpoints",
                    ),
                ),
                (
                    "author",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "brand",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="brands.brand",
                    ),
                ),
            ],
            options={
                "verbose_name": "note on a member",
                "verbose_name_plural": "notes on members",
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["account", "-id"], name="notes_on_member")],
            },
        ),
        migrations.CreateModel(
            name="ListedMember",
            fields=[
                (
                    "account",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="listing",
                        serialize=False,
                        to="loyalty.userpoints",
                    ),
                ),
                ("name", models.CharField(max_length=310, verbose_name="name")),
                ("email", models.CharField(max_length=254, verbose_name="e-mail address")),
                ("points", models.DecimalField(decimal_places=2, max_digits=14, verbose_name="balance")),
                ("spent", models.DecimalField(decimal_places=2, max_digits=14, verbose_name="spent")),
                ("last_seen_at", core.moments.MomentField(verbose_name="last seen")),
                (
                    "brand",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="brands.brand",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ListedMembersMark",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("until", core.moments.MomentField()),
            ],
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(MARK, migrations.RunSQL.noop),
        migrations.AddIndex(
            "listedmember", models.Index(fields=["brand", "name", "account"], name="members_by_name")
        ),
        migrations.AddIndex(
            "listedmember", models.Index(fields=["brand", "email", "account"], name="members_by_email")
        ),
        migrations.AddIndex(
            "listedmember", models.Index(fields=["brand", "points", "account"], name="members_by_balance")
        ),
        migrations.AddIndex(
            "listedmember", models.Index(fields=["brand", "spent", "account"], name="members_by_spent")
        ),
        migrations.AddIndex(
            "listedmember", models.Index(fields=["brand", "last_seen_at", "account"], name="members_by_last_seen")
        ),
        migrations.AddIndex("referral", models.Index(fields=["referrer", "-id"], name="referrals_of_member")),
        migrations.AlterField(
            model_name="referral",
            name="referrer",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="referrals",
                to="loyalty.userpoints",
                verbose_name="member",
            ),
        ),
    ]
