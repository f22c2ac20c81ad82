#!/usr/bin/env bash
# Runs a command and shows its progress. Usage: [PACKAGES=N] progress.sh TEXT COMMAND...
# With PACKAGES, the command is "go build -v", which prints each package that it compiles, and N is the number of all packages.
# Packages in the build cache are not compiled, so the share is a lower bound.
set -uo pipefail
text=$1 packages=${PACKAGES:-0}; shift
log=$(mktemp); trap 'rm -f "$log"' EXIT
"$@" >"$log" 2>&1 & child=$!
start=$SECONDS last=0
while kill -0 "$child" 2>/dev/null; do
  took=$((SECONDS - start)) share=""
  [ "$packages" -eq 0 ] || share=" $(($(wc -l <"$log") * 100 / packages)) %"
  if [ -t 1 ]; then
    printf '\r%s …%s %ds ' "$text" "$share" "$took"
  elif [ "$took" -ge $((last + 30)) ]; then
    echo "$text …$share ${took}s"
    last=$took
  fi
  sleep 0.5
done
wait "$child"; code=$?
[ -t 1 ] && printf '\r\033[K'
if [ $code -ne 0 ]; then echo "$text: failed"; tail -n 100 "$log"; exit $code; fi
echo "$text: done in $((SECONDS - start))s"
