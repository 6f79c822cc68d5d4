"""Holds the accounts that were there before to the new rule, beside the work."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("loyalty", "0008_rewards_and_redemptions")]

    operations = [ValidateConstraint(model_name="userpoints", name="points_returned_were_redeemed")]
