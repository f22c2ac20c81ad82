#!/usr/bin/env bash
# Runs the tests, shows their progress, and prints a summary with durations. Usage: test.sh [unit|long]
# The caller sets the compiler flags, as the Makefile does.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PATH" ANYMESH_BIN="$PWD/bin"
what=${1:-all}
results=() failed=0
declare -A pids starts
folder=$(mktemp -d)
python3 hack/testprogress.py "$folder" & progress=$!
trap 'kill "$progress" 2>/dev/null; rm -rf "$folder"' EXIT
# start runs go test in the background; finish waits for it, and prints its summary.
start() {
  local name=$1; shift
  starts[$name]=$SECONDS
  { "$@" -json >"$folder/$name.json" 2>&1; local code=$?; : 2>/dev/null >"$folder/$name.ended"; exit $code; } &
  pids[$name]=$!
}
finish() {
  local name=$1 out=$folder/$1.json code counts
  wait "${pids[$name]}"
  code=$?
  exec 9>"$folder/lock"; flock -w 10 9 # no progress within the summary
  [ ! -t 1 ] || printf '\r\033[K'
  echo "== $name"
  python3 hack/summary.py "$out" "$code" || code=1
  counts=$(python3 hack/summary.py --counts "$out" "$code")
  [ $code -eq 0 ] || failed=1
  results+=("$(printf '%-28s %-50s %5ds  %s' "$name" "$counts" $((SECONDS - ${starts[$name]})) "$([ $code -eq 0 ] && echo ok || echo FAILED)")")
  rm -f "$out" "$folder/$name.ended"
  exec 9>&-
}
run() { start "$@"; finish "$1"; }
# Most of these have one goroutine: without the race detector, they take a fifth of the time. The long run uses it for all
# but the rules.
rules="./docs ./test/presubmit"
plain="$rules ./hack/images ./program $(go list ./internal/dialect/... ./internal/cli ./internal/cli/lint ./internal/cli/install)"
[ "$what" != long ] || plain=$rules
units=$(go list ./... | grep -v -e /test/e2e -e /internal/observe$ | grep -v -x -F "$(go list $plain)")
[ "$what" != long ] || export ANYMESH_CONFORMANCE_DERIVED=all
# The cases wait for timers of sidecars, beside the others.
start "cases" env CGO_ENABLED=1 go test -race -timeout 30m ./internal/observe
run "pages, rules and pure code" go test $plain
run "units" env CGO_ENABLED=1 go test -race -timeout 30m $units
finish "cases"
[ "$what" != long ] ||
  run "proxy, minutes of load" env ANYMESH_TEST_LONG=1 go test -count=1 -timeout 30m ./internal/proxy -run '^TestLong'
[ "$what" != long ] ||
  run "variants of drivers" env ANYMESH_TEST_LONG=1 go test -count=1 -timeout 30m ./internal/observe -run '^Test(Broken|Undeclared|OldestEnvoy)'
if [ "$what" != unit ]; then
  [ "$what" != long ] || export ANYMESH_TEST_LONG=1
  # Tests with clusters wait most of the time. Three processes run side by side, each with a shared cluster. The second
  # has the tests of the sandbox, then those that start more clusters, and some of the longest others. The third has
  # l7mp, and the longest others.
  second='^Test(Outages|CertificatesAndRootRotateUnderLoad|Aggregator.*|ClusterImport|ThirdPartyDrivers|TwoDialects|DNS|ColorsWithEachDriver)$'
  third='^Test(Bookstore|L7mp.*|NativeSidecar|Gateway|Migration|ObjectsRotateTheRootUnderLoad|ServicesShareAPort|UninstallLeavesObjectsAndTraffic)$'
  attacks='^TestHostile'
  start "end to end" go test -count=1 -timeout 30m ./test/e2e/... -skip "$second|$third|$attacks"
  start "end to end, third cluster" go test -count=1 -timeout 30m ./test/e2e -run "$third"
  run "sandbox" env SANDBOX_BIN="$PWD/bin/anymesh-sandbox" go -C sandbox test -count=1 -timeout 15m ./...
  run "end to end, second cluster" go test -count=1 -timeout 30m ./test/e2e -run "$second"
  finish "end to end, third cluster"
  finish "end to end"
  [ "$what" != long ] || run "end to end, attacks" go test -count=1 -timeout 30m ./test/e2e -run "$attacks"
fi
printf '\ntest runs, in %d:%02d minutes\n' $((SECONDS / 60)) $((SECONDS % 60))
printf '  %s\n' "${results[@]}"
[ $failed -eq 0 ] && echo "all passed" || echo "FAILED"
exit $failed
