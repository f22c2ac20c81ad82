#!/usr/bin/env bash
# Runs all fuzz targets, or those of the given folders, for FUZZTIME (60s) each.
# Minimization is limited, because it would take most of the time for targets with large inputs.
set -euo pipefail
cd "$(dirname "$0")/.."
grep -rl --include='*_test.go' '^func Fuzz' "${@:-.}" | xargs -n1 dirname | sort -u | while read -r folder; do
  folder=${folder#./} module=.
  case $folder in sandbox/*) module=sandbox ;; esac # a separate module
  grep -h '^func Fuzz' "$folder"/*_test.go | sed 's/func \(Fuzz[A-Za-z0-9_]*\).*/\1/' | while read -r target; do
    echo "== $folder $target"
    go test -C "$module" -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-60s}" -fuzzminimizetime 20x "./${folder#sandbox/}"
  done
done
