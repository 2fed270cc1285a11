"""Resolvers of other projects, pointed at 127.0.0.1:PORT without touching the system.

    python3 dns_clients.py glibc-addresses PORT NAME      getaddrinfo of the C library
    python3 dns_clients.py cares-addresses PORT NAME      ares_gethostbyname
    python3 dns_clients.py cares-services PORT NAME       ares_query for SRV
    python3 dns_clients.py aws PORT ARGUMENTS…            the aws command, over getaddrinfo

Each but the last prints JSON: a list of addresses, or of [priority, weight, port, target]; or {"error": name}.
A process of its own for each: what it changes of the C library is its own.
"""
import ctypes
import ctypes.util
import json
import runpy
import select
import socket
import sys

NS_T_SRV = 33
NS_C_IN = 1


class SocketAddress(ctypes.Structure):
    _fields_ = [("family", ctypes.c_ushort), ("port", ctypes.c_ushort),
                ("address", ctypes.c_ubyte * 4), ("zero", ctypes.c_ubyte * 8)]


class ResolverState(ctypes.Structure):
    """The first members of struct __res_state; there are more behind them."""
    _fields_ = [("retrans", ctypes.c_int), ("retry", ctypes.c_int), ("options", ctypes.c_ulong),
                ("nscount", ctypes.c_int), ("servers", SocketAddress * 3)]


def point_glibc_at(port):
    """From here on getaddrinfo of this thread asks 127.0.0.1:PORT only."""
    library = ctypes.CDLL(None)
    library.__nss_configure_lookup(b"hosts", b"dns")
    library.__res_init()
    state_of = library.__res_state
    state_of.restype = ctypes.POINTER(ResolverState)
    state = state_of().contents
    state.retrans, state.retry, state.nscount = 30, 2, 1
    state.servers[0] = SocketAddress(socket.AF_INET, socket.htons(port),
                                     (ctypes.c_ubyte * 4)(127, 0, 0, 1))


def glibc_addresses(port, name):
    point_glibc_at(port)
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        names = {value: name for name, value in vars(socket).items() if name.startswith("EAI_")}
        return {"error": names.get(error.errno, str(error.errno))}
    return sorted(entry[4][0] for entry in found)


class Host(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("aliases", ctypes.POINTER(ctypes.c_char_p)),
                ("family", ctypes.c_int), ("length", ctypes.c_int),
                ("addresses", ctypes.POINTER(ctypes.c_void_p))]


class Service(ctypes.Structure):
    pass


Service._fields_ = [("next", ctypes.POINTER(Service)), ("host", ctypes.c_char_p),
                    ("priority", ctypes.c_ushort), ("weight", ctypes.c_ushort),
                    ("port", ctypes.c_ushort)]

HOST_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_int,
                                 ctypes.POINTER(Host))
QUERY_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_int,
                                  ctypes.c_void_p, ctypes.c_int)


class Cares:
    def __init__(self, port):
        self.library = ctypes.CDLL(ctypes.util.find_library("cares"))
        self.library.ares_strerror.restype = ctypes.c_char_p
        self.channel = ctypes.c_void_p()
        self.result = None
        self.check(self.library.ares_library_init(1))
        self.check(self.library.ares_init(ctypes.byref(self.channel)))
        self.check(self.library.ares_set_servers_ports_csv(self.channel,
                                                           f"127.0.0.1:{port}".encode()))

    def check(self, status):
        assert status == 0, self.library.ares_strerror(status)

    def error(self, status):
        return {"error": self.library.ares_strerror(status).decode()}

    def wait(self):
        sockets = (ctypes.c_int * 16)()
        while self.result is None:
            bits = self.library.ares_getsock(self.channel, sockets, 16)
            reads = [sockets[i] for i in range(16) if bits & (1 << i)]
            writes = [sockets[i] for i in range(16) if bits & (1 << (i + 16))]
            ready = select.select(reads, writes, [], 0.1)
            for descriptor in ready[0]:
                self.library.ares_process_fd(self.channel, descriptor, -1)
            for descriptor in ready[1]:
                self.library.ares_process_fd(self.channel, -1, descriptor)
            if not ready[0] and not ready[1]:
                self.library.ares_process_fd(self.channel, -1, -1)
        return self.result

    def addresses(self, name):
        def done(_, status, __, host):
            if status:
                self.result = self.error(status)
                return
            self.result, index = [], 0
            while host.contents.addresses[index]:
                raw = ctypes.string_at(host.contents.addresses[index], host.contents.length)
                self.result.append(socket.inet_ntop(host.contents.family, raw))
                index += 1

        callback = HOST_CALLBACK(done)
        self.library.ares_gethostbyname(self.channel, name.encode(), socket.AF_INET, callback, None)
        answer = self.wait()
        return sorted(answer) if isinstance(answer, list) else answer

    def services(self, name):
        def done(_, status, __, data, length):
            first = ctypes.POINTER(Service)()
            if not status:
                status = self.library.ares_parse_srv_reply(ctypes.c_void_p(data), length,
                                                           ctypes.byref(first))
            if status:
                self.result = self.error(status)
                return
            self.result, service = [], first
            while service:
                entry = service.contents
                self.result.append([entry.priority, entry.weight, entry.port, entry.host.decode()])
                service = entry.next

        callback = QUERY_CALLBACK(done)
        self.library.ares_query(self.channel, name.encode(), NS_C_IN, NS_T_SRV, callback, None)
        return self.wait()


def aws(port, arguments):
    point_glibc_at(port)
    sys.argv = ["aws", *arguments]
    runpy.run_path("/usr/bin/aws", run_name="__main__")


def main():
    what, port, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    if what == "aws":
        aws(port, sys.argv[3:])
        return
    if what == "glibc-addresses":
        found = glibc_addresses(port, name)
    elif what == "cares-addresses":
        found = Cares(port).addresses(name)
    else:
        found = Cares(port).services(name)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
