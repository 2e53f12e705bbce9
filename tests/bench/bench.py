"""What the benchmarks share: real processes on loopback, and how their figures are read."""
import argparse, contextlib, http.client, json, os, pathlib, platform, re, shutil, signal, ssl, statistics, subprocess, sys, tempfile, time
import urllib.parse, urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTROL_PLANE = ROOT / "tests/kubernetes/control-plane.sh"


def arguments(doc, **more):
    """--bin, --plugins and --hosts, and others by name with their defaults: integers, texts, and switches that are off."""
    # So that what was started ends with us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    ap = argparse.ArgumentParser(description=doc.split("\n\n")[0])
    ap.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the binaries")
    ap.add_argument("--plugins", type=pathlib.Path, required=True, help="folder of the built plugins and guests")
    ap.add_argument("--hosts", type=pathlib.Path, help="folder of the host that is measured; without it that of --bin")
    for name, default in more.items():
        kind = {"action": "store_true"} if default is False else {"type": type(default), "default": default}
        ap.add_argument(f"--{name}", **kind)
    return ap.parse_args()


def request(method, url, body=None, content_type="application/json"):
    data = None if body is None else json.dumps(body).encode()
    req = urllib.request.Request(url, data=data, method=method, headers={"Content-Type": content_type})
    with urllib.request.urlopen(req, timeout=30) as answer:
        return json.loads(answer.read() or b"{}")


def within(seconds, check, pause=0.5):
    """Whether it holds in this time. What cannot be asked does not hold yet."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if check():
                return True
        except OSError:
            pass
        time.sleep(pause)
    return False


def wait(what, seconds, check, pause=0.5):
    if not within(seconds, check, pause):
        sys.exit(f"not within {seconds} s: {what}")


def rss_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))


def peak_kib(pid):
    """The most that was resident."""
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))


def cpu_seconds(pid):
    """Processor time of a process so far, user and system."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def p(values, q):
    return statistics.quantiles(values, n=100)[q - 1] if len(values) > 1 else float("nan")


def table(head, rows):
    """A table in Markdown."""
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return "\n".join(lines + [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]) + "\n"


def machine():
    """This machine, in words."""
    model = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} cores ({model}), {platform.system()} {platform.release().split('-')[0]}"


