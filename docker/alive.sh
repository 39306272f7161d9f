#!/bin/sh
# lamr-alive: whether a Triton server answers and has all of its models' processes. Triton says that it is ready, and
# answers errors, for as long as it runs when one of these has ended; only another server helps then.
#
#   lamr-alive [--end]        with --end a server that lacks one is told to end, for runners that start a container
#                             again when it has ended, but not when it is unhealthy
#
# LAMR_HTTP is the server's HTTP address, 127.0.0.1:8000 if not given; LAMR_SERVER_PID its process, 1 if not given.
# Call it once all models are ready, and from then on: what is missing is told by what was there before.
set -eu
server=${LAMR_SERVER_PID:-1}
seen="${TMPDIR:-/tmp}/lamr-alive.$server"

count=0
for process in /proc/[0-9]*/stat; do
  read -r line 2>/dev/null < "$process" || continue
  case $line in
    *" (triton_python_b) Z "*) ;; # it has ended, and the server hasn't noticed
    *" (triton_python_b) "?" $server "*) count=$((count + 1)) ;;
  esac
done
before=$(cat "$seen" 2>/dev/null || echo 0)
if [ "$count" -lt "$before" ]; then
  echo "lamr-alive: $count of $before models' processes are left" >&2
  if [ "${1:-}" = --end ]; then kill -TERM "$server"; fi
  exit 1
fi
echo "$count" > "$seen"
exec curl --fail --silent --max-time 5 --output /dev/null "http://${LAMR_HTTP:-127.0.0.1:8000}/v2/health/live"
