"""The API's addresses of campaigns, the most requested first."""

from django.urls import path

from campaigns.api import (
    brand_campaigns,
    brand_events,
    brand_replays,
    brand_segments,
    campaign_event,
    campaigns,
    event_kinds,
    events,
    reward_claims,
)

urlpatterns = [
    path("brand/loyalty/campaign/event", campaign_event.CampaignEvent.as_view()),
    path("events", events.Ingest.as_view()),
    path("customer/loyalty/campaigns", campaigns.Campaigns.as_view()),
    path("customer/loyalty/milestones/<id:milestone_id>/claim", reward_claims.Claim.as_view()),
    path("customer/loyalty/rewards/<id:milestone_id>/claim", reward_claims.ClaimAsReward.as_view()),
    path("brand/campaigns", brand_campaigns.BrandCampaigns.as_view()),
    path("brand/campaigns/<id:campaign_id>", brand_campaigns.BrandCampaign.as_view()),
    path("brand/earning-rules", brand_campaigns.BrandRules.as_view()),
    path("brand/earning-rules/<id:rule_id>", brand_campaigns.BrandRule.as_view()),
    path("brand/event-kinds", event_kinds.EventKinds.as_view()),
    path("brand/event-kinds/<id:kind_id>", event_kinds.EventKindRow.as_view()),
    path("brand/segments", brand_segments.BrandSegments.as_view()),
    path("brand/segments/<id:segment_id>", brand_segments.BrandSegment.as_view()),
    path("brand/replays", brand_replays.BrandReplays.as_view()),
    path("brand/replays/<id:replay_id>", brand_replays.BrandReplay.as_view()),
    path("brand/events", brand_events.BrandEvents.as_view()),
    path("brand/events/<id:event_number>", brand_events.BrandEvent.as_view()),
]
