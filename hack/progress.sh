#!/usr/bin/env bash
# Runs a command and shows its progress. Usage: [COUNT="go list ..."] progress.sh TEXT COMMAND...
# A command that ends within AFTER seconds (2) prints nothing, so that what is up to date is quiet.
# Where the output is no terminal, it prints a line every EVERY seconds (30).
# With COUNT, the command is "go build -v", which prints each package that it compiles, and COUNT lists all packages.
# Packages in the build cache are not compiled, so the share is a lower bound.
set -uo pipefail
text=$1 after=${AFTER:-2} every=${EVERY:-30}; shift
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
log=$folder/log counted=$folder/count
"$@" >"$log" 2>&1 & child=$!
start=$SECONDS next=$after counter=""
while kill -0 "$child" 2>/dev/null; do
  took=$((SECONDS - start)) progress=""
  if [ "$took" -ge "$after" ]; then
    if [ -n "${COUNT:-}" ] && [ -z "$counter" ]; then
      ($COUNT 2>/dev/null | wc -l >"$counted.new"; mv "$counted.new" "$counted") & counter=$!
    fi
    modules=$(grep -c '^go: downloading' "$log") compiled=$(grep -vc '^go: ' "$log")
    if [ "$compiled" -gt 0 ] && [ -s "$counted" ] && [ "$(<"$counted")" -gt 0 ]; then
      progress=" $((compiled * 100 / $(<"$counted"))) %"
    elif [ "$modules" -gt 0 ] && [ "$compiled" -eq 0 ]; then
      progress=" fetched $modules modules"
    fi
    if [ -t 1 ]; then
      printf '\r\033[K%s …%s %ds ' "$text" "$progress" "$took"
    elif [ "$took" -ge "$next" ]; then
      echo "$text …$progress ${took}s"
      next=$((took + every))
    fi
  fi
  sleep 0.2
done
wait "$child"; code=$?
if [ -n "$counter" ]; then kill "$counter" 2>/dev/null; wait "$counter" 2>/dev/null; fi # the folder goes away
[ ! -t 1 ] || printf '\r\033[K'
if [ $code -ne 0 ]; then echo "$text: failed"; tail -n 100 "$log"; exit $code; fi
took=$((SECONDS - start))
[ "$took" -lt "$after" ] || echo "$text: done in ${took}s"
