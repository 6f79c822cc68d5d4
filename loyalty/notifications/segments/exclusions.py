"""Why a customer gets no notification on any channel, whatever their preferences. Read when it is sent."""

from django.utils.translation import gettext_noop

from loyalty.models.accounts import UserPoints
from loyalty.models.messages.notification_segments import NotificationSegment
from loyalty.models.notifications import Notification, Template
from loyalty.models.programme.segments import SegmentMember

# Notifications that a brand may limit to a segment: none about safety, a password or an address.
LIMITABLE = (
    Template.POINTS_EARNED,
    Template.LEVEL_REACHED,
    Template.LEVEL_ENDING,
    Template.LEVEL_LOWERED,
    Template.REWARD_AVAILABLE,
    Template.POINTS_EXPIRING,
    Template.POINTS_RECEIVED,
)


def exclusion_reason(notification: Notification) -> str:
    """The reason in English, as it is stored. Empty if the customer may get the notification."""
    if not notification.user.is_active:
        return gettext_noop("The customer's account is deactivated.")
    if notification.template == Template.BROADCAST:
        return gettext_noop("The member is blocked.") if is_blocked(notification) else ""
    if notification.template in LIMITABLE and is_outside_segment(notification):
        return gettext_noop("The member is not in the segment that this notification is for.")
    return ""


def is_blocked(notification: Notification) -> bool:
    rows = UserPoints.objects.filter(user=notification.user_id, brand=notification.brand_id)
    return not rows.filter(status=UserPoints.Status.ACTIVE).exists()


def is_outside_segment(notification: Notification) -> bool:
    """Takes two queries if the brand limits the notification, else one."""
    limits = NotificationSegment.objects.filter(brand=notification.brand_id, template=notification.template)
    segment_id = limits.values_list("segment_id", flat=True).first()
    if segment_id is None:
        return False
    members = SegmentMember.objects.filter(segment=segment_id, account__user=notification.user_id)
    return not members.exists()
