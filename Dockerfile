# The service in a container: docs/deploy.md says how it is run.
ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS build
# More than the service: --build-arg EXTRAS=server,llm
ARG EXTRAS=server
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
    && python -m venv --without-pip /opt/memstrata \
    && pip --python /opt/memstrata/bin/python install --no-cache-dir \
        "$(echo /wheels/memstrata-*.whl)[${EXTRAS}]"

FROM python:${PYTHON}-slim
COPY --from=build /opt/memstrata /opt/memstrata
# The store is on one volume, settings and the vault's key on another: never the key beside the data.
RUN install --directory --mode=0700 --owner=10001 --group=10001 /data /config
ENV PATH=/opt/memstrata/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp \
    XDG_CONFIG_HOME=/config \
    MEMSTRATA_URL=/data/memstrata.db
USER 10001:10001
VOLUME ["/data", "/config"]
EXPOSE 8283
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8283, timeout=4); c.request('GET', '/readyz'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["memstrata"]
# Beyond its own loopback, as what comes from outside the container does; it then wants keys.
# What `load` is sent passes through /tmp, which is small.
CMD ["serve", "--host", "0.0.0.0", "--port", "8283", "--max-load", "200M"]
