#!/usr/bin/env python3
"""Reads the JSON events of `go test -json`: prints the output of tests that failed or that never ended, and the slowest
tests, or with --counts one line of counts. Usage: summary.py [--counts] FILE [EXIT-CODE-OF-GO-TEST]"""
import collections
import json
import sys

arguments = [a for a in sys.argv[1:] if a != "--counts"]
counts_only = len(arguments) < len(sys.argv) - 1
exit_code = int(arguments[1]) if len(arguments) > 1 else 0
output = collections.defaultdict(list)
outcome = collections.Counter()
# running has the tests and packages that began, in this order, and not ended yet.
running, ended, seconds, failed, loose = {}, set(), {}, [], []
for line in open(arguments[0], errors="replace"):
    try:
        event = json.loads(line)
    except ValueError:
        loose.append(line)
        continue
    key = (event.get("Package") or event.get("ImportPath"), event.get("Test"))
    action = event.get("Action")
    if action in ("output", "build-output"):
        output[key].append(event["Output"])
    elif action in ("start", "run"):
        running[key] = True
    elif action in ("pass", "fail", "skip"):
        running.pop(key, None)
        ended.add(key)
        if key[1]:
            outcome[action] += 1
            seconds[key] = event.get("Elapsed", 0)
        if action == "fail":
            failed.append(key)
    elif action == "build-fail":
        failed.append(key)


def name(key):
    return key[0].split("/", 2)[-1] + ("." + key[1] if key[1] else "")


def within(inner, outer):
    return inner != outer and inner[0] == outer[0] and (not outer[1] or (inner[1] or "").startswith(outer[1] + "/"))


# A test or package with a part that failed or never ended is not counted again.
unended = [key for key in running if not any(within(other, key) for other in running)]
bad = failed + unended
alone = [key for key in failed if key[1] or not any(within(other, key) for other in bad)]
count = len(alone) + len(unended)
if count == 0 and exit_code != 0:
    count = 1
counts = f"{outcome['pass']} passed, {count} failed, {outcome['skip']} skipped"
if unended:
    counts += f"; {len(unended)} never ended"
if counts_only:
    print(counts)
    sys.exit(0)
sys.stdout.writelines(loose)
for key in failed:
    sys.stdout.writelines(output[key][-80:])
for key in unended:
    print(f"never ended: {name(key)}")
    sys.stdout.writelines(output[key][-80:])
    package = (key[0], None)
    if package not in failed:  # its output is above
        sys.stdout.writelines(output[package][-80:])
if count and not bad:
    print(f"go test ended with code {exit_code}")
print(f"{counts} in {sum(1 for key in ended if not key[1])} packages")
top = [key for key in seconds if "/" not in key[1] and seconds[key] >= 5]
for key in sorted(top, key=seconds.get, reverse=True)[:5]:
    print(f"  {seconds[key]:6.1f}s  {name(key)}")
if outcome["pass"] == 0:
    print("no test ran")
    sys.exit(1)
sys.exit(1 if count else 0)
