#!/usr/bin/env python3
"""Lay out the sources of the book for mdbook, and check the links of the built one.

    scripts/book.py FOLDER          # writes FOLDER/book.toml and FOLDER/src
    scripts/book.py --check FOLDER  # FOLDER with the built pages

Pages keep their places in the repository, so that their links to each other hold. A README.md becomes index.md. A link to a file that is no
page leads to the repository.
"""

import os
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
REPOSITORY = "https://github.com/oarlock/oarlock/blob/main/"
LINK = re.compile(r"(\]\(|src=\")([^)\s\"#]+)(#[^)\s\"]*)?")


def normal(base: PurePosixPath, target: str) -> str:
    """The path in the repository of a link in a page."""
    return os.path.normpath(str(base.parent / target))


def placed(path: str) -> str:
    """The path of a page in the book."""
    return path.removesuffix("README.md") + "index.md" if path.endswith("README.md") else path


def rewritten(page: str, text: str, pages: set[str], images: set[str]) -> str:
    """The text of a page with links that hold in the book. Notes the images it shows."""

    def link(match: re.Match[str]) -> str:
        before, target, anchor = match[1], match[2], match[3] or ""
        if re.match(r"[a-z]+:", target):
            return match[0]
        path = normal(PurePosixPath(page), target)
        if path in pages:
            return before + os.path.relpath(placed(path), PurePosixPath(placed(page)).parent) + anchor
        if path.endswith((".svg", ".png")):
            images.add(path)
            return match[0]
        return before + REPOSITORY + path + anchor

    lines, fenced = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            # mdbook makes a class of each word; only the language is one.
            line = line.split(" ")[0]
            fenced = not fenced
        elif not fenced:
            parts = line.split("`")
            parts[::2] = [LINK.sub(link, part) for part in parts[::2]]
            line = "`".join(parts)
        lines.append(line)
    return "\n".join(lines) + "\n"


def lay_out(folder: Path) -> None:
    summary = (ROOT / "docs/SUMMARY.md").read_text()
    pages = {normal(PurePosixPath("docs/SUMMARY.md"), match[2]) for match in LINK.finditer(summary)}
    images: set[str] = set()
    source = folder / "src"
    shutil.rmtree(folder, ignore_errors=True)
    for page in sorted(pages):
        to = source / placed(page)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(rewritten(page, (ROOT / page).read_text(), pages, images))
    for image in sorted(images):
        to = source / image
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / image, to)
    # Its links are those of a page in docs/, and it lies above.
    entry = lambda match: match[1] + placed(normal(PurePosixPath("docs/SUMMARY.md"), match[2]))
    (source / "SUMMARY.md").write_text(LINK.sub(entry, summary))
    shutil.copyfile(ROOT / "docs/book.toml", folder / "book.toml")
    with open(folder / "book.toml", "a") as settings:
        settings.write('\n[build]\nbuild-dir = "html"\n')


class Page(HTMLParser):
    """The ids and the links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            if name in ("href", "src") and value and tag in ("a", "img"):
                self.links.append(value)


def check(folder: Path) -> None:
    whole = {path: Page(path.read_text()) for path in folder.rglob("*.html") if path.name not in ("print.html", "404.html", "toc.html")}
    broken = []
    for path, page in whole.items():
        for link in page.links:
            target, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", link) or not (target or anchor):
                continue
            to = (path.parent / target).resolve() if target else path
            if not to.is_file() or (anchor and to in whole and anchor not in whole[to].ids):
                broken.append(f"{path.relative_to(folder)}: {link}")
    if broken:
        sys.exit("book: links that lead nowhere:\n" + "\n".join(broken))
    if len(whole) < 20:
        sys.exit(f"book: only {len(whole)} pages")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--check", folder]:
            check(Path(folder).resolve())
        case [folder]:
            lay_out(Path(folder))
        case _:
            sys.exit(__doc__)
