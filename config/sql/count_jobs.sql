-- set: each scrape of the metrics. Counts the jobs by kind and status. Returns Jobs. Locks nothing.
SELECT kind, status, count(*) AS number FROM jobs_job GROUP BY kind, status
