#!/usr/bin/env bash
# Runs every fuzz target for FUZZTIME (60s), those in the folders given, or all.
# Minimising is bounded: without that, a target with large inputs does little else.
set -euo pipefail
cd "$(dirname "$0")/.."
grep -rl --include='*_test.go' '^func Fuzz' "${@:-.}" | xargs -n1 dirname | sort -u | while read -r folder; do
  folder=${folder#./} module=.
  case $folder in sandbox/*) module=sandbox ;; esac # a module of its own
  grep -h '^func Fuzz' "$folder"/*_test.go | sed 's/func \(Fuzz[A-Za-z0-9_]*\).*/\1/' | while read -r target; do
    echo "== $folder $target"
    go test -C "$module" -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-60s}" -fuzzminimizetime 20x "./${folder#sandbox/}"
  done
done
