# Answers what clients of its sockets send: HOST:PORT:CLIENT DATA, where CLIENT is the port of the client. Arguments:
# PROTOCOL ADDRESS PORT, unix FILE START: the socket is made when the file START exists, or forward PORT TO: connections
# to a port go on to another one of this machine.
import json, os, signal, socket, sys, threading, time

signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
host = socket.gethostname()


def stream(listener, port):
    listener.listen(128)
    while True:
        threading.Thread(target=lines, args=listener.accept() + (port,), daemon=True).start()


def lines(connection, peer, port):
    name = f"{host}:{port}:{peer[1] if peer else ''} ".encode()
    try:
        while data := connection.recv(65536):
            connection.sendall(b"".join(name + line for line in data.splitlines(keepends=True)))
    except OSError:
        pass


def packets(server, port):
    while True:
        data, peer = server.recvfrom(65536)
        server.sendto(f"{host}:{port}:{peer[1]} ".encode() + data, peer)


def jsonsocket(server):
    peers = set()
    while True:
        data, peer = server.recvfrom(65536)
        if peer in peers:
            server.sendto(host.encode() + b" " + data, peer)
            continue
        if "JSONSocketVersion" in json.loads(data):
            peers.add(peer)
            server.sendto(b'{"JSONSocketVersion": 1, "JSONSocketStatus": 200, "JSONSocketMessage": "OK"}', peer)


def forward(port, to):
    listener = socket.create_server(("0.0.0.0", port))
    while True:
        one = listener.accept()[0]
        try:
            other = socket.create_connection(("127.0.0.1", to))
        except OSError:
            one.close()
            continue
        for a, b in ((one, other), (other, one)):
            threading.Thread(target=copy, args=(a, b), daemon=True).start()


def copy(source, to):
    try:
        while data := source.recv(65536):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def unix(file, start):
    while not os.path.exists(start):
        time.sleep(0.05)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(file)
    os.chmod(file, 0o777)
    stream(listener, "unix")


arguments = sys.argv[1:]
while arguments:
    protocol, address, port, *arguments = arguments
    if protocol == "unix":
        threading.Thread(target=unix, args=(address, port)).start()
        continue
    if protocol == "forward":
        threading.Thread(target=forward, args=(int(address), int(port))).start()
        continue
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((address, int(port)))
    run = {"tcp": stream, "udp": packets}.get(protocol)
    threading.Thread(target=run or jsonsocket, args=(server, port) if run else (server,)).start()
while True:
    signal.pause()
