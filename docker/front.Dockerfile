# The front: HAProxy with what renders its configuration, and nothing of Triton or torch.
#
#   docker build -f docker/front.Dockerfile -t lamr-front .
#
# It reads /etc/lamr/tenants.toml and writes below /run/lamr alone, so its root may be read-only.
FROM python:3.12-slim

COPY . /tmp/lamr
RUN pip install --no-cache-dir "/tmp/lamr[front]" \
 && rm -rf /tmp/lamr \
 && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin lamr

ENV PYTHONDONTWRITEBYTECODE=1 \
    LAMR_TENANTS=/etc/lamr/tenants.toml \
    LAMR_FRONT_DIR=/run/lamr/front
USER 10001
EXPOSE 8443 8405

HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8405/ready', timeout=2)"]

ENTRYPOINT ["lamr", "front"]
CMD ["run"]
