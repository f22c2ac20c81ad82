#!/usr/bin/env bash
# Installs the missing system packages that the sandbox requires. With the argument "tests", also those of the tests, and
# with "arm64" the emulator for tests of linux/arm64.
set -euo pipefail
need=()
command -v nft >/dev/null || need+=(nftables)
command -v ip >/dev/null || need+=(iproute2)
python3 -m pip --version >/dev/null 2>&1 || need+=(python3-pip)
if [ "${1:-}" = tests ]; then
  command -v musl-gcc >/dev/null || need+=(musl-tools)
  command -v javac >/dev/null || need+=(default-jdk-headless)
  command -v mvn >/dev/null || need+=(maven)
fi
[ "${1:-}" != arm64 ] || command -v qemu-aarch64-static >/dev/null || need+=(qemu-user-static)
[ ${#need[@]} -eq 0 ] && exit 0
if ! command -v apt-get >/dev/null; then
  echo "please install: ${need[*]}" >&2
  exit 1
fi
sudo=""
[ "$(id -u)" -eq 0 ] || sudo=sudo
echo "installing ${need[*]}"
$sudo apt-get -qq update
DEBIAN_FRONTEND=noninteractive $sudo apt-get -qq install -y --no-install-recommends "${need[@]}" >/dev/null
