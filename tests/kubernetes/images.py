"""The images of a real node's pods, made of Debian's static busybox: nothing is pulled."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tools"))
from image_archive import Layer, write_archive  # noqa: E402  pylint: disable=wrong-import-position

BUSYBOX_PROGRAM = "/usr/bin/busybox"
PAUSE = "slipway.test/pause:1"
BUSYBOX = "slipway.test/busybox:1"

# No image has a shell as entrypoint, so that a task's command is run as it is written.
IMAGES = {
    PAUSE: {"Entrypoint": ["/bin/sleep", "2147483647"]},
    BUSYBOX: {"Cmd": ["/bin/sh"]},
}


def busybox_layer():
    layer = Layer()
    layer.add_file("/bin/busybox", BUSYBOX_PROGRAM, mode=0o755)
    applets = subprocess.run([BUSYBOX_PROGRAM, "--list"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout.split()
    for applet in applets:
        layer.add_link(f"/bin/{applet}", "busybox")
    layer.add_text("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"
                                  "nobody:x:65534:65534:nobody:/:/bin/sh\n")
    layer.add_text("/etc/group", "root:x:0:\nnogroup:x:65534:\n")
    for folder in ("/proc", "/sys", "/dev", "/root", "/usr", "/var"):
        layer.add_folder(folder)
    # With /usr of the machine mounted, its programs run as well.
    for folder in ("lib", "lib64"):
        layer.add_link(f"/{folder}", f"usr/{folder}")
    layer.add_folder("/tmp", 0o1777)
    return layer


def make(path, name, config):
    """Write one archive of busybox with a config."""
    write_archive(path, name, busybox_layer(), {"Env": ["PATH=/bin"], "WorkingDir": "/", **config})
    return path


def make_all(folder):
    """Write all of them below a folder; their paths."""
    return [make(os.path.join(folder, f"image-{number}.tar"), name, config)
            for number, (name, config) in enumerate(IMAGES.items())]
