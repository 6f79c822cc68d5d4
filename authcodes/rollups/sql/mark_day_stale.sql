-- hot: each scan whose points are requested later. Adds one to the unsettled scans of its day, which is rolled up
-- already, until its points are decided. Locks the day's row.
UPDATE authcodes_dayrollup d SET unsettled = d.unsettled + 1
  FROM authcodes_scan s JOIN brands_brand b ON b.id = s.brand_id
 WHERE s.scan_id = %(scan_id)s::uuid AND d.brand_id = s.brand_id
   AND d.day = (s.scanned_at AT TIME ZONE b.time_zone)::date AND d.batch_id = s.batch_id
   AND d.campaign_id IS NOT DISTINCT FROM s.campaign_id AND d.product_id IS NOT DISTINCT FROM s.product_id
