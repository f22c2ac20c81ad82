#!/usr/bin/env bash
# Runs the tests of the transport for linux/arm64, with an emulator where the machine has another architecture.
# The skipped tests start programs: clients of this machine, and a server process that the emulator cannot start.
set -euo pipefail
cd "$(dirname "$0")/.."
run=()
if [ "$(uname -m)" != aarch64 ]; then
  hack/packages.sh arm64
  run=(-exec qemu-aarch64-static)
fi
export GOOS=linux GOARCH=arm64 CGO_ENABLED=0
go test "${run[@]}" -timeout 15m -skip '^(TestClientsReceivePushes|TestMemoryOfOneCertificate)$' \
  ./internal/delivery/socket ./internal/delivery/grpcserver ./internal/delivery/xds
