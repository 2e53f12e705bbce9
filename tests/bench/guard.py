#!/usr/bin/env python3
"""What this commit made slower or larger: its binaries beside those of an earlier one, in pairs.

BASE (in the environment, `make bench ONLY=guard BASE=…`) says what to compare with: a folder of release binaries, or a commit, of which the
merge base with this one counts. Without it, the newest tag v* before this commit. A commit is checked out into GUARD/source, a worktree of
git, and built in release into GUARD/build, where GUARD is `guard` beside the folder of the binaries: a build of minutes, once for each
commit.

Each pair measures one after the other, and which comes first changes from pair to pair. The ratio is this commit's figure divided by the
base's in the same pair. The output shows its minimum, median and maximum. Both sides use the plugins, the API server and the client of this
commit. They differ in the host, and for single parts in the program `micro`. Nothing is asserted. A figure that the base cannot measure
is left out, with the reason.

--json prints one JSON document instead of the table.
"""
import contextlib, json, os, pathlib, statistics, subprocess, sys, types

import admission, compare
from bench import ROOT, World, arguments, machine, table

SAMPLE = ROOT / "plugins/namespace-baseline/rust/cases/in-sync.yaml"
# What a figure is, by its name: how it is read from the results of its benchmark, and whether more of it is better.
FIGURES = {
    "reconcile, fresh instance: p50, µs": ("sample", lambda r: r["fresh"]["times"]["reconcile"]["p50_us"], False),
    "reconcile, fresh instance: CPU, µs": ("sample", lambda r: r["fresh"]["cpu_us"], False),
    "reconcile, reused instance: p50, µs": ("sample", lambda r: r["reused"]["times"]["reconcile"]["p50_us"], False),
    "reconcile, reused instance: CPU, µs": ("sample", lambda r: r["reused"]["cpu_us"], False),
    "queue: add, get and done of 1,000 keys, µs": ("queue", lambda r: r["add_get_done_us"], False),
    "merge: two-way patches of 4 containers a second": ("merge", lambda r: r["create_two_way_per_second"], True),
    "merge: three-way patches a second": ("merge", lambda r: r["create_three_way_per_second"], True),
    "merge: patches applied a second": ("merge", lambda r: r["apply_per_second"], True),
    "status of {count:,} objects: CPU of each, ms": ("status", lambda r: r["cpu_ms_per_object"], False),
    "status of {count:,} objects: wall, s": ("status", lambda r: r["wall_s"], False),
    "status of {count:,} objects: RSS, MiB": ("status", lambda r: r["full_mib"], False),
    "idle RSS, MiB": ("status", lambda r: r["idle_mib"], False),
    "reviews a second, 8 at once": ("reviews", lambda r: r["perSecond"], True),
    "reviews, 8 at once: CPU of each, µs": ("reviews", lambda r: r["cpu_us"], False),
}


def git(*command):
    return subprocess.run(["git", "-C", ROOT, *command], check=True, capture_output=True, text=True).stdout.strip()


def base(opts):
    """The folder of the binaries to compare with, and its name."""
    wanted = os.environ.get("BASE", "")
    if wanted and (pathlib.Path(wanted) / "oarlock").is_file():
        return pathlib.Path(wanted).resolve(), wanted
    try:
        commit = git("merge-base", "HEAD", wanted) if wanted else git("describe", "--tags", "--match", "v*", "--abbrev=0", "HEAD^")
    except subprocess.CalledProcessError as error:
        what = f"BASE={wanted} is neither a folder with oarlock nor a commit" if wanted else "there is no release yet; give BASE=COMMIT or BASE=FOLDER"
        sys.exit(f"guard: {what}\n{error.stderr.strip()}")
    return built(opts, commit), git("describe", "--tags", "--always", commit)


