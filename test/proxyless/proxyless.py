#!/usr/bin/env python3
"""The program of main.go in Python. GRPC_PYTHON is the folder with the gRPC library."""
import collections, concurrent.futures, http.server, json, os, sys, urllib.parse

sys.path.insert(0, os.environ["GRPC_PYTHON"])
import grpc  # noqa: E402
import grpc.experimental  # noqa: E402

VERSION = sys.argv[1]


class Answer(grpc.GenericRpcHandler):
    def service(self, details):
        text = VERSION.encode()  # google.protobuf.StringValue: field 1
        return grpc.unary_unary_rpc_method_handler(lambda request, context: b"\x0a" + bytes([len(text)]) + text)


server = grpc.server(concurrent.futures.ThreadPoolExecutor(8), xds=True)
server.add_generic_rpc_handlers((Answer(),))
server.add_secure_port("0.0.0.0:50051", grpc.xds_server_credentials(grpc.insecure_server_credentials()))
server.start()
channels = {}


def once(target, method, metadata):
    if target not in channels:
        channels[target] = grpc.secure_channel(target, grpc.xds_channel_credentials(grpc.experimental.insecure_channel_credentials()))
    try:
        return channels[target].unary_unary(method)(b"", timeout=5, metadata=metadata)[2:].decode()
    except grpc.RpcError as e:
        name = "".join(part.capitalize() for part in e.code().name.split("_"))
        return name + ": " + e.details()


class Calls(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query)
        counts = collections.Counter()
        if url.path == "/call":
            metadata = [tuple(h.split(":", 1)) for h in query.get("header", [])]
            for _ in range(int(query.get("times", ["1"])[0])):
                counts[once(query["target"][0], query["method"][0], metadata)] += 1
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(counts).encode())

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("", 8080), Calls).serve_forever()
