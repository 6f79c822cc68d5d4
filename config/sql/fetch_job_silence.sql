-- set: each scrape of the metrics. Returns the seconds since a running job's last sign of life; null if none runs.
-- Locks nothing.
SELECT extract(epoch FROM statement_timestamp() - min(alive_at)) AS seconds FROM jobs_job WHERE status = 'running'
