#!/usr/bin/env python3
"""From a save to the first reconcile on the new code: `oarlock dev --watch` on a project of `oarlock new`, in each language.

  edit-loop.py --bin FOLDER [--languages "rust c"] [--edits N]

Each edit replaces the greeting in the reconciler, so that each save makes another version. The next save comes when the project's tests have
ended. The clock of this script runs from the write of the file until the command reports the first reconcile of the new version. Prints a row
of Markdown for each language: p50 and p95 of the whole, p50 of the build alone, and the load of the machine. The tools of the languages stay
in the target folder.
"""

import argparse
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import time

# Where the greeting is put together.
GREETINGS = {
    "rust": ("src/lib.rs", "{word}, {}"),
    "c": ("src/reconciler.c", "%s, %s"),
    "js": ("src/reconciler.js", "${word}, ${cx.name}"),
    "ts": ("src/reconciler.ts", "${word}, ${cx.name}"),
    "go": ("main.go", 'word + ", " + cx.Name()'),
    "python": ("app.py", "{word}, {cx.name}"),
}
OBJECT = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}"
RECONCILED = re.compile(r"reconciled ConfigMap default/a .* s after the save, of which the build ([0-9.]+) s")
TESTED = re.compile(r"(cases|scenarios)(: \d+ passed| broken by this version:)$")
# The first build installs tools.
DEADLINE_SECONDS = 900


class Dev:
    """`oarlock dev --watch`, and the lines that it printed."""

    def __init__(self, oarlock, project, environment):
        folder = project.parent
        (folder / "object.yaml").write_text(OBJECT)
        command = [oarlock, "dev", "--watch", project, "--kubeconfig-out", folder / "kubeconfig", "--admin-addr", "127.0.0.1:0"]
        command += ["--cache-dir", folder / "cache", "--apply", folder / "object.yaml"]
        with open(folder / "log", "w") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        self.lines = []
        self.changed = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append((time.monotonic(), line.rstrip()))
                self.changed.notify_all()
        with self.changed:
            self.lines.append((time.monotonic(), None))
            self.changed.notify_all()

    def wait(self, pattern, number):
        """The time of the line of this number, from 0, that matches, and the match."""

        def found():
            matches = [(when, match) for when, line in self.lines if line is not None and (match := pattern.search(line))]
            ended = self.lines and self.lines[-1][1] is None
            return matches[number] if len(matches) > number else ended and "the command ended"

        with self.changed:
            answer = self.changed.wait_for(found, DEADLINE_SECONDS) or f"{DEADLINE_SECONDS} s have passed"
            if isinstance(answer, str):
                last = "\n".join(str(line) for _, line in self.lines[-40:])
                raise SystemExit(f"{answer} without {pattern.pattern!r} number {number}:\n{last}")
            return answer

    def end(self):
        self.process.terminate()
        self.process.wait(60)


def percentile(values, percent):
    values = sorted(values)
    return values[max(0, -(-len(values) * percent // 100) - 1)]


def measure(oarlock, language, edits, environment):
    with tempfile.TemporaryDirectory() as folder:
        project = pathlib.Path(folder) / "greeter"
        subprocess.run([oarlock, "new", "greeter", "--lang", language, "--dir", project], check=True, stdout=subprocess.DEVNULL)
        name, greeting = GREETINGS[language]
        source = project / name
        text = source.read_text()
        if greeting not in text:
            raise SystemExit(f"{source}: no greeting to change")
        suites = sum((project / folder).is_dir() for folder in ("cases", "scenarios"))
        dev = Dev(oarlock, project, environment)
        try:
            whole, builds = [], []
            dev.wait(RECONCILED, 0)
            dev.wait(TESTED, suites - 1)
            for edit in range(1, edits + 1):
                began = time.monotonic()
                source.write_text(text.replace(greeting, greeting.replace(", ", f", {edit} ")))
                ended, match = dev.wait(RECONCILED, edit)
                whole.append(ended - began)
                builds.append(float(match[1]))
                dev.wait(TESTED, suites * (edit + 1) - 1)
            return whole, builds
        finally:
            dev.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--plugins", help="not used: every benchmark gets it")
    parser.add_argument("--languages", default="rust c js ts go python")
    parser.add_argument("--edits", type=int, default=20)
    options = parser.parse_args()
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target")).resolve()
    print("| language | saves | p50 s | p95 s | the build, p50 s | load |\n| --- | --- | --- | --- | --- | --- |", flush=True)
    for language in options.languages.split():
        environment = os.environ | {
            "CARGO_TARGET_DIR": str(target / "projects"),
            "VENV": str(target / "languages" / language),
            "npm_config_prefer_offline": "true",
        }
        standard_library = target / "wasm.env"
        for line in standard_library.read_text().splitlines() if standard_library.exists() else []:
            name, _, value = line.removeprefix("export ").partition("=")
            if line.startswith("export "):
                environment[name] = value
        loads = [os.getloadavg()[0]]
        whole, builds = measure(options.bin.resolve() / "oarlock", language, options.edits, environment)
        loads.append(os.getloadavg()[0])
        figures = " | ".join(f"{value:.1f}" for value in (percentile(whole, 50), percentile(whole, 95), percentile(builds, 50)))
        print(f"| {language} | {options.edits} | {figures} | {min(loads):.1f} to {max(loads):.1f} |", flush=True)


if __name__ == "__main__":
    main()
