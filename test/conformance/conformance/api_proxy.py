# SPDX-License-Identifier: Apache-2.0
"""Stands between a sidecar and the API server, with the API server's own certificate, so that a sidecar sees no difference (but HTTP/1.1).

Records what the audit log does not have (headers, the exact query, when a request came), marks each request with an audit id, so
that both can be joined, and answers chosen requests by itself: faults of the API server."""

import base64
import http.client
import http.server
import json
import re
import ssl
import threading
import time
import uuid

_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "upgrade", "proxy-connection", "content-length", "host"}


class Fault:
    """The requests with a method and a path get a status, by their numbers (from 1; none given: all)."""

    def __init__(self, method, path, status, calls=None, reason=None, message="injected", delay=0.0, headers=None):
        self.method, self.path, self.status, self.calls = method, re.compile(path + r"\Z"), status, calls
        self.reason, self.message, self.delay, self.headers = reason, message, delay, headers or {}
        self.seen = 0

    def answer(self):
        body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message,
                "code": self.status}
        if self.reason:
            body["reason"] = self.reason
        return json.dumps(body).encode()


class ApiProxy:
    def __init__(self, port, api_port, pki):
        self._api_port = api_port
        self._tls = ssl.create_default_context(cafile=f"{pki}/ca.crt")
        self._server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._server_tls.load_cert_chain(f"{pki}/apiserver.crt", f"{pki}/apiserver.key")
        self._lock = threading.Lock()
        self._records = []
        self._faults = []
        self._connections = set()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self):
                # Here rather than in accept: a client that is slow with its handshake shall not hold up the others.
                self.request = proxy._server_tls.wrap_socket(self.request, server_side=True)
                super().setup()
                self.upstream = None
                with proxy._lock:
                    proxy._connections.add(self.connection)

            def finish(self):
                if self.upstream:
                    self.upstream.close()
                with proxy._lock:
                    proxy._connections.discard(self.connection)
                try:
                    super().finish()
                except OSError:
                    pass

            def log_message(self, *_):
                pass

            def do_GET(self):
                try:
                    proxy._serve(self)
                except (OSError, http.client.HTTPException):
                    self.close_connection = True

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request, client_address):
                pass  # a client that was killed

        self._server = Server(("127.0.0.1", port), Handler)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def reset(self):
        with self._lock:
            self._records = []
            self._faults = []

    def set_faults(self, faults):
        with self._lock:
            self._faults = [Fault(**fault) for fault in faults]

    def records(self):
        with self._lock:
            return [dict(record) for record in self._records]

    def close_connections(self):
        """Ends what a sidecar that is gone has left open here: watches end only when somebody writes."""
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            try:
                connection.shutdown(2)
            except OSError:
                pass

    def _serve(self, handler):
        length = handler.headers.get("Content-Length")
        body = handler.rfile.read(int(length)) if length else b""
        if handler.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = _read_chunks(handler.rfile)
        path, _, query = handler.path.partition("?")
        headers = {name.lower(): value for name, value in handler.headers.items()}
        record = {
            "begin": time.time(), "method": handler.command, "path": path, "query": query, "audit_id": str(uuid.uuid4()),
            "user_agent": headers.get("user-agent", ""), "content_type": headers.get("content-type", ""),
            "accept": headers.get("accept", ""), "status": None, "fault": False,
            "body": base64.b64encode(body).decode() if body else "",
        }
        fault = None
        with self._lock:
            self._records.append(record)
            for candidate in self._faults:
                if candidate.method == handler.command and candidate.path.match(path):
                    candidate.seen += 1
                    if fault is None and (candidate.calls is None or candidate.seen in candidate.calls):
                        fault = candidate
        if fault and fault.delay:
            time.sleep(fault.delay)
        if fault and fault.status:
            answer = fault.answer()
            record["status"], record["fault"] = fault.status, True
            handler.send_response(fault.status)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(len(answer)))
            for name, value in fault.headers.items():
                handler.send_header(name, value)
            handler.end_headers()
            handler.wfile.write(answer)
            return
        self._forward(handler, record, body)

    def _forward(self, handler, record, body):
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in _HOP_BY_HOP}
        headers["Audit-ID"] = record["audit_id"]
        for attempt in (0, 1):
            if handler.upstream is None:
                handler.upstream = http.client.HTTPSConnection("127.0.0.1", self._api_port, context=self._tls)
            try:
                handler.upstream.request(handler.command, handler.path, body or None, headers)
                response = handler.upstream.getresponse()
                break
            except (http.client.RemoteDisconnected, ConnectionResetError):
                handler.upstream.close()
                handler.upstream = None
                if attempt:
                    raise
        record["status"] = response.status
        handler.send_response_only(response.status)
        for name, value in response.getheaders():
            if name.lower() not in _HOP_BY_HOP:
                handler.send_header(name, value)
        if response.length is not None:
            data = response.read()
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)
            return
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        # Someone who goes away in the middle of a watch is noticed at the next event only.
        while data := response.read1(65536):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            handler.wfile.flush()
        handler.wfile.write(b"0\r\n\r\n")


def _read_chunks(stream):
    body = b""
    while size := int(stream.readline().split(b";")[0], 16):
        body += stream.read(size)
        stream.readline()
    stream.readline()
    return body
