"""The API's addresses of customers, points and rewards: first what is asked for most."""

from django.urls import path

from loyalty.api import (
    brand_ledger,
    brand_programme,
    brand_rewards,
    passkit,
    points,
    push_devices,
    redemptions,
    rewards,
    till,
    transfers,
    wallets,
)
from loyalty.api.members import brand_members, email_change, members, merges, passwords, profile, registration, sessions

urlpatterns = [
    path("auth/token", sessions.Login.as_view()),
    path("auth/token/refresh", sessions.Refresh.as_view()),
    path("auth/token/revoke", sessions.Revoke.as_view()),
    path("auth/register", registration.Register.as_view()),
    path("auth/register/confirm", registration.ConfirmRegistration.as_view()),
    path("auth/email/verification", registration.SendVerification.as_view()),
    path("auth/email/verification/confirm", registration.ConfirmVerification.as_view()),
    path("auth/email/change", email_change.EmailChange.as_view()),
    path("auth/email/change/confirm", email_change.ConfirmEmailChange.as_view()),
    path("auth/password/forgot", passwords.ForgotPassword.as_view()),
    path("auth/password/reset", passwords.ResetPassword.as_view()),
    path("customer/loyalty/points", points.Points.as_view()),
    path("customer/loyalty/transactions", points.Transactions.as_view()),
    path("customer/loyalty/transfers", transfers.Transfers.as_view()),
    path("customer/loyalty/number", transfers.Number.as_view()),
    path("customer/devices", push_devices.Devices.as_view()),
    path("customer", profile.Me.as_view()),
    path("customer/profile", profile.ProfileView.as_view()),
    path("customer/loyalty/rewards", rewards.Rewards.as_view()),
    path("customer/wallet", wallets.Wallets.as_view()),
    path("customer/wallet/apple", wallets.ApplePass.as_view()),
    path("customer/wallet/google", wallets.GooglePass.as_view()),
    path("customer/loyalty/rewards/<id:reward_id>/redeem", redemptions.Redeem.as_view()),
    path("customer/loyalty/redemptions", redemptions.Redemptions.as_view()),
    path("customer/loyalty/redemptions/<id:redemption_id>/undo", redemptions.Undo.as_view()),
    path("members", members.Members.as_view()),
    path("members/<id:user_id>", members.MemberView.as_view()),
    path("redemptions/check", till.CheckRedemption.as_view()),
    path("redemptions/use", till.UseRedemption.as_view()),
    path("brand/members", brand_members.BrandMembers.as_view()),
    path("brand/members/<id:user_id>", brand_members.BrandMember.as_view()),
    path("brand/members/<id:user_id>/adjustments", brand_members.MemberAdjustments.as_view()),
    path("brand/members/<id:user_id>/merge", merges.MergeMember.as_view()),
    path("brand/members/<id:user_id>/merge/undo", merges.UndoMerge.as_view()),
    path("brand/levels", brand_rewards.BrandLevels.as_view()),
    path("brand/levels/<id:level_id>", brand_rewards.BrandLevelView.as_view()),
    path("brand/rewards", brand_rewards.BrandRewards.as_view()),
    path("brand/rewards/<id:reward_id>", brand_rewards.BrandReward.as_view()),
    path("brand/programme", brand_programme.BrandProgramme.as_view()),
    path("brand/redemptions", brand_ledger.BrandRedemptions.as_view()),
    path("brand/redemptions/use", brand_ledger.UseBrandRedemption.as_view()),
    path("brand/redemptions/<id:redemption_id>", brand_ledger.BrandRedemption.as_view()),
    path("brand/transactions", brand_ledger.BrandTransactions.as_view()),
    path("brand/transactions/<id:transaction_id>", brand_ledger.BrandTransaction.as_view()),
]

# Apple's addresses: a pass names the place before v1, the rest is Apple's.
passkit_service = [
    path("devices/<code:device>/registrations/<code:pass_type>/<code:serial>", passkit.Registration.as_view()),
    path("devices/<code:device>/registrations/<code:pass_type>", passkit.Changes.as_view()),
    path("passes/<code:pass_type>/<code:serial>", passkit.LatestPass.as_view()),
    path("log", passkit.DeviceLog.as_view()),
]
