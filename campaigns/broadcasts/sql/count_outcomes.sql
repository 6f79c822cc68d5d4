-- set: the page of a broadcast, and once more when none of its notifications are pending. Counts the outcomes of the
-- notifications of `key`, by member. A stopped notification was closed at `stopped_at` without a delivery. Returns
-- Figures. Locks nothing.
WITH of_member AS (
    SELECT n.closed_at, d.many, d.sent, d.queued, d.failed, d.unwanted, d.stopped
      FROM loyalty_notification n
      LEFT JOIN LATERAL (
               SELECT count(*) AS many,
                      bool_or(x.status = 'sent') AS sent,
                      bool_or(x.status = 'queued') AS queued,
                      bool_or(x.status IN ('failed', 'bounced')) AS failed,
                      bool_or(x.status = 'suppressed' AND x.last_error = %(opted_out)s::text) AS unwanted,
                      bool_or(x.status = 'suppressed' AND x.last_error = %(cancelled)s::text) AS stopped
                 FROM loyalty_notificationdelivery x
                WHERE x.notification_id = n.id) d ON true
     WHERE n.brand_id = %(brand_id)s::bigint AND n.key = %(key)s::text AND NOT n.key = ''
)
SELECT count(*) AS members,
       count(*) FILTER (WHERE sent) AS reached,
       count(*) FILTER (WHERE sent IS NOT true AND (closed_at IS NULL OR queued)) AS waiting,
       count(*) FILTER (WHERE sent IS NOT true AND queued IS NOT true AND failed) AS failed,
       count(*) FILTER (WHERE sent IS NOT true AND queued IS NOT true AND failed IS NOT true
                          AND (stopped OR many = 0 AND closed_at = %(stopped_at)s::timestamptz)) AS stopped,
       count(*) FILTER (WHERE sent IS NOT true AND queued IS NOT true AND failed IS NOT true
                          AND stopped IS NOT true AND unwanted) AS opted_out
  FROM of_member
