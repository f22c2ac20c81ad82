"""A client of grpcio with default options. It asks for pushes, and prints how many it received."""
import queue
import sys

import grpc

address, method, at_once = sys.argv[1], sys.argv[2], int(sys.argv[3])
requests = queue.SimpleQueue()
requests.put(b"more")
received = 0
with grpc.insecure_channel(address) as channel:
    call = channel.stream_stream(method, request_serializer=None, response_deserializer=None)
    for push in call(iter(requests.get, None)):
        received += 1
        if received % at_once == 0:
            requests.put(b"more")
print(received)
