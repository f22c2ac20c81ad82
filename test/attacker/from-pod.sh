#!/bin/sh
# Runs a program in the network of a pod, with at most half a core. In: the pod's IPv4 address, the program and its
# arguments; CPU_QUOTA, of 10000, if several share half a core. It must run on the node, in its process namespace, as root: anymesh sandbox exec -- from-pod.sh ...
set -eu
address=$1
shift

pid=
for p in /proc/[0-9]*; do
	# The node has a route to the address, but the pod has the address itself.
	grep -wF -A1 "$address" "$p/net/fib_trie" 2>/dev/null | grep -q "host LOCAL" || continue
	pid=${p#/proc/}
	break
done
[ -n "$pid" ] || { echo "$0: no process has the address $address" >&2; exit 1; }

# Short periods: the rest of the machine is used evenly.
if [ -d /sys/fs/cgroup/cpu ]; then # version 1
	group=/sys/fs/cgroup/cpu/attacker-$$
	mkdir "$group"
	echo 10000 >"$group/cpu.cfs_period_us"
	echo "${CPU_QUOTA:-5000}" >"$group/cpu.cfs_quota_us"
else
	group=/sys/fs/cgroup/attacker-$$
	mkdir "$group"
	echo "${CPU_QUOTA:-5000} 10000" >"$group/cpu.max"
fi
trap 'rmdir "$group"' EXIT
( echo 0 >"$group/cgroup.procs" && exec nsenter --net="/proc/$pid/ns/net" "$@" )
