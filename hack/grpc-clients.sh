#!/usr/bin/env bash
# Installs the gRPC libraries of the tests' clients in Python and Java. Usage: grpc-clients.sh OUTPUT
# pip and Maven fetch them, with the settings of this machine.
set -euo pipefail
output=$(realpath -m "$1")
cd "$(dirname "$0")/.."
sources=internal/delivery/grpcserver/testdata/clients
new=$output.new
rm -rf "$new"
mkdir -p "$new/java"
echo "fetching the gRPC libraries of Python and Java (25 MB)"
python3 -m pip install --quiet --root-user-action=ignore --disable-pip-version-check --no-deps --only-binary=:all: --target "$new/python" grpcio==1.74.0
mvn --quiet --batch-mode --no-transfer-progress -f "$sources/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$new/jars" >/dev/null
javac -cp "$new/jars/*" -d "$new/java" "$sources/Push.java"
rm -rf "$output"
mv "$new" "$output"
