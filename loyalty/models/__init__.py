"""What a customer holds: points, level, ledger, passes; and the events that carry it all."""

from loyalty.models.accounts import OpeningBalance, UserPoints
from loyalty.models.approvals import PointsApproval
from loyalty.models.expiry import ExpiryRun, ExpiryWarning
from loyalty.models.external_system import ExternalSystem
from loyalty.models.ledger import LoyaltyTransaction, PointTransfer
from loyalty.models.levels import BrandLevel, LevelChange, LevelPeriodState, RewardType
from loyalty.models.members.birthdays import Birthday
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.models.members.consents import Consent
from loyalty.models.members.listed_members import ListedMember, ListedMembersMark
from loyalty.models.members.member_notes import MemberNote
from loyalty.models.messages.addresses import SenderDomain, SuppressedAddress
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.models.messages.notification_segments import NotificationSegment
from loyalty.models.notifications import (
    PHONE,
    Channel,
    Device,
    Language,
    Notification,
    NotificationDelivery,
    NotificationPreference,
    NotificationSettings,
    NotificationTemplate,
    Template,
    Topic,
)
from loyalty.models.orders import CreditedOrder, CurrencyRate, OrderReturn
from loyalty.models.pending import PendingPoints
from loyalty.models.programme.costs import PointCost
from loyalty.models.programme.referrals import Referral, ReferralCode, ReferralProgramme
from loyalty.models.programme.rollups import (
    ActiveMember,
    CohortRollup,
    ExpiringRollup,
    LevelRollup,
    MembersRollup,
    PointsRollup,
    ProgrammeWatermark,
    StaleDay,
)
from loyalty.models.programme.segments import Segment, SegmentMember
from loyalty.models.rewards import PoolCode, Redemption, Reward
from loyalty.models.wallets import Platform, WalletDevice, WalletIssuer, WalletPass
from loyalty.models.webhooks import (
    WebhookAttempt,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookEndpointQuerySet,
    WebhookType,
)

__all__ = [
    "PHONE",
    "ActiveMember",
    "Birthday",
    "BrandLevel",
    "Broadcast",
    "Channel",
    "CohortRollup",
    "Consent",
    "CreditedOrder",
    "CurrencyRate",
    "Device",
    "EmailConfirmation",
    "ExpiringRollup",
    "ExpiryRun",
    "ExpiryWarning",
    "ExternalSystem",
    "Language",
    "LevelChange",
    "LevelPeriodState",
    "LevelRollup",
    "ListedMember",
    "ListedMembersMark",
    "LoyaltyTransaction",
    "MemberNote",
    "MembersRollup",
    "Notification",
    "NotificationDelivery",
    "NotificationPreference",
    "NotificationSegment",
    "NotificationSettings",
    "NotificationTemplate",
    "OpeningBalance",
    "OrderReturn",
    "PendingPoints",
    "Platform",
    "PointCost",
    "PointTransfer",
    "PointsApproval",
    "PointsRollup",
    "PoolCode",
    "ProgrammeWatermark",
    "Redemption",
    "Referral",
    "ReferralCode",
    "ReferralProgramme",
    "Reward",
    "RewardType",
    "Segment",
    "SegmentMember",
    "SenderDomain",
    "StaleDay",
    "SuppressedAddress",
    "Template",
    "Topic",
    "UserPoints",
    "WalletDevice",
    "WalletIssuer",
    "WalletPass",
    "WebhookAttempt",
    "WebhookDelivery",
    "WebhookEndpoint",
    "WebhookEndpointQuerySet",
    "WebhookType",
]
