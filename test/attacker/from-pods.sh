#!/bin/sh
# Runs a program in the network of each of several pods, which share half a core. In: the IPv4 addresses of the pods,
# separated by commas, the program and its arguments. Out: what the programs print. It must run on the node, in its
# process namespace, as root: anymesh sandbox exec -- from-pods.sh ...
set -eu
addresses=$1
shift

# process_at prints a process of the pod with an address. The node has a route to the address, but the pod has the
# address itself.
process_at() {
	for p in /proc/[0-9]*; do
		if grep -wF -A1 "$1" "$p/net/fib_trie" 2>/dev/null | grep -q "host LOCAL"; then
			echo "${p#/proc/}"
			return
		fi
	done
	echo "$0: no process has the address $1" >&2
	return 1
}

# Short periods: the rest of the machine is used evenly.
if [ -d /sys/fs/cgroup/cpu ]; then # version 1
	group=$(mktemp -d /sys/fs/cgroup/cpu/attacker-XXXXXX)
	echo 10000 >"$group/cpu.cfs_period_us"
	echo 5000 >"$group/cpu.cfs_quota_us"
else
	group=$(mktemp -d /sys/fs/cgroup/attacker-XXXXXX)
	echo "5000 10000" >"$group/cpu.max"
fi
trap 'rmdir "$group"' EXIT

jobs=
for address in $(echo "$addresses" | tr , ' '); do
	pid=$(process_at "$address")
	( echo 0 >"$group/cgroup.procs" && exec nsenter --net="/proc/$pid/ns/net" "$@" ) &
	jobs="$jobs $!"
done
failed=0
for job in $jobs; do wait "$job" || failed=1; done
exit $failed
