"""A client of a service by its name, as another service would be one: it keeps addresses for the TTL of their record.

    python3 name_client.py FILE NAME PORT TTL

Asks about fifty times a second, each time on a new connection to one of the addresses, and appends a line to FILE:
seconds of the machine's clock, then "ok VERSION TASK" or "failed REASON".
"""
import http.client
import os
import random
import socket
import sys
import time

FILE, NAME, PORT, TTL = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
OUT = os.open(FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def note(text):
    os.write(OUT, f"{time.monotonic():.3f} {text}\n".encode())


def ask(address):
    connection = http.client.HTTPConnection(address, PORT, timeout=10)
    try:
        connection.request("GET", "/")
        answer = connection.getresponse()
        body = answer.read().decode()
        if answer.status != 200:
            return f"failed status {answer.status}"
        return f"ok {body.strip()}"
    except OSError as problem:
        return f"failed {address} {problem}"
    finally:
        connection.close()


def main():
    addresses, until, served = [], 0, False
    while True:
        if time.monotonic() >= until:
            began = time.monotonic()
            try:
                found = socket.getaddrinfo(NAME, PORT, socket.AF_INET, socket.SOCK_STREAM)
                addresses = [item[4][0] for item in found]
                until = began + TTL
            except OSError as problem:
                # Before the service is there for the first time its name does not exist.
                if served:
                    note(f"failed {problem}")
        if addresses:
            served = True
            note(ask(random.choice(addresses)))
        time.sleep(0.02)


main()
