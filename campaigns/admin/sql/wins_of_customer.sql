-- set: a part of portal/timeline/sql/fetch_timeline.sql: the rewards that a customer reached in a brand's campaigns.
SELECT 'wins' AS kind, found.id::text AS id, found.created_at AS at, row_number() OVER (ORDER BY found.id DESC) AS position
  FROM unnest(%(users)s::bigint[]) AS own(id)
 CROSS JOIN LATERAL (
       SELECT claim.id, claim.created_at
         FROM campaigns_rewardclaim AS claim
         JOIN campaigns_milestone AS milestone ON milestone.milestone_id = claim.milestone_id
         JOIN campaigns_campaign AS campaign ON campaign.campaign_id = milestone.campaign_id
        WHERE claim.user_id BETWEEN own.id AND own.id AND campaign.brand_id = %(brand)s::bigint
          AND claim.id < coalesce((%(places)s::jsonb -> 'wins' ->> 1)::bigint, 9223372036854775807)
          AND claim.created_at <= %(until)s::timestamptz
        ORDER BY claim.user_id, claim.id DESC LIMIT %(most)s::int) AS found
 WHERE 'wins' = ANY (%(kinds)s::text[])
