#!/usr/bin/env bash
# Runs a command and tells how long it has been at it. Usage: progress.sh TEXT COMMAND...
set -uo pipefail
text=$1; shift
log=$(mktemp); trap 'rm -f "$log"' EXIT
"$@" >"$log" 2>&1 & child=$!
start=$SECONDS
while kill -0 "$child" 2>/dev/null; do
  took=$((SECONDS - start))
  if [ -t 1 ]; then printf '\r%s … %ds ' "$text" "$took"; elif [ $((took % 30)) -eq 2 ]; then echo "$text … ${took}s"; sleep 1; fi
  sleep 0.5
done
wait "$child"; code=$?
[ -t 1 ] && printf '\r'
if [ $code -ne 0 ]; then echo "$text: failed"; cat "$log"; exit $code; fi
echo "$text: done in $((SECONDS - start))s"
