#!/usr/bin/env bash
# Unpacks HAProxy and nginx, which the benchmark of the proxy compares with, from their Debian packages, without
# installing them. Usage: proxies.sh OUTPUT-FOLDER
set -euo pipefail
out=$1
[ ! -e "$out/done" ] || exit 0
if ! command -v apt-get >/dev/null; then
  echo "HAProxy and nginx are unpacked from Debian packages, and there is no apt-get" >&2
  exit 1
fi
sudo=""
[ "$(id -u)" -eq 0 ] || sudo=sudo
packages=(haproxy nginx libnginx-mod-stream liblua5.3-0 libpcre2-8-0 libopentracing1 libopentracing-c-wrapper0)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
apt-cache show haproxy >/dev/null 2>&1 || $sudo apt-get -qq update
rm -rf "$out"
mkdir -p "$out"
# Their libraries that a system without them lacks come along.
(cd "$work" && apt-get -qq download "${packages[@]}" 2>/dev/null ||
  { $sudo apt-get -qq update && apt-get -qq download "${packages[@]}"; })
for package in "$work"/*.deb; do
  dpkg-deb -x "$package" "$out"
done
touch "$out/done"
