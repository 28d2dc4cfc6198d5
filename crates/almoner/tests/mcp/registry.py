"""A registry of packages for the tests: that of npm below /npm, and that of PyPI below /simple. Each has one server of
tools, which needs one other package. It prints its port."""

import base64
import hashlib
import http.server
import io
import json
import tarfile
import zipfile

SERVER_JS = """#!/usr/bin/env node
const { shout } = require("tiny-dep");
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === "initialize") return send({ id, result: { protocolVersion: params.protocolVersion, capabilities: {} } });
  if (method === "tools/list") return send({ id, result: { tools: [{ name: "echo", inputSchema: { properties: { word: { type: "string" } } } }] } });
  if (method === "tools/call") return send({ id, result: { content: [{ type: "text", text: shout(params.arguments.word) + " " + process.argv.slice(2) }] } });
  send({ id, error: { code: -32601, message: "unknown" } });
});
"""
SERVER_PY = """import json, sys
from tiny_dep import shout
def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        method, params = message["method"], message.get("params", {})
        if method == "initialize":
            reply["result"] = {"protocolVersion": params["protocolVersion"], "capabilities": {}}
        elif method == "tools/list":
            reply["result"] = {"tools": [{"name": "echo", "inputSchema": {"properties": {"word": {"type": "string"}}}}]}
        elif method == "tools/call":
            reply["result"] = {"content": [{"type": "text", "text": shout(params["arguments"]["word"])}]}
        else:
            reply["error"] = {"code": -32601, "message": "unknown"}
        print(json.dumps(reply), flush=True)
"""


def tarball(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo("package/" + name)
            info.size, info.mode = len(text.encode()), 0o755
            archive.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def wheel(name, version, needs, files, scripts=""):
    out, place = io.BytesIO(), f"{name}-{version}.dist-info"
    files = dict(files)
    files[f"{place}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(
        f"Requires-Dist: {need}\n" for need in needs
    )
    files[f"{place}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    if scripts:
        files[f"{place}/entry_points.txt"] = f"[console_scripts]\n{scripts}\n"
    files[f"{place}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{place}/RECORD"])
    with zipfile.ZipFile(out, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return out.getvalue()


def npm(name, needs, files, bin=None):
    versions, blobs = {}, {}
    for version in ["1.2.3", "1.3.0"]:
        manifest = {"name": name, "version": version, "dependencies": needs, **({"bin": bin} if bin else {})}
        blob = tarball({"package.json": json.dumps(manifest), **files})
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(blob).digest()).decode()
        blobs[f"/npm/{name}-{version}.tgz"] = blob
        versions[version] = {**manifest, "dist": {"tarball": f"http://127.0.0.1:PORT/npm/{name}-{version}.tgz", "integrity": integrity}}
    return {"name": name, "dist-tags": {"latest": "1.3.0"}, "versions": versions}, blobs


SERVER, BLOBS = npm("tiny-server", {"tiny-dep": "^1.0.0"}, {"server.js": SERVER_JS}, {"tiny-server": "server.js"})
DEP, MORE = npm("tiny-dep", {}, {"index.js": "exports.shout = (word) => `npm says ${word}`;\n"})
BLOBS.update(MORE)
# A package of the registry whose own need comes from another server.
ASTRAY, MORE = npm("led-astray", {"tiny-dep": "http://localhost:PORT/npm/tiny-dep-1.2.3.tgz"}, {"a.js": ""}, {"led-astray": "a.js"})
BLOBS.update(MORE)
WHEELS = {
    "tiny_server_py-1.0-py3-none-any.whl": wheel(
        "tiny_server_py", "1.0", ["tiny-dep"], {"tiny_server_py.py": SERVER_PY}, "tiny-server-py = tiny_server_py:main"
    ),
    "tiny_dep-2.0-py3-none-any.whl": wheel(
        "tiny_dep", "2.0", [], {"tiny_dep.py": "def shout(word):\n    return f'pypi says {word}'\n"}
    ),
}


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, body, kind="application/json", status=200):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = self.path.split("?")[0]
        if path in BLOBS:
            return self.answer(BLOBS[path], "application/octet-stream")
        for document in [SERVER, DEP, ASTRAY]:
            if path == f"/npm/{document['name']}":
                return self.answer(json.dumps(document).replace("PORT", str(self.server.server_port)).encode())
        if path.startswith("/simple/"):
            name = path.split("/")[2].replace("-", "_")
            links = "".join(
                f'<a href="/files/{file}#sha256={hashlib.sha256(blob).hexdigest()}">{file}</a>'
                for file, blob in WHEELS.items()
                if file.startswith(name + "-")
            )
            if links:
                return self.answer(f"<html><body>{links}</body></html>".encode(), "text/html")
        if path.startswith("/files/") and path[7:] in WHEELS:
            return self.answer(WHEELS[path[7:]], "application/octet-stream")
        self.answer(b"{}", status=404)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
