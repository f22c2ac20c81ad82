#!/usr/bin/env python3
"""Calls servers with the resolver of Python, which is that of its C library. Input and output are those of call.c."""

import socket
import sys

FAMILIES = {"any": socket.AF_UNSPEC, "ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}
REQUESTS = {"tcp": "hello\n", "http": "GET / HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"}


def dial(addresses):
    """Connects to the first address that accepts."""
    for family, kind, number, _, address in addresses:
        s = socket.socket(family, kind, number)
        s.settimeout(5)
        try:
            s.connect(address)
            return s
        except OSError as e:
            s.close()
            failed = e
    raise failed


def call(family, host, port, protocol):
    try:
        addresses = socket.getaddrinfo(host, port, FAMILIES[family], socket.SOCK_STREAM)
    except socket.gaierror as e:
        return "unresolved" if e.errno in (socket.EAI_NONAME, socket.EAI_NODATA) else f"error: {e}"
    answer = b""
    try:
        with dial(addresses) as s:
            s.sendall(REQUESTS[protocol].format(host=host, port=port).encode())
            if protocol == "tcp":
                s.shutdown(socket.SHUT_WR)
            # Proxies delay the end of the connection after an error status.
            while not answer.startswith(b"HTTP/1.1 4") and (received := s.recv(4096)):
                answer += received
    except OSError as e:
        return f"{answer.decode()}error: {e}"
    return " ".join(answer.decode().split())


for line in sys.stdin:
    print(call(*line.split()), flush=True)
