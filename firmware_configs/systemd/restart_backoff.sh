#!/bin/sh
# Waits before a restart, the longer the more often the daemon failed in a row. Called by the unit:
#   restart_backoff.sh wait    before the start: none after the first failure, then 5 s, doubled with each one, at most 300 s
#   restart_backoff.sh ended   after the end: counts a failure ($SERVICE_RESULT is not "success"), or forgets them
# A daemon that ran for 10 minutes before it failed starts the count again.
set -eu
count="${RUNTIME_DIRECTORY:?}/failures" started="$RUNTIME_DIRECTORY/started"
failures=$(cat "$count" 2>/dev/null || echo 0)
case "$1" in
  wait)
    if [ "$failures" -gt 1 ]; then
      steps=$((failures < 8 ? failures - 2 : 6))
      seconds=$((5 << steps))
      [ "$seconds" -le 300 ] || seconds=300
      echo "<5>failed $failures times in a row: starts again in $seconds s"
      ${EDGEMEM_SLEEP:-sleep} "$seconds"
    fi
    : >"$started"
    ;;
  ended)
    if [ "${SERVICE_RESULT:-success}" = success ]; then
      rm -f "$count"
      exit 0
    fi
    if [ -n "$(find "$started" -mmin +10 2>/dev/null)" ]; then
      failures=0
    fi
    echo $((failures + 1)) >"$count"
    ;;
  *)
    echo "restart_backoff.sh wait|ended" >&2
    exit 2
    ;;
esac
