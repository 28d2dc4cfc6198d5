"""A collector of OTLP over HTTP that decodes with OpenTelemetry's own package, and prints what it took as lines of JSON.

Usage: collector.py PORT ANSWER…

Each request gets the next answer, and `ok` when none is left: `ok`, `partial`, a status such as `503`, a status with
the header Retry-After such as `429:0`, or `drop`, which closes the connection without an answer. A GET prints the mark that
all requests before it have been printed.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

SIGNALS = {
    "/v1/traces": (traces.ExportTraceServiceRequest, traces.ExportTraceServiceResponse, "rejected_spans"),
    "/v1/logs": (logs.ExportLogsServiceRequest, logs.ExportLogsServiceResponse, "rejected_log_records"),
}
ANSWERS = sys.argv[2:]


class Collector(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        request, response, rejected = SIGNALS[self.path]
        answer = ANSWERS.pop(0) if ANSWERS else "ok"
        message = request()
        message.ParseFromString(body)
        line = {
            "path": self.path,
            "answer": answer,
            "type": self.headers["content-type"],
            "key": self.headers["x-key"],
            "body": MessageToDict(message, preserving_proto_field_name=True),
        }
        if answer == "drop":
            self.report(line)
            self.close_connection = True
            self.connection.close()
            return
        status, _, wait = answer.partition(":")
        taken = response()
        if answer == "partial":
            setattr(taken.partial_success, rejected, 1)
            taken.partial_success.error_message = "one is too old"
        payload = taken.SerializeToString() if answer in ("ok", "partial") else b"not now"
        # The line comes first, so that whatever is acknowledged has been printed.
        self.report(line)
        self.send_response(int(status) if status.isdigit() else 200)
        if wait:
            self.send_header("retry-after", wait)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def do_GET(self):
        self.report({"answer": "mark"})
        self.send_response(200)
        self.end_headers()

    def report(self, line):
        print(json.dumps(line), flush=True)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Collector).serve_forever()
