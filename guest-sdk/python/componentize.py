"""Runs componentize-py for the world that the plugin needs, and shows of a failed build the error of the plugin: first, and without the stack of the tool.

    componentize.py PATH/componentize-py ARGUMENTS…
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

PATH_OPTIONS = ("--python-path", "-p")
WORLD_OPTIONS = ("--world", "-w")


# What the build of a plugin that converts ends with in the world of one that does not.
CONVERTS = "this plugin converts: build it for the world converting-plugin"


def main(command: list[str]) -> int:
    run = ran(command)
    if run.returncode != 0 and CONVERTS in run.stderr + run.stdout:
        command = converting(command)
        run = ran(command)
    if run.returncode == 0:
        return 0
    sys.stderr.write(explained(run.stderr + run.stdout, python_paths(command)))
    return 1


def ran(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=os.environ | {"RUST_BACKTRACE": "0"}, capture_output=True, text=True)


def converting(command: list[str]) -> list[str]:
    """The command for the world of a plugin that converts."""
    before = ["", *command]
    return ["converting-plugin" if option in WORLD_OPTIONS else value for option, value in zip(before, command)]


def python_paths(command: list[str]) -> list[str]:
    """The folders that the tool calls /0, /1 and so on."""
    return [value for option, value in zip(command, command[1:]) if option in PATH_OPTIONS]


def explained(text: str, paths: list[str]) -> str:
    """The error in its last line, then where it happened, with the paths of the project."""
    # The tool is called from Python: its own traceback ends with the plugin's as the text of an AssertionError.
    _, found, error = text.partition("AssertionError: ")
    if not found:
        return f"error: {text.strip()}\n"
    error = re.split(r"\n\s*\n(?:Caused by:|Stack backtrace:)", error, maxsplit=1)[0]
    lines = [line.rstrip() for line in error.strip("\n").splitlines()]
    for number, path in enumerate(paths):
        inside = "" if path == "." else f"{path}/"
        lines = [line.replace(f'"/{number}/', f'"{inside}') for line in lines]
    return "\n".join([f"error: {lines[-1].strip()}", *lines[:-1], ""])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
