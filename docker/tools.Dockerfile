# The command `lamr`: prune, pack, status, http and mcp, as clients of a front or a server.
#
#   docker build -f docker/tools.Dockerfile -t lamr-tools .
#   docker run --rm -i --read-only -e LAMR_SERVER -e LAMR_API_KEY lamr-tools prune - -q QUESTION < FILE
#
# `lamr-tools http --host 0.0.0.0` answers over HTTP; --tmpfs /tmp where it shall keep originals.
FROM python:3.12-slim

COPY . /tmp/lamr
RUN pip install --no-cache-dir "/tmp/lamr[http,mcp]" \
 && rm -rf /tmp/lamr \
 && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin lamr

ENV PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
USER 10001

HEALTHCHECK --interval=30s --timeout=10s CMD ["lamr", "--version"]

ENTRYPOINT ["lamr"]
CMD ["--help"]