def built(opts, commit):
    """Release binaries of a commit."""
    guard = opts.bin.resolve().parent / "guard"
    source, build = guard / "source", guard / "build"
    if source.exists():
        subprocess.run(["git", "-C", source, "checkout", "--quiet", "--detach", commit], check=True)
    else:
        guard.mkdir(parents=True, exist_ok=True)
        # One that was removed by hand is still in git's list.
        git("worktree", "prune")
        git("worktree", "add", "--quiet", "--detach", source, commit)
    print(f"guard: building {commit[:12]} in {build}", file=sys.stderr, flush=True)
    subprocess.run(["cargo", "build", "--release", "--workspace", "--bins"], cwd=source, check=True, stdout=sys.stderr,
                   env=dict(os.environ, CARGO_TARGET_DIR=str(build)))
    return build / "release"


def micro(side, *command):
    return json.loads(subprocess.run([side / "micro", *map(str, command)], check=True, capture_output=True, text=True).stdout)


def sample(opts, side, cache):
    return micro(side, "plugin", opts.plugins / "namespace-baseline-rust.wasm", "--case", SAMPLE, "--cache-dir", cache, "--seconds", opts.seconds)


def status(opts, side, cache):
    """The host on objects that nobody has looked at."""
    options = types.SimpleNamespace(bin=opts.bin, plugins=opts.plugins, cache=cache, real=False)
    return compare.cold(options, compare.Oarlock, "status", 2, opts.count, hosts=side)


def reviews(opts, side, cache):
    with World(opts, hosts=side) as world:
        webhook = admission.host(opts, world)
        webhook.load(seconds=1)
        return webhook.load(seconds=opts.seconds, connections=8)


BENCHMARKS = {"sample": sample, "queue": lambda opts, side, cache: micro(side, "queue"),
              "merge": lambda opts, side, cache: micro(side, "merge", "--containers", 4), "status": status, "reviews": reviews}


def pairs(opts, sides, benchmark):
    """The results of each pair, by side; none if one side cannot be measured."""
    results = []
    for number in range(opts.pairs):
        pair = {}
        for name in list(sides)[::1 if number % 2 == 0 else -1]:
            try:
                pair[name] = BENCHMARKS[benchmark](opts, sides[name], opts.bin.resolve().parent / f"guard-cache-{name}")
            except subprocess.CalledProcessError as error:
                print(f"guard: {benchmark} is left out: {name}: {(error.stderr or str(error)).strip()}", file=sys.stderr, flush=True)
                return []
        results.append(pair)
        print(f"guard: {benchmark}, pair {number + 1} of {opts.pairs}", file=sys.stderr, flush=True)
    return results


def figures(opts, sides):
    """Every figure that both sides have."""
    results = {benchmark: pairs(opts, sides, benchmark) for benchmark in BENCHMARKS}
    found = {}
    for name, (benchmark, read, more) in FIGURES.items():
        # An earlier `micro` may have said less.
        with contextlib.suppress(KeyError):
            values = {side: [read(pair[side]) for pair in results[benchmark]] for side in sides}
            if not results[benchmark]:
                continue
            ratios = [this / before for this, before in zip(values["this"], values["base"])]
            found[name.format(count=opts.count)] = {
                **values, "more_is_better": more,
                "ratio": {"min": min(ratios), "median": statistics.median(ratios), "max": max(ratios)}}
    return found


def markdown(results):
    number = lambda value: f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    rows = [[name, number(statistics.median(figure["base"])), number(statistics.median(figure["this"])),
             *(f"{figure['ratio'][which]:.3f}" for which in ("min", "median", "max")), "more" if figure["more_is_better"] else "less"]
            for name, figure in results["figures"].items()]
    return (f"This commit ({results['this']}) beside {results['base']}, {results['pairs']} pairs on {results['machine']}\n\n"
            + table(["", "base", "this", "ratio: least", "median", "greatest", "better is"], rows))


def main():
    opts = arguments(__doc__, pairs=5, count=2000, seconds=5, json=False)
    folder, name = base(opts)
    this = git("describe", "--tags", "--always", "--dirty")
    results = {"this": this, "base": name, "machine": machine(), "pairs": opts.pairs, "figures": figures(opts, {"base": folder, "this": opts.bin})}
    print(json.dumps(results, indent=1) if opts.json else markdown(results))


if __name__ == "__main__":
    main()
