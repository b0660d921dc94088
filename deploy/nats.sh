#!/bin/sh
# `nats.sh [options of nats-server]` runs nats-server, and kills it once JetStream has stopped working. A full disk turns JetStream off or makes it
# hang, a removed folder loses what it stores, and only a restart helps. Docker restarts a container that exits, and not one that is unhealthy.
# `nats.sh check` exits with 0 while JetStream works: it is the container's health check.
set -u

monitor="${NATS_MONITOR:-http://127.0.0.1:8222}"
every="${NATS_WATCH_SECONDS:-5}"

# A server whose JetStream hangs still says that it is healthy. It does not answer /jsz. One whose folder was removed answers both, and writes to files
# that are gone.
works() {
  wget -q -t 1 -T 2 -O /dev/null "$monitor/healthz?js-enabled-only=true" || return 1
  state=$(wget -q -t 1 -T 2 -O - "$monitor/jsz") || return 1
  store=$(printf '%s\n' "$state" | sed -n 's/.*"store_dir": *"\([^"]*\)".*/\1/p' | head -n 1)
  [ -d "$store" ]
}

if [ "${1:-}" = check ]; then
  works
  exit
fi

# A server that reads large streams at its start is given all the time that it needs.
watch() {
  worked=no
  failures=0
  while sleep "$every"; do
    if works; then
      worked=yes
      failures=0
    else
      failures=$((failures + 1))
    fi
    if [ "$worked" = yes ] && [ "$failures" -ge 3 ]; then
      echo 'JetStream has stopped working; killing nats-server, so that its container is restarted' >&2
      # A server that hangs does not end by SIGTERM.
      kill -KILL "$server"
      return
    fi
  done
}

nats-server "$@" &
server=$!
watch &
watch=$!

# A server that was asked to stop may take its time: it is not watched any more.
trap 'kill "$watch" 2>/dev/null; kill -TERM "$server"' TERM INT
# It reads its configuration and its certificates again.
trap 'kill -HUP "$server"' HUP

# A signal ends the wait, and not always the server.
wait "$server"
status=$?
while kill -0 "$server" 2>/dev/null; do
  wait "$server"
  status=$?
done
kill "$watch" 2>/dev/null
exit "$status"
