"""A registry of images, as small as one can be: what a Docker Engine asks of it to pull one image.

    with Registry(layer) as registry:
        registry.image          # "127.0.0.1:PORT/pulled:1"
        registry.asked          # the requests, in order
"""
import gzip
import hashlib
import http.server
import json
import os
import threading

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Registry:
    """Daemons speak HTTP with registries on the loopback interface."""

    def __init__(self, layer, **config):
        packed = gzip.compress(layer, mtime=0)
        settings = json.dumps({
            "architecture": "amd64" if os.uname().machine == "x86_64" else "arm64", "os": "linux",
            "config": {"Env": ["PATH=/bin"], **config},
            "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
            "history": [{"created_by": "a test"}]}).encode()
        manifest = json.dumps({
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": {"mediaType": "application/vnd.docker.container.image.v1+json",
                       "size": len(settings), "digest": digest(settings)},
            "layers": [{"mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
                        "size": len(packed), "digest": digest(packed)}]}).encode()
        base = "/v2/pulled"
        self.answers = {
            "/v2/": ("application/json", b"{}"),
            f"{base}/manifests/1": (MANIFEST, manifest),
            f"{base}/manifests/{digest(manifest)}": (MANIFEST, manifest),
            f"{base}/blobs/{digest(settings)}": ("application/octet-stream", settings),
            f"{base}/blobs/{digest(packed)}": ("application/octet-stream", packed),
        }
        self.asked = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.image = f"127.0.0.1:{self.server.server_address[1]}/pulled:1"

    def handler(self):
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                registry.asked.append(self.path)
                kind, body = registry.answers.get(self.path, (None, b""))
                self.send_response(200 if kind else 404)
                if kind:
                    self.send_header("Content-Type", kind)
                    self.send_header("Docker-Content-Digest", digest(body))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            do_HEAD = do_GET

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        return Handler

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
