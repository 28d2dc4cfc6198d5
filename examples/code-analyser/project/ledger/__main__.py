"""Serves the total of the book."""

import http.server
import os

from ledger import book, money

PORT = 7340


class Total(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        owner = os.environ.get("LEDGER_OWNER", "the club")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{owner}: {money.show(book.total())}\n".encode())


http.server.HTTPServer(("127.0.0.1", PORT), Total).serve_forever()
