#!/usr/bin/env bash
# Fails if "make generate" changes a file. Uncommitted changes are allowed.
set -euo pipefail
cd "$(dirname "$0")/.."
files() { git ls-files -z --cached --others --exclude-standard | xargs -0 sha256sum 2>/dev/null || true; } # links to folders have no checksum
before=$(files)
make --no-print-directory generate
changed=$({ diff <(echo "$before") <(files) || true; } | awk '/^[<>]/ { print $3 }' | sort -u)
if [ -n "$changed" ]; then
  printf 'These generated files were outdated; commit the output of "make generate":\n%s\n' "$changed" >&2
  exit 1
fi
echo "generated files are current"
