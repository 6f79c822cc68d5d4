# The platform's processes as one image; the command chooses which: see compose.yaml. PostgreSQL and Redis are elsewhere.
FROM debian:bookworm-slim AS base
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# WeasyPrint draws with Pango. Unpinned: security updates of Debian stable are wanted at every build.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      ca-certificates python3 libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 \
 && rm -rf /var/lib/apt/lists/*

FROM base AS packages
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3-venv \
 && rm -rf /var/lib/apt/lists/*
COPY locks/image.txt /build/
# bin/lock leaves the servers of bin/run out, and adds what optional settings need (S3, SQS, Sentry, OpenTelemetry).
RUN python3 -m venv /opt/venv \
 && /opt/venv/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement /build/image.txt \
 && /opt/venv/bin/pip check \
 && /opt/venv/bin/python -m compileall -q /opt/venv/lib

FROM base
ARG VERSION=unknown
LABEL org.opencontainers.image.title="loyalty-platform" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/opt/venv/bin:$PATH \
    DATA_DIR=/data \
    STATIC_ROOT=/app/static \
    METRICS_DIR=/tmp/metrics \
    PORT=8000
RUN groupadd --gid 10001 loyalty \
 && useradd --uid 10001 --gid loyalty --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin loyalty \
 && install --directory --owner=loyalty --group=loyalty --mode=0750 /data
COPY --from=packages /opt/venv /opt/venv
WORKDIR /app
COPY manage.py ./
COPY config config
COPY locale locale
COPY brands brands
COPY core core
COPY events events
COPY jobs jobs
COPY portal portal
COPY scanpage scanpage
COPY campaigns campaigns
COPY loyalty loyalty
COPY authcodes authcodes
COPY templates templates
COPY docs docs
# Settings that are only good for collecting files; nothing of them stays in the image.
RUN SECRET_KEY=not-a-secret-it-only-collects-static-files-now DATABASE_URL=postgres://u:p@127.0.0.1/x \
    REDIS_URL=redis://127.0.0.1:6379/0 ALLOWED_HOSTS=localhost DATA_DIR=/tmp \
    python3 manage.py collectstatic --noinput --verbosity 0 \
 && python3 -m compileall -q /app
USER 10001:10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["python3", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/healthz', timeout=2)"]
CMD ["granian", "--interface", "wsgi", "--host", "0.0.0.0", "--port", "8000", "--workers", "2", "--blocking-threads", "512", "--backpressure", "512", "--no-ws", "--workers-kill-timeout", "8", "config.wsgi:application"]
