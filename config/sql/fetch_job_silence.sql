-- set: each scrape of the metrics. Returns for how many seconds a running job has given no sign; null where none runs.
-- Locks nothing.
SELECT extract(epoch FROM statement_timestamp() - min(alive_at)) AS seconds FROM jobs_job WHERE status = 'running'
