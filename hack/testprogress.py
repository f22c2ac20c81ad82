#!/usr/bin/env python3
"""Shows the progress of test runs: names each test that fails at once, and prints what runs, with counts. In a terminal
it rewrites one line, elsewhere it prints a line every EVERY seconds (30). Usage: testprogress.py FOLDER
FOLDER has a file LANE.json for each run of `go test -json`, and LANE.ended once it has ended. This program ends with
the folder, or with the process that began it.
It prints nothing while another process holds a lock of FOLDER/lock."""
import fcntl
import json
import os
import shutil
import sys
import time

folder, every, terminal = sys.argv[1], float(os.environ.get("EVERY", "30")), sys.stdout.isatty()
begin, parent = time.monotonic(), os.getppid()


class Lane:
    """What is known of a run of `go test -json`."""

    def __init__(self, path):
        self.file, self.rest = open(path, errors="replace"), ""
        # running has the tests that are not paused, and when they began; failed the tests and packages that failed.
        self.running, self.failed = {}, []
        self.passed, self.began = 0, False

    def read(self):
        """Reads what is new, and returns the names of what failed."""
        lines = (self.rest + self.file.read()).split("\n")
        self.rest = lines.pop()
        return [name for line in lines if '"Action":"output"' not in line for name in self.take(line)]

    def take(self, line):
        try:
            event = json.loads(line)
            package, test, action = event.get("Package") or event["ImportPath"], event.get("Test"), event["Action"]
        except (ValueError, KeyError, TypeError, AttributeError):
            return
        self.began = self.began or action == "start"
        key = (package, test or "")
        if action in ("run", "cont"):
            self.running[key] = time.monotonic()
        elif action in ("pause", "pass", "fail", "skip"):
            self.running.pop(key, None)
        self.passed += action == "pass" and bool(test)
        if action in ("fail", "build-fail"):
            inner = [k for k in self.failed if k[0] == package and (not test or k[1].startswith(test + "/"))]
            # They are counted as in the summary. One with a part that failed is not named again.
            if test or not (inner or event.get("FailedBuild")):
                self.failed.append(key)
                if not inner:
                    yield name(key)

    def slowest(self):
        """The test that runs for the longest time, and since when."""
        return min(((since, key[1]) for key, since in self.running.items() if "/" not in key[1]), default=None)


def name(key):
    return key[0].split("/", 2)[-1] + ("." + key[1] if key[1] else "")


def counts(lanes):
    if not any(lane.began for lane in lanes):
        return "compiling"
    text = f"{sum(lane.passed for lane in lanes)} passed, {sum(len(lane.failed) for lane in lanes)} failed"
    slow = min(filter(None, (lane.slowest() for lane in lanes)), default=None)
    if slow and time.monotonic() - slow[0] >= 2:
        text += f", {slow[1]} runs for {time.monotonic() - slow[0]:.0f}s"
    return text


def status(lanes):
    took = "{}:{:02d}  ".format(*divmod(int(time.monotonic() - begin), 60))
    ended = [lane for lane in lanes if os.path.exists(os.path.join(folder, lane + ".ended"))]
    if terminal:  # one line has no room for the counts of each
        running = " + ".join(lane for lane in lanes if lane not in ended) or "ending"
        return (took + running + ": " + counts(lanes.values()))[: shutil.get_terminal_size().columns - 1]
    return took + "; ".join(f"{lane}: {counts([lanes[lane]])}{', ended' * (lane in ended)}" for lane in lanes)


def show(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def main():
    lanes, failures, shown = {}, [], begin
    with open(os.path.join(folder, "lock"), "w") as lock:
        while os.getppid() == parent:
            files = {file[:-5]: os.path.join(folder, file) for file in os.listdir(folder) if file.endswith(".json")}
            lanes = {lane: lanes.get(lane) or Lane(path) for lane, path in sorted(files.items())}
            for lane in lanes.values():
                failures += lane.read()
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.1)
                continue
            clear = "\r\033[K" if terminal else ""
            show("".join(f"{clear}failed: {failure}\n" for failure in failures))
            failures = []
            if lanes and (terminal or time.monotonic() - shown >= every):
                shown = time.monotonic()
                show(clear + status(lanes) + ("" if terminal else "\n"))
            fcntl.flock(lock, fcntl.LOCK_UN)
            time.sleep(0.5)


try:
    main()
except (OSError, KeyboardInterrupt):
    pass  # the folder or the output is gone
