#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""clients.py nginx FILE ADDRESS | memcached ADDRESS | redis ADDRESS

Clients of a server, side by side, that compare what they get with what they should.
"""

import concurrent.futures
import http.client
import pathlib
import random
import socket
import sys

CLIENTS = 8
MOST = 300_000
TIMEOUT = 60


def values(seed):
    """Values of sizes from 1 byte on, by their keys."""
    chance = random.Random(seed)
    sizes = (chance.choice((1, 100, 5000, chance.randrange(1, MOST))) for _ in range(40))
    return {f"{seed}.{n}": chance.randbytes(size) for n, size in enumerate(sizes)}


def line_of(stream, *parts):
    """The answer's line to a request."""
    stream.write(b"".join(parts))
    stream.flush()
    return stream.readline().strip()


def expect(got, wanted):
    if got != wanted:
        sys.exit(f"got {got[:80]!r} instead of {wanted[:80]!r}")


def nginx(seed, address, path):
    """Some requests on one connection, some on connections of their own; whole, and in parts."""
    data = pathlib.Path(path).read_bytes()[:4_000_000]
    chance = random.Random(seed)
    kept = http.client.HTTPConnection(address, 8080, timeout=TIMEOUT)
    for n in range(10):
        connection = kept if n % 2 else http.client.HTTPConnection(address, 8080, timeout=TIMEOUT)
        begin = chance.randrange(len(data)) if n % 3 else 0
        connection.request("GET", "/file", headers={"Range": f"bytes={begin}-"})
        expect(connection.getresponse().read(), data[begin:])
        if connection is not kept:
            connection.close()


def memcached(seed, address):
    with socket.create_connection((address, 11211), TIMEOUT) as s, s.makefile("rwb") as stream:
        kept = values(seed)
        for key, value in kept.items():
            expect(line_of(stream, f"set {key} 0 0 {len(value)}\r\n".encode(), value, b"\r\n"),
                   b"STORED")
        for key, value in kept.items():
            expect(line_of(stream, f"get {key}\r\n".encode()),
                   f"VALUE {key} 0 {len(value)}".encode())
            expect(stream.read(len(value) + 7), value + b"\r\nEND\r\n")


def redis(seed, address):
    def command(*words):
        stream.write(f"*{len(words)}\r\n".encode())
        for word in words:
            stream.write(f"${len(word)}\r\n".encode() + word + b"\r\n")

    with socket.create_connection((address, 6379), TIMEOUT) as s, s.makefile("rwb") as stream:
        kept = values(seed)
        for key, value in kept.items():
            command(b"SET", key.encode(), value)
            expect(line_of(stream), b"+OK")
        # All asked for before the first answer is read.
        for key in kept:
            command(b"GET", key.encode())
        stream.flush()
        for value in kept.values():
            expect(stream.readline(), f"${len(value)}\r\n".encode())
            expect(stream.read(len(value) + 2), value + b"\r\n")


def main():
    client = {"nginx": nginx, "memcached": memcached, "redis": redis}[sys.argv[1]]
    rest, address = sys.argv[2:-1], sys.argv[-1]
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        for done in [pool.submit(client, seed, address, *rest) for seed in range(CLIENTS)]:
            done.result()


main()
