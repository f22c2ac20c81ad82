#!/usr/bin/env bash
# Runs the tests and prints a summary with durations. Usage: test.sh [unit|long]
# The caller sets the compiler flags, as the Makefile does.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PATH" ANYMESH_BIN="$PWD/bin"
what=${1:-all}
results=() failed=0
run() {
  local name=$1 start=$SECONDS out; shift
  out=$(mktemp)
  echo "== $name"
  "$@" -json >"$out" 2>&1
  local code=$?
  python3 hack/summary.py "$out" || code=1
  local counts; counts=$(python3 hack/summary.py --counts "$out")
  [ $code -eq 0 ] || failed=1
  results+=("$(printf '%-28s %-34s %5ds  %s' "$name" "$counts" $((SECONDS - start)) "$([ $code -eq 0 ] && echo ok || echo FAILED)")")
  rm -f "$out"
}
units=$(go list ./... | grep -v /test/e2e)
run "units and cases" env CGO_ENABLED=1 go test -race $units
if [ "$what" != unit ]; then
  run "sandbox" env SANDBOX_BIN="$PWD/bin/anymesh-sandbox" go -C sandbox test -count=1 -timeout 15m ./...
  [ "$what" != long ] || export ANYMESH_TEST_LONG=1
  run "end to end" go test -count=1 -timeout 30m ./test/e2e/...
fi
printf '\ntest runs, in %d:%02d minutes\n' $((SECONDS / 60)) $((SECONDS % 60))
printf '  %s\n' "${results[@]}"
[ $failed -eq 0 ] && echo "all passed" || echo "FAILED"
exit $failed
