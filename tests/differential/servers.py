"""The two servers that are compared: etcd with kube-apiserver, and the embedded API server."""
import http.client
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time

VERSION = "v1.36."
HOW = "`setup-envtest use 1.36 -p path` installs them and prints the folder for KUBEBUILDER_ASSETS"
TOKENS = 'admin,admin,admin,"system:masters"\n'


class NotAble(Exception):
    """Why there is no server; one line or the last lines of its log."""


def programs():
    """The folder with etcd and kube-apiserver, checked."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.environ.get("KUBEBUILDER_ASSETS") or os.path.join(cache, "oarlock", "kubernetes", "bin")
    for name in ("etcd", "kube-apiserver"):
        path = os.path.join(folder, name)
        if not os.access(path, os.X_OK):
            raise NotAble("%s is missing in %s: %s" % (name, folder, HOW))
    said = subprocess.run([os.path.join(folder, "kube-apiserver"), "--version"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True).stdout.strip()
    if VERSION not in said:
        raise NotAble("kube-apiserver in %s is %r, wanted is %sx: %s" % (folder, said, VERSION, HOW))
    return folder


def free_ports(count):
    """Ports nobody listens on now."""
    held = []
    for _ in range(count):
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        held.append(s)
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


class Process:
    """One program with a log; it ends with us."""

    def __init__(self, folder, name, command, **environment):
        self.name, self.log = name, os.path.join(folder, name + ".log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={**os.environ, **environment}, start_new_session=True)

    def ended(self):
        return self.process.poll() is not None

    def last_lines(self, count=5):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return ["%s: %s" % (self.name, line.rstrip()) for line in f.readlines()[-count:]]

    def stop(self):
        if not self.ended():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def openssl(folder, *arguments):
    done = subprocess.run(["openssl", *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise NotAble("openssl %s: %s" % (arguments[0], done.stdout.strip()))


class ControlPlane:
    """etcd and kube-apiserver on loopback, without controllers: nobody but the sequences writes."""

    token = "admin"

    def __init__(self, port=None):
        self.bin = programs()
        self.port, etcd, peer = (port, port + 1, port + 2) if port else free_ports(3)
        self.folder = tempfile.mkdtemp(prefix="differential-")
        self.url, self.ca = "https://127.0.0.1:%d" % self.port, os.path.join(self.folder, "server.crt")
        self.parts = []
        try:
            self.certificates()
            self.start(etcd, peer)
        except BaseException:
            self.stop()
            raise

    def certificates(self):
        f = self.folder
        openssl(f, "genrsa", "-out", "sa.key", "2048")
        openssl(f, "rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub")
        openssl(f, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=kube-apiserver",
                "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", "server.key", "-out", "server.crt")
        with open(os.path.join(f, "tokens.csv"), "w", encoding="utf-8") as t:
            t.write(TOKENS)

    def start(self, etcd, peer):
        client, peers = "http://127.0.0.1:%d" % etcd, "http://127.0.0.1:%d" % peer
        self.parts.append(Process(self.folder, "etcd", [
            os.path.join(self.bin, "etcd"), "--data-dir", "etcd", "--listen-client-urls", client,
            "--advertise-client-urls", client, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
            "--initial-cluster", "default=" + peers, "--unsafe-no-fsync", "--log-level", "error"]))
        self.parts.append(Process(self.folder, "kube-apiserver", [
            os.path.join(self.bin, "kube-apiserver"), "--etcd-servers=" + client, "--secure-port=%d" % self.port,
            "--bind-address=127.0.0.1", "--tls-cert-file=server.crt", "--tls-private-key-file=server.key",
            "--token-auth-file=tokens.csv", "--service-account-issuer=https://kubernetes.default.svc",
            "--service-account-signing-key-file=sa.key", "--service-account-key-file=sa.pub",
            "--service-cluster-ip-range=10.96.0.0/16", "--authorization-mode=Node,RBAC", "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none", "--profiling=false"], GOGC="200", GOMEMLIMIT="2GiB"))
        deadline = time.time() + 90
        while not self.ready():
            dead = [p for p in self.parts if p.ended()]
            if dead or time.time() > deadline:
                which = dead or self.parts
                raise NotAble("\n".join(["the control plane did not start"] + [line for p in which for line in p.last_lines()]))
            time.sleep(0.2)

    def ready(self):
        context = ssl.create_default_context(cafile=self.ca)
        conn = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=5, context=context)
        try:
            conn.request("GET", "/readyz", headers={"Authorization": "Bearer " + self.token})
            return conn.getresponse().read() == b"ok"
        except (OSError, http.client.HTTPException):
            return False
        finally:
            conn.close()

    def alive(self):
        return not any(p.ended() for p in self.parts)

    def stop(self):
        for part in reversed(self.parts):
            part.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Embedded:
    """`oarlock apiserver` without controllers."""

    token, ca = "admin", None

    def __init__(self):
        program = os.environ.get("OARLOCK_BIN")
        if not program or not os.access(program, os.X_OK):
            raise NotAble("set OARLOCK_BIN to the oarlock command")
        self.folder = tempfile.mkdtemp(prefix="differential-")
        tokens = os.path.join(self.folder, "tokens.csv")
        with open(tokens, "w", encoding="utf-8") as t:
            t.write(TOKENS)
        self.part = Process(self.folder, "oarlock", [program, "apiserver", "--port", "0", "--no-controllers", "--anonymous-auth", "--token-file", tokens])
        deadline = time.time() + 30
        while True:
            with open(self.part.log, encoding="utf-8", errors="replace") as f:
                found = re.search(r"https?://\S+", f.read())
            if found:
                self.url = found.group(0)
                return
            if self.part.ended() or time.time() > deadline:
                lines = self.part.last_lines()
                self.stop()
                raise NotAble("\n".join(["the embedded API server did not start"] + lines))
            time.sleep(0.05)

    def alive(self):
        return not self.part.ended()

    def stop(self):
        self.part.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
