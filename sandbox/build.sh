#!/bin/sh
# Builds the sandbox: build.sh [OUTPUT [GO BUILD FLAGS]]. -trimpath and CGO_ENABLED must be those of the Makefile, otherwise Kubernetes is
# compiled again.
set -eu
out=${1:-sandbox}
[ $# -eq 0 ] || shift
case $out in /*) ;; *) out=$PWD/$out ;; esac
cd "$(dirname "$0")"
version=v1.36.3
x=k8s.io/component-base/version
CGO_ENABLED=0 exec go build -trimpath "$@" -ldflags "-s -w \
  -X $x.gitVersion=$version -X $x.gitMajor=1 -X $x.gitMinor=36 -X $x.gitTreeState=clean \
  -X k8s.io/client-go/pkg/version.gitVersion=$version" -o "$out" ./cmd/sandbox
