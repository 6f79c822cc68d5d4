-- set: Home, and each upload, job, batch and broadcast. How much the brands `brands` use of those quotas in `resources`
-- that are counted in tables: codes from the moment their batch is created, files until they are deleted, uploads, jobs
-- other than `uncounted_kind` since `since`, and messages of broadcasts of the day `today`, which began at `since`.
-- Returns TableUsage, several rows for a brand's storage. Locks nothing.
SELECT brand_id, 'codes' AS resource, sum(quantity)::bigint AS used FROM authcodes_batchrange
 WHERE 'codes' = ANY (%(resources)s::text[]) AND brand_id = ANY (%(brands)s::bigint[]) GROUP BY brand_id
 UNION ALL
SELECT brand_id, 'uploads', count(*) FROM authcodes_import
 WHERE 'uploads' = ANY (%(resources)s::text[]) AND brand_id = ANY (%(brands)s::bigint[])
   AND uploaded_at >= %(since)s::timestamptz GROUP BY brand_id
 UNION ALL
SELECT brand_id, 'jobs', count(*) FROM jobs_job
 WHERE 'jobs' = ANY (%(resources)s::text[]) AND brand_id = ANY (%(brands)s::bigint[])
   AND created_at >= %(since)s::timestamptz AND kind <> %(uncounted_kind)s::text GROUP BY brand_id
 UNION ALL
SELECT brand_id, 'broadcasts', sum(counted)::bigint FROM loyalty_broadcast
 WHERE 'broadcasts' = ANY (%(resources)s::text[]) AND brand_id = ANY (%(brands)s::bigint[])
   AND counted_on = %(today)s::date GROUP BY brand_id
 UNION ALL
SELECT brand_id, 'storage', sum(result_bytes)::bigint FROM jobs_job
 WHERE 'storage' = ANY (%(resources)s::text[]) AND brand_id = ANY (%(brands)s::bigint[]) AND result <> '' GROUP BY brand_id
 UNION ALL
SELECT brand_id, 'storage', sum(file_bytes)::bigint FROM authcodes_import
 WHERE 'storage' = ANY (%(resources)s::text[]) AND brand_id = ANY (%(brands)s::bigint[]) AND file <> '' GROUP BY brand_id
 UNION ALL
SELECT brand_id, 'storage', sum(file_bytes)::bigint FROM jobs_stagedupload
 WHERE 'storage' = ANY (%(resources)s::text[]) AND brand_id = ANY (%(brands)s::bigint[]) GROUP BY brand_id
 UNION ALL
SELECT brand_id, 'storage', sum(length(content) + length(small))::bigint FROM brands_picture
 WHERE 'storage' = ANY (%(resources)s::text[]) AND brand_id = ANY (%(brands)s::bigint[]) GROUP BY brand_id
