#!/bin/sh
# lamr-drain: a Triton server takes no new requests, and those that it has are answered. Call it before SIGTERM, which
# alone would unload the models while requests still run through them.
#
# A front's check fails as soon as the model is unloaded, so a second later nothing is sent here any more.
#
#   lamr-drain [SECONDS]      how long to wait for requests under way, 30 if not given
#
# LAMR_HTTP is the server's HTTP address, 127.0.0.1:8000 if not given.
set -eu
models="http://${LAMR_HTTP:-127.0.0.1:8000}/v2/repository"
left=${1:-30}
ask() { curl --fail --silent --show-error --max-time 5 --request POST "$1"; }

ask "$models/models/lamr/unload"
sleep 1
while [ "$left" -gt 0 ] && ask "$models/index" | grep -q UNLOADING; do
  sleep 1
  left=$((left - 1))
done
