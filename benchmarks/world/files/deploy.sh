#!/usr/bin/env bash
# Brings a release to the hosts.
set -euo pipefail

usage() {
  cat <<'EOF'
usage: deploy.sh [-n] VERSION
  -n  says what would be done
# and this is no comment
EOF
}

die() { echo "deploy: $*" >&2; exit 1; }

host_list() {
  awk '
    # one host a line
    /^web/ { print $1 }
    END { if (NR == 0) exit 1 }
  ' hosts.txt
}

deploy_one() {
  local host=$1 version=$2
  ssh "$host" \
    "systemctl stop orders" \
    && scp "orders-$version.tar.gz" \
      "$host:/srv/" \
    || die "no way to $host"
  ssh "$host" <<EOF
cd /srv
tar xzf orders-$version.tar.gz
systemctl start orders
EOF
}

while getopts n option; do
  case $option in
    n) dry=1 ;;
    *)
      usage
      exit 2
      ;;
  esac
done
shift $((OPTIND - 1))
[[ $# -eq 1 ]] || { usage; exit 2; }

for host in $(host_list); do
  if [[ ${dry:-0} -eq 1 ]]; then
    echo "would deploy $1 to $host"
  else
    deploy_one "$host" "$1"
  fi
done
