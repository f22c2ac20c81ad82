#!/usr/bin/env bash
# Compiles for each platform: the whole module for Linux, the CLI for the others. Vets the transport and the proxy with their tests for
# linux/arm64, because they make system calls. Usage: cross.sh OS/ARCH...
# Use "make cross": it sets the flags of all builds. Other flags recompile everything.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
for platform in "$@"; do
  export GOOS=${platform%/*} GOARCH=${platform#*/}
  packages=./cmd/anymesh
  [ "$GOOS" != linux ] || packages=./...
  start=$SECONDS
  go build -o /dev/null "$packages"
  [ "$platform" != linux/arm64 ] || go vet ./internal/delivery/... ./internal/proxy/...
  printf '%-14s %-14s ok, %ds\n' "$platform" "$packages" $((SECONDS - start))
done
