#!/usr/bin/env python3
"""Reads the JSON events of `go test -json`: prints the output of failed tests and the slowest tests, or with --counts one line of counts."""
import collections
import json
import sys

counts_only = sys.argv[1] == "--counts"
output = collections.defaultdict(list)
outcome = collections.Counter()
packages = {"pass": 0, "fail": 0}
seconds = {}
failed, loose = [], []
for line in open(sys.argv[-1], errors="replace"):
    try:
        event = json.loads(line)
    except ValueError:
        loose.append(line)
        continue
    key = (event.get("Package") or event.get("ImportPath"), event.get("Test"))
    action = event.get("Action")
    if action in ("output", "build-output"):
        output[key].append(event["Output"])
    elif action in ("pass", "fail", "skip"):
        if event.get("Test"):
            outcome[action] += 1
            seconds[key] = event.get("Elapsed", 0)
        elif action in packages:
            packages[action] += 1
        if action == "fail":
            failed.append(key)
    elif action == "build-fail":
        failed.append(key)
if counts_only:
    print(f"{outcome['pass']} passed, {outcome['fail']} failed, {outcome['skip']} skipped")
    sys.exit(0)
sys.stdout.writelines(loose)
for key in failed:
    sys.stdout.writelines(output[key][-80:])
total = sum(packages.values())
print(f"{outcome['pass']} passed, {outcome['fail']} failed, {outcome['skip']} skipped in {total} packages")
top = [key for key in seconds if "/" not in key[1] and seconds[key] >= 5]
for key in sorted(top, key=seconds.get, reverse=True)[:5]:
    print(f"  {seconds[key]:6.1f}s  {key[0].split('/', 2)[-1]}.{key[1]}")
if outcome["pass"] == 0:
    print("no test ran")
    sys.exit(1)
sys.exit(1 if failed else 0)