class World:
    """A folder and processes that end with it: `with World(opts) as world`. `world.api` is the URL of the API server: an embedded one, or,
    if `real`, a kube-apiserver with etcd. Hosts are those of the folder `hosts`, else of --hosts, else of --bin."""

    def __init__(self, opts, real=False, hosts=None):
        self.bin, self.hosts, self.real = opts.bin, hosts or getattr(opts, "hosts", None) or opts.bin, real
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="oarlock-bench-"))
        self.kubeconfig = self.folder / "kubeconfig"
        self.processes, self.server_pids, self.headers, self.context = [], [], {}, None

    def __enter__(self):
        if self.real:
            folder = self.folder / "control-plane"
            subprocess.run([CONTROL_PLANE, "start", folder], env=dict(os.environ, CONTROLLERS="no"), stdout=subprocess.DEVNULL, check=True)
            self.kubeconfig = folder / "admin.kubeconfig"
            self.api = f"https://127.0.0.1:{(folder / 'ports').read_text().split()[0]}"
            self.headers, self.context = {"Authorization": "Bearer admin"}, ssl.create_default_context(cafile=folder / "certs/ca.crt")
            self.server_pids = [int((folder / f"{name}.pid").read_text()) for name in ["apiserver", "etcd"]]
            return self
        self.server = self.start([self.bin / "oarlock", "apiserver", "--port", "0", "--kubeconfig-out", self.kubeconfig],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.api = self.server.stdout.readline().strip()
        self.server_pids = [self.server.pid]
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        if self.real:
            subprocess.run([CONTROL_PLANE, "stop", self.folder / "control-plane"], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def get(self, path):
        return self.ask("GET", path)

    def ask(self, method, path, body=None, headers=None):
        """The answer of the API server, to be read; on a connection of its own."""
        url = urllib.parse.urlparse(self.api)
        connection = http.client.HTTPSConnection(url.netloc, context=self.context) if self.real else http.client.HTTPConnection(url.netloc)
        connection.request(method, path, body, {**self.headers, **(headers or {})})
        return connection.getresponse()

    def start(self, command, **options):
        process = subprocess.Popen(command, **options)
        self.processes.append(process)
        return process

    def neutron(self):
        """Starts a Neutron emulator without quotas; answers its URL."""
        log = open(self.folder / "neutron.log", "w+")
        self.start([self.bin / "neutron-emulator", "--port", "0"], stderr=log, stdout=log)
        found = []
        wait("the emulator's address", 10, lambda: found or found.extend(
            re.findall(r"http://127\.0\.0\.1:\d+", pathlib.Path(log.name).read_text())))
        request("PUT", f"{found[0]}/v2.0/quotas/fake_project_id", {"quota": {"network": -1, "subnet": -1}})
        return found[0]

    def define(self, *files):
        """Creates definitions of this repository."""
        for file in files:
            text = (ROOT / file).read_text()
            name = json.loads(text)["metadata"]["name"] if text.startswith("{") else re.search(r"^  name: (\S+)$", text, re.MULTILINE)[1]
            path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}?fieldManager=bench&force=true"
            answer = self.ask("PATCH", path, text.encode(), {"Content-Type": "application/apply-patch+yaml"})
            if answer.status not in (200, 201):
                sys.exit(f"{file}: {answer.read().decode()}")

    def fill(self, what, count, *args):
        """Creates COUNT Networks or ConfigMaps, many at once."""
        subprocess.run([self.bin / "micro", "fill", what, "--count", str(count), *map(str, args)], check=True,
                       env=dict(os.environ, KUBECONFIG=str(self.kubeconfig)))

    def grant(self, folder, name, grant):
        document = {"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginGrant", **grant}
        (folder / f"{name}.yaml").write_text(json.dumps(document))

    def plugin_folder(self, name):
        folder = self.folder / f"plugins-{name}"
        folder.mkdir()
        return folder


class Host:
    """`oarlock run`; reconciles are in its log with their durations."""

    def __init__(self, world, plugins, *args, level="info,oarlock::controller=debug"):
        self.log = open(world.folder / f"host-{time.monotonic_ns()}.log", "w+")
        self.began, self.address = time.monotonic(), None
        self.process = world.start(
            [world.hosts / "oarlock", "run", "--plugins", plugins, "--kubeconfig", world.kubeconfig, "--admin-addr", "127.0.0.1:0",
             "--log-format", "json", *map(str, args)], stderr=self.log, env=dict(os.environ, OARLOCK_LOG=level))

    def lines(self, *messages):
        """Log lines with one of these messages."""
        self.log.flush()
        for line in pathlib.Path(self.log.name).read_text().splitlines():
            if any(f'"{message}"' in line for message in messages):
                with contextlib.suppress(ValueError):
                    entry = json.loads(line)
                    yield {**entry, **entry.get("fields", {})}

    def durations(self, trigger, **fields):
        """Of the reconciles so far, in milliseconds: those for this reason, with these fields."""
        wanted = {"trigger": trigger, **fields}
        lines = (line for line in self.lines("reconciled") if all(line.get(k) == v for k, v in wanted.items()))
        return [float(line["duration_ms"]) for line in lines]

    def admin(self, path):
        """The answer of the admin server as text; none while it does not listen."""
        self.address = self.address or next((l["admin_addr"] for l in self.lines("admin server listening")), None)
        if self.address is None:
            raise OSError("no admin address yet")
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=30) as answer:
            return answer.read().decode()

    def metric(self, name, **labels):
        """The sum of a metric's samples with these labels."""
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        samples = (line.rsplit(" ", 1) for line in self.admin("/metrics").splitlines() if not line.startswith("#"))
        return sum(float(v) for s, v in samples if s.split("{")[0] == name and all(w in s for w in wanted))

    def rss_mib(self):
        return rss_kib(self.process.pid) / 1024

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
