#!/usr/bin/env python3
"""Record a swap under load, and draw the recording.

    scripts/swap-recording.py record CAST   # runs the host, a load and two swaps: half a minute, after two minutes of building
    scripts/swap-recording.py draw CAST SVG # draws an animated picture of it

CAST is an asciicast (version 2) of what the programs printed, with the times at which they did. Needs `oarlock` and Python 3.11 on the PATH.
The plugin is that of `oarlock new --lang python`, in three versions. 0.2.0 writes another greeting; 0.3.0 fails on every object.
`make demo` shows more; this is for README.md.
"""

import http.client
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from html import escape
from pathlib import Path

COLUMNS, ROWS = 108, 22
GREETING = "example.com/greeting"
PROMPT = "$ "
SHOW = f"oarlock plugins | cut -c1-{COLUMNS}"
LOAD = "load.py load 10"

# Edits of the template's app.py, by version.
VERSIONS = {
    "0.1.0": [],
    "0.2.0": [("}, {cx.name}\"}", "}, {cx.name}!\"}")],
    "0.3.0": [("}, {cx.name}\"}", "}, {cx.object['spec']}\"}")],
}


def build(folder: Path) -> None:
    """Makes the three versions, and compiles them ahead, as `oarlock compile` does."""
    subprocess.run(["oarlock", "new", "greeter", "--lang", "python"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    project = folder / "greeter"
    source = (project / "app.py").read_text()
    for version, edits in VERSIONS.items():
        text = source.replace('"0.1.0"', f'"{version}"')
        for before, after in edits:
            assert before in text, before
            text = text.replace(before, after)
        (project / "app.py").write_text(text)
        subprocess.run(["make", "build"], cwd=project, check=True, stdout=subprocess.DEVNULL)
        (project / "build/greeter.wasm").rename(folder / f"greeter-{version}.wasm")
        subprocess.run(["oarlock", "compile", f"greeter-{version}.wasm"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (folder / "plugins").mkdir()
    (folder / "plugins/greeter.yaml").write_text((project / "grant.yaml").read_text())
    (folder / "plugins/greeter.wasm").write_bytes((folder / "greeter-0.1.0.wasm").read_bytes())


class Recording:
    """Lines with the times at which they came."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.began = time.monotonic()
        self.events: list[tuple[float, str]] = []

    def line(self, text: str) -> None:
        self.events.append((round(time.monotonic() - self.began, 3), text.rstrip()))

    def run(self, command: str, expected: str = "") -> None:
        """A command, as typed, and its output; repeated unseen until the output contains what is expected."""
        give_up = time.monotonic() + 60
        while True:
            out = subprocess.run(["bash", "-c", command], cwd=self.folder, text=True, capture_output=True).stdout
            if expected in out:
                break
            if time.monotonic() > give_up:
                raise RuntimeError(f"{command}: {out}\n{(self.folder / 'host.log').read_text()}")
            time.sleep(0.2)
        for text in [PROMPT + command, *out.splitlines()]:
            self.line(text)

    def follow(self, program: subprocess.Popen[str]) -> None:
        for text in program.stdout:
            self.line(text)

    def write(self, path: Path) -> None:
        header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "Oarlock: a swap under load"}
        lines = [json.dumps(header)] + [json.dumps([at, "o", text + "\r\n"]) for at, text in self.events]
        path.write_text("\n".join(lines) + "\n")


def load(per_second: int) -> None:
    """Creates ConfigMaps, and prints every two seconds which version greeted them. Ends when nobody reads."""
    server = re.search(r"server: http://(\S+)", Path(".oarlock/kubeconfig").read_text())[1]
    api, path = http.client.HTTPConnection(server), "/api/v1/namespaces/default/configmaps"

    def ask(method: str, body: dict | None = None) -> dict:
        api.request(method, path, json.dumps(body) if body else None, {"content-type": "application/json"})
        answer = api.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method}: {answer.status} {text[:200]!r}")
        return json.loads(text)

    created, began, shown = 0, time.monotonic(), 0
    while True:
        ask("POST", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{created:04}"}})
        created += 1
        if time.monotonic() - began >= shown + 2:
            shown += 2
            greetings = [item["metadata"].get("annotations", {}).get(GREETING, "") for item in ask("GET")["items"]]
            waiting, new = greetings.count(""), sum(greeting.endswith("!") for greeting in greetings)
            old = len(greetings) - waiting - new
            print(f"load: {created:3} ConfigMaps, greeted by 0.1.0: {old:3}, by 0.2.0: {new:3}, waiting: {waiting}", flush=True)
        time.sleep(max(0.0, began + created / per_second - time.monotonic()))


def record(cast: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder)
        shutil.copyfile(__file__, folder / "load.py")
        recording, started = Recording(folder), []

        def start(command: list[str], **output: object) -> subprocess.Popen[str]:
            started.append(subprocess.Popen(command, cwd=folder, text=True, **output))
            return started[-1]

        def swap(version: str) -> None:
            recording.run(f"cp greeter-{version}.wasm plugins/.new && mv plugins/.new plugins/greeter.wasm")

        try:
            recording.line(PROMPT + "oarlock dev --plugins plugins 2> host.log &")
            with open(folder / "host.log", "w") as log:
                start(["oarlock", "dev", "--plugins", "plugins"], stdout=log, stderr=log)
            recording.run(SHOW, "active")
            recording.line(PROMPT + f"python3 {LOAD} &")
            writer = start([sys.executable, *LOAD.split()], stdout=subprocess.PIPE)
            follower = threading.Thread(target=recording.follow, args=(writer,))
            follower.start()
            time.sleep(4.5)
            swap("0.2.0")
            recording.run("grep -o 'swapped plugin=.* to=[0-9.]*' host.log", "0.2.0")
            time.sleep(6)
            recording.run(SHOW)
            time.sleep(1)
            swap("0.3.0")
            recording.run("grep -o 'rolled back plugin=.* went wrong' host.log", "0.3.0")
            time.sleep(1)
            recording.run("grep -o \"KeyError: 'spec'.* in Greeter.desired\" host.log | head -1", "app.py")
            time.sleep(4)
            recording.run(SHOW)
            time.sleep(2.5)
            writer.terminate()
            follower.join()
        finally:
            for program in started:
                program.terminate()
                program.wait()
        recording.write(cast)


# Of a character, in the units of the picture.
WIDTH, HEIGHT, MARGIN = 7.8, 18, 14


def draw(cast: Path, svg: Path) -> None:
    """Each line appears at its time, and the screen scrolls. The picture stays for four seconds, then it begins again."""
    header, *events = [json.loads(line) for line in cast.read_text().splitlines()]
    rows = header["height"]
    lines = [(at, text.rstrip("\r\n")) for at, _, text in events]
    total = lines[-1][0] + 4
    share = lambda at: f"{100 * at / total:.2f}%"
    width, height = header["width"] * WIDTH + 2 * MARGIN, rows * HEIGHT + 2 * MARGIN
    style, body, scroll = [], [], []
    for number, (at, text) in enumerate(lines):
        style.append(f"@keyframes l{number}{{0%{{opacity:0}}{share(at)}{{opacity:1}}}}#l{number}{{animation:l{number} {total:.1f}s step-end infinite}}")
        sort = "command" if text.startswith(PROMPT) else "load" if text.startswith("load:") else "out"
        y = MARGIN + HEIGHT * (number + 0.75)
        body.append(f'<text id="l{number}" class="{sort}" x="{MARGIN}" y="{y:g}" xml:space="preserve">{escape(text)}</text>')
        scroll.append(f"{share(at)}{{transform:translateY({-HEIGHT * max(0, number + 1 - rows)}px)}}")
    last = -HEIGHT * max(0, len(lines) - rows)
    svg.write_text(f'''<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" aria-labelledby="title">
<title id="title">{escape(header["title"])}</title>
<style>
text{{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d1d7e0}}.command{{fill:#f0f6fc;font-weight:600}}.load{{fill:#7ee787}}
@keyframes scroll{{{"".join(scroll)}}}
#screen{{animation:scroll {total:.1f}s step-end infinite}}
{"".join(style)}
@media (prefers-reduced-motion:reduce){{text{{animation:none!important}}#screen{{animation:none;transform:translateY({last}px)}}}}
</style>
<clipPath id="rows"><rect y="{MARGIN}" width="{width:g}" height="{rows * HEIGHT}"/></clipPath>
<rect width="{width:g}" height="{height:g}" rx="8" fill="#0d1117"/>
<g clip-path="url(#rows)"><g id="screen">
{chr(10).join(body)}
</g></g>
</svg>
''')


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["load", per_second]:
            load(int(per_second))
        case ["record", cast]:
            record(Path(cast))
        case ["draw", cast, svg]:
            draw(Path(cast), Path(svg))
        case _:
            sys.exit(__doc__)
