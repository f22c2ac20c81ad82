# Sends a numbered line on each flow 50 times a second until the file STOP exists, and prints what came back as JSON. The
# file STOP.now has what came back until now; it is made after some seconds, or when each flow has had an answer.
# Arguments: STOP, then PROTOCOL/ADDRESS/PORT/SOURCE for each flow, where SOURCE is [ADDRESS:]PORT or empty.
import json, os, socket, sys, time

stop, *specs = sys.argv[1:]
flows = []
for spec in specs:
    protocol, address, port, source = spec.split("/")
    flow = socket.socket(socket.AF_INET, socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM)
    if source:
        at, _, number = source.rpartition(":")
        flow.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        flow.bind((at, int(number)))
    flow.connect((address, int(port)))
    flow.setblocking(False)
    flows.append(dict(socket=flow, flow=spec, sent=0, received=0, answers={}, errors=[]))


def drain(one):
    try:
        while data := one["socket"].recv(65536):
            for line in data.decode().splitlines():
                one["received"] += 1
                who = line.rpartition(" ")[0]
                one["answers"][who] = one["answers"].get(who, 0) + 1
        one["errors"].append("end of stream")
    except BlockingIOError:
        return
    except OSError as e:
        one["errors"].append(str(e))


def report():
    return json.dumps([{key: value for key, value in one.items() if key != "socket"} for one in flows])


written, limit = 0, time.time() + 5
while not os.path.exists(stop):
    now = time.time()
    if now > written + 0.2 and (now > limit or written or all(one["received"] for one in flows)):
        written = now
        with open(stop + ".next", "w") as file:
            file.write(report())
        os.rename(stop + ".next", stop + ".now")
    for one in flows:
        if len(one["errors"]) > 100:
            continue
        one["sent"] += 1
        try:
            one["socket"].send(f"{one['sent']}\n".encode())
        except OSError as e:
            one["errors"].append(str(e))
        drain(one)
    time.sleep(0.02)
limit = time.time() + 2
while time.time() < limit and any(one["received"] < one["sent"] for one in flows):
    for one in flows:
        drain(one)
    time.sleep(0.02)
print(report())
