"""Names of Services for the Pods of the node: NAME.NAMESPACE.svc.cluster.local is the ClusterIP, by UDP and TCP. There are no others.

    dns.py ADDRESS KUBECONFIG
"""

import json
import socket
import struct
import subprocess
import sys
import threading
import time

ADDRESS, KUBECONFIG = sys.argv[1:3]
names = {}


def refresh():
    """Reads the Services again and again."""
    global names
    command = ["kubectl", "--kubeconfig", KUBECONFIG, "get", "services", "-A", "-o", "json"]
    while True:
        try:
            listed = subprocess.run(command, capture_output=True, check=True, timeout=10).stdout
            found = {}
            for one in json.loads(listed)["items"]:
                if one["spec"].get("clusterIP") not in (None, "None"):
                    found[f"{one['metadata']['name']}.{one['metadata']['namespace']}.svc.cluster.local"] = one["spec"]["clusterIP"]
            names = found
        except (subprocess.SubprocessError, ValueError) as error:
            print(error, flush=True)
        time.sleep(2)


def answer(query):
    """One answer: an address, nothing (of that type), or no such name."""
    identity = struct.unpack(">H", query[:2])[0]
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    kind = struct.unpack(">H", query[at + 1 : at + 3])[0]
    question = query[12 : at + 5]
    address = names.get(".".join(labels).lower())
    if address is None:
        return struct.pack(">HHHHHH", identity, 0x8583, 1, 0, 0, 0) + question
    if kind != 1:
        return struct.pack(">HHHHHH", identity, 0x8580, 1, 0, 0, 0) + question
    record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 5, 4) + socket.inet_aton(address)
    return struct.pack(">HHHHHH", identity, 0x8580, 1, 1, 0, 0) + question + record


def tcp():
    """Answers connections, one after the other."""
    server = socket.create_server((ADDRESS, 53))
    while True:
        connection, _ = server.accept()
        with connection:
            try:
                connection.settimeout(2)
                size = struct.unpack(">H", connection.recv(2))[0]
                told = answer(connection.recv(size))
                connection.sendall(struct.pack(">H", len(told)) + told)
            except (OSError, struct.error, IndexError) as error:
                print(error, flush=True)


threading.Thread(target=refresh, daemon=True).start()
threading.Thread(target=tcp, daemon=True).start()
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((ADDRESS, 53))
while True:
    asked, peer = server.recvfrom(4096)
    try:
        server.sendto(answer(asked), peer)
    except (OSError, struct.error, IndexError) as error:
        print(error, flush=True)
