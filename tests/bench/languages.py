#!/usr/bin/env python3
"""What each language costs: plugins/namespace-baseline, the same reconciler in all of them, built, compiled and run; and the way from an
empty folder to a first reconcile, by the commands of docs/writing-plugins.md.

Writes languages.json and languages.md into the folder of the results.
"""
import json, os, pathlib, re, resource, shutil, subprocess, sys, tempfile, time

from bench import ROOT, arguments, machine, table, wait

ORDER = ["rust", "js", "ts", "python", "c", "go"]
SAMPLES = ROOT / "plugins/namespace-baseline"
GUIDE = ROOT / "docs/writing-plugins.md"


def timed(command, **options):
    """What a command takes with all that it starts: seconds by the clock, and of processors."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")
    return {"wall_s": wall, "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}, done.stdout


def environment(**more):
    """Ours without what a make around us says; what cargo needs for WebAssembly on this machine comes with it."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "VENV", "CARGO_TARGET_DIR")}
    return inherited | wasm_environment() | {name: str(value) for name, value in more.items()}


def wasm_environment():
    """What setup.sh found out."""
    exports = re.compile(r"export (\w+)=(.*)")
    file = opts.bin.parent / "wasm.env"
    lines = file.read_text().splitlines() if file.exists() else []
    return dict(found.groups() for found in map(exports.fullmatch, lines) if found)


def built(language, folder):
    """The build of the sample: from nothing with its tools there, and after a change; and its file. Without what the host does with it."""
    project, tools = SAMPLES / language, opts.bin.parent / "languages"
    make = ["make", "-C", project, "build", "OARLOCK=true", f"VENV={tools / language}"]
    env = environment(CARGO_TARGET_DIR=folder / "target", XDG_CACHE_HOME=tools / "cache")
    if language != "rust":
        # It fetches the tools. Crates are there: run.sh has built plugins.
        timed(make, env=env)
    shutil.rmtree(project / "build", ignore_errors=True)
    whole, _ = timed(make, env=env)
    for source in [*(project / "src").glob("*.*"), *project.glob("*.py")]:
        source.touch()
    change, _ = timed(make, env=env)
    return {"build": whole, "rebuild": change}, next((project / "build").glob("*.wasm"))


def compiled(file, folder):
    command = [opts.bin / "oarlock", "compile", file, "--cache-dir", folder / "cache"]
    return {"compile": timed(command)[0], "from_cache": timed(command)[0]}


def run(file, folder):
    """The component in the library of the host: a Namespace that is as it should be, and one that gets both documents."""
    figures = {}
    for what, case in {"in_sync": "in-sync", "writes": "asks-for-it"}.items():
        command = [opts.bin / "micro", "plugin", file, "--case", SAMPLES / f"rust/cases/{case}.yaml", "--cache-dir", folder / "cache",
                   "--seconds", opts.seconds]
        # Where it lies on this machine is no figure.
        figures[what] = {name: value for name, value in json.loads(timed(command)[1]).items() if name != "file"}
    return figures


def commands(section):
    """The shell blocks of a section of the guide, a list of commands each."""
    text = GUIDE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return [[line.split(" #")[0].strip() for line in block.splitlines() if line.strip()] for block in blocks]


