# Phones at 192.0.2.LEG talk through port 8000+LEG of a gateway until each has heard another one. Arguments: GATEWAY LEG...
import socket, sys, time

gateway, legs = sys.argv[1], [int(leg) for leg in sys.argv[2:]]
phones = {}
for leg in legs:
    phone = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    phone.bind((f"192.0.2.{leg}", 8000 + leg))
    phone.connect((gateway, 8000 + leg))
    phone.settimeout(0.02)
    phones[leg] = phone
heard, workers, end = {}, set(), time.time() + 5
while len(heard) < len(legs) and time.time() < end:
    for leg, phone in phones.items():
        try:
            phone.send(f"leg-{leg}".encode())
            worker, text = phone.recv(100).decode().split(" ")
        except OSError:
            continue
        workers.add(worker)
        if text != f"leg-{leg}":
            heard[leg] = text
if len(heard) < len(legs) or len(workers) != 1:
    sys.exit(f"heard {heard} through {workers}")
print(heard, workers)
