"""Writes container images with one layer, without a daemon and without the network: as the archive
that `docker load`, `podman load` and `ctr images import` read. The same content gives the same
bytes, whenever and by whomever it is made.

    layer = Layer()
    layer.add_file("/bin/busybox", "/usr/bin/busybox", mode=0o755)
    layer.add_link("/bin/sh", "busybox")
    write_archive("image.tar", "example.test/image:1", layer, {"Entrypoint": ["/bin/sh"]})
"""
import hashlib
import io
import json
import os
import platform
import tarfile

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


class Layer:
    """Files of an image. Folders above a file come by themselves."""

    def __init__(self):
        self.buffer = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.buffer, mode="w", format=tarfile.PAX_FORMAT)
        self.names = set()

    def add(self, path, kind, mode, data=b"", target="", owner=0):
        name = path.strip("/")
        if name in self.names:
            return
        if os.path.dirname(name):
            self.add_folder(os.path.dirname(name))
        self.names.add(name)
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode, entry.size, entry.linkname = kind, mode, len(data), target
        entry.uid = entry.gid = owner
        self.tar.addfile(entry, io.BytesIO(data))

    def add_folder(self, path, mode=0o755, owner=0):
        self.add(path, tarfile.DIRTYPE, mode, owner=owner)

    def add_text(self, path, text, mode=0o644):
        self.add(path, tarfile.REGTYPE, mode, text.encode())

    def add_file(self, path, source, mode=0o644):
        with open(source, "rb") as file:
            self.add(path, tarfile.REGTYPE, mode, file.read())

    def add_link(self, path, target):
        self.add(path, tarfile.SYMTYPE, 0o777, target=target)

    def finish(self):
        self.tar.close()
        return self.buffer.getvalue()


def write_archive(path, name, layer, config):
    """Write an image with a name ("example.test/image:1") and a config as the image format has it:
    Entrypoint, Cmd, Env, User, ExposedPorts, …"""
    data = layer.finish()
    description = json.dumps({
        "architecture": ARCHITECTURE, "os": "linux", "config": config,
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(data).hexdigest()]},
        "history": [{"created_by": "tools/image_archive.py"}],
    }).encode()
    description_name = hashlib.sha256(description).hexdigest() + ".json"
    manifest = [{"Config": description_name, "RepoTags": [name], "Layers": ["layer.tar"]}]
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for member, content in ((description_name, description), ("layer.tar", data),
                                ("manifest.json", json.dumps(manifest).encode())):
            entry = tarfile.TarInfo(member)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