def walk(language, folder):
    """What the guide says, from an empty folder until an object is reconciled. Packages that were downloaded once come from the caches of the
    package managers; the cache of compiled code is empty."""
    make, watch = commands("Ten minutes")
    env = environment(PATH=f"{opts.bin}:{os.environ['PATH']}", XDG_CACHE_HOME=folder / "cache", PIP_CACHE_DIR=pathlib.Path.home() / ".cache/pip")
    where, began, steps, took = folder, time.monotonic(), 0, {}

    def step(command):
        """Ends with an error when it fails, as a person would."""
        nonlocal where, steps
        steps += 1
        if command.startswith("cd "):
            where = where / command[3:]
        elif command.startswith("export "):
            name, value = command[7:].split("=")
            env[name] = value
        else:
            took[command] = timed(["sh", "-c", command], cwd=where, env=env)[0]["wall_s"]

    for command in make[:-1]:
        step(command.replace("--lang rust", f"--lang {language}"))
    with open(folder / "dev.log", "w") as log:
        dev = subprocess.Popen(make[-1].split(), cwd=where, env=env, stdout=log, stderr=log)
    steps += 1
    try:
        wait("the kubeconfig of oarlock dev", 60, (where / ".oarlock/kubeconfig").exists, pause=0.02)
        export, create, get, plugins = watch
        step(export)
        step(create)

        def greeted():
            if dev.poll() is not None:
                sys.exit((folder / "dev.log").read_text())
            return "greeting" in timed(["sh", "-c", get], cwd=where, env=env)[1]

        wait(f"the greeting of {language}", 300, greeted, pause=0.02)
        steps += 1
        seconds = time.monotonic() - began
        if "active" not in timed(["sh", "-c", plugins], cwd=where, env=env)[1]:
            sys.exit(f"{plugins}: no active plugin")
    finally:
        dev.terminate()
        dev.wait(30)
    return {"steps": steps, "wall_s": seconds, "commands": took}


def markdown(results):
    """The results as a table: a column per language."""
    languages = results["languages"]
    both = lambda name: lambda r: f"{r[name]['wall_s']:.2f} / {r[name]['cpu_s']:.2f}"
    call = lambda case, fresh, name, percent="p50_us": lambda r: f"{r['run'][case][fresh]['times'][name][percent]:,.0f}"
    reconcile = lambda fresh: lambda r: " / ".join(
        [call("in_sync", fresh, "reconcile")(r), call("in_sync", fresh, "reconcile", "p99_us")(r), f"{r['run']['in_sync'][fresh]['cpu_us']:,.0f}"])
    memory = lambda name: lambda r: f"{r['run']['in_sync']['memory'][name] / 1024:,.0f}"
    rows = {
        "component, KB": lambda r: f"{r['bytes'] / 1000:,.0f}",
        "`make build` from nothing, s wall / CPU": both("build"),
        "`make build` after a change, s wall / CPU": both("rebuild"),
        "`oarlock compile`, s wall / CPU": both("compile"),
        "the same from the code cache, s wall / CPU": both("from_cache"),
        "make an instance, µs": call("in_sync", "fresh", "instance"),
        "get-desired, µs": call("in_sync", "fresh", "get-desired"),
        "get-actual, µs": call("in_sync", "fresh", "get-actual"),
        "patch, µs": call("writes", "fresh", "patch"),
        "reconcile, fresh instance, µs p50 / p99 / CPU": reconcile("fresh"),
        "reconcile, reused instance, µs p50 / p99 / CPU": reconcile("reused"),
        "memory of an instance, KiB": memory("resident_bytes"),
        "its linear memories, KiB": memory("linear_bytes"),
        "from an empty folder to a reconcile, s (commands)": lambda r: f"{r['walk']['wall_s']:.1f} ({r['walk']['steps']})",
    }
    return "\n".join([
        "# One reconciler in every language\n",
        f"Made by `make bench ONLY=languages` on {results['machine']}. docs/performance.md says what is measured.\n",
        table(["", *languages], [[name, *(cell(row) for row in languages.values())] for name, cell in rows.items()])])


opts = arguments(__doc__, seconds=2)
results = {"machine": machine(), "languages": {}}
for language in ORDER:
    if not (SAMPLES / language / "Makefile").exists():
        continue
    with tempfile.TemporaryDirectory(prefix="oarlock-bench-") as folder:
        folder = pathlib.Path(folder)
        row, file = built(language, folder)
        row |= {"bytes": file.stat().st_size, **compiled(file, folder), "run": run(file, folder)}
    with tempfile.TemporaryDirectory(prefix="oarlock-bench-") as folder:
        row["walk"] = walk(language, pathlib.Path(folder))
    results["languages"][language] = row
    print(f"{language}: {json.dumps(row)}", flush=True)
results_folder = ROOT / "bench/results"
(results_folder / "languages.json").write_text(json.dumps(results, indent=1) + "\n")
(results_folder / "languages.md").write_text(markdown(results))
print(markdown(results))
