#!/usr/bin/env python3
"""Pack images as OCI layouts, without an engine: the host with its plugins, and the plugins alone.

    scripts/image.py --binary FILE --plugins DIR --out DIR [--ca-certificates FILE] [--level N]
    scripts/image.py --binary FILE --plugins DIR --root DIR        # the files of the host's image, for a Dockerfile

The same files give the same bytes: entries are sorted, times are SOURCE_DATE_EPOCH (or 1970), nothing is anybody's. `make image`
calls this with a static binary; the shared libraries that another one needs are found with ldd and go in with it.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import stat
import struct
import subprocess
import sys
import tarfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
PLUGINS = ["deployment-network", "envoy-injector", "network", "pod-network", "traffic"]
USER = 65532
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
MACHINES = {0x3E: "amd64", 0xB7: "arm64"}
TRIPLES = {"amd64": "x86_64-unknown-linux-gnu", "arm64": "aarch64-unknown-linux-gnu"}
# Debian's own copies of Mozilla's roots, not what the administrator of the build machine trusts beside them.
ROOTS = pathlib.Path("/usr/share/ca-certificates/mozilla")
LICENCE_FILES = re.compile(r"(?i)^(un)?(licen[cs]e|copying|copyright|notice)([-._].*)?$")
GRANTS = "/etc/oarlock/grants"
DOCUMENTS = "usr/share/doc/oarlock"


class Files:
    """Files of an image: path below / to (mode, content); a symlink's content is its target."""

    def __init__(self):
        self.entries = {}

    def add(self, path, content, mode=0o644):
        """Adds a file, and the folders above it."""
        content = content.encode() if isinstance(content, str) else content
        self.entries[path.strip("/")] = (stat.S_IFREG | mode, content)

    def link(self, path, target):
        """Adds a symlink."""
        self.entries[path.strip("/")] = (stat.S_IFLNK | 0o777, target.encode())

    def folders(self):
        """All folders above the files, the outer first."""
        return sorted({str(folder) for path in self.entries for folder in pathlib.PurePosixPath(path).parents} - {"."})

    def tar(self):
        """One layer: a tar in which nothing depends on where and when it was made."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for folder in self.folders():
                archive.addfile(self.info(folder + "/", stat.S_IFDIR | 0o755))
            for path, (mode, content) in sorted(self.entries.items()):
                info = self.info(path, mode)
                if stat.S_ISLNK(mode):
                    info.type, info.linkname = tarfile.SYMTYPE, content.decode()
                    archive.addfile(info)
                else:
                    info.size = len(content)
                    archive.addfile(info, io.BytesIO(content))
        return out.getvalue()

    @staticmethod
    def info(path, mode):
        info = tarfile.TarInfo(path)
        info.mode, info.mtime = stat.S_IMODE(mode), EPOCH
        if stat.S_ISDIR(mode):
            info.type = tarfile.DIRTYPE
        return info

    def write(self, root):
        """Writes the files below a folder."""
        for path, (mode, content) in sorted(self.entries.items()):
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if stat.S_ISLNK(mode):
                file.symlink_to(content.decode())
            else:
                file.write_bytes(content)
                file.chmod(stat.S_IMODE(mode))


def system_files(certificates):
    """What a process finds around it: its user, how names are looked up, whom HTTPS requests of plugins trust."""
    files = Files()
    files.add("etc/passwd", f"oarlock:x:{USER}:{USER}:oarlock:/:/sbin/nologin\n")
    files.add("etc/group", f"oarlock:x:{USER}:\n")
    files.add("etc/nsswitch.conf", "hosts: files dns\n")
    files.add("etc/ssl/certs/ca-certificates.crt", certificates)
    return files


def certificates_of(bundle):
    """A bundle of PEM certificates."""
    if bundle:
        return pathlib.Path(bundle).read_bytes()
    single = sorted(ROOTS.glob("*.crt"))
    if not single:
        sys.exit(f"image: no certificates in {ROOTS}: install ca-certificates, or name a bundle with --ca-certificates")
    return b"".join(file.read_bytes().strip() + b"\n" for file in single)


def program_files(binary):
    """The program and the shared libraries it is linked with: none, when it is static."""
    files = Files()
    files.add("usr/local/bin/oarlock", binary.read_bytes(), 0o755)
    listed = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=False)
    if "statically linked" in listed.stdout or "not a dynamic" in listed.stderr:
        return files
    if listed.returncode != 0:
        sys.exit(f"image: ldd {binary}: {listed.stderr.strip()}")
    for path in re.findall(r"(/\S+) \(0x", listed.stdout):
        files.add(path, pathlib.Path(path).resolve().read_bytes(), 0o755)
    return files


def plugin_files(folder, below):
    """The shipped plugins. Their grants are somebody else's: a symlink leads to where a cluster puts them."""
    files = Files()
    for name in PLUGINS:
        files.add(f"{below}{name}.wasm", (folder / f"{name}.wasm").read_bytes())
        files.link(f"{below}{name}.yaml", f"{GRANTS}/{name}.yaml")
    return files


def crates(triple):
    """The crates in the host and in the plugins, without those that only build or test them: (package, what it uses), by name."""
    found = used_by(["oarlock"], triple)
    found |= used_by([f"{name}-plugin" for name in PLUGINS], "wasm32-unknown-unknown")
    # Not by id: that of a crate of this workspace is where it lies.
    return sorted(found.values(), key=lambda one: (one[0]["name"], one[0]["version"]))


def used_by(roots, triple):
    """These crates of the workspace and all they are linked with, by id."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", triple]
    metadata = json.loads(subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found, waiting = {}, [one for one in metadata["workspace_members"] if packages[one]["name"] in roots]
    if len(waiting) != len(roots):
        sys.exit(f"image: not all of {roots} are crates of this workspace")
    while waiting:
        one = waiting.pop()
        if one not in found:
            used = [d["pkg"] for d in nodes[one]["deps"] if any(k["kind"] is None for k in d["dep_kinds"])]
            found[one] = (packages[one], [packages[two] for two in used])
            waiting += used
    return found


def checksums():
    """SHA-256 of each crate's archive, by name and version, from Cargo.lock."""
    text = (REPOSITORY / "Cargo.lock").read_text()
    entry = re.compile(r'name = "([^"]+)"\nversion = "([^"]+)"\nsource = "[^"]+"\nchecksum = "([0-9a-f]{64})"')
    return {(name, version): checksum for name, version, checksum in entry.findall(text)}


def bill_of_materials(all_crates, version):
    """CycloneDX 1.5: every crate with its licence, where it comes from and what it uses."""
    sums = checksums()

    def reference(package):
        return f"pkg:cargo/{package['name']}@{package['version']}"

    components, dependencies = [], []
    for package, used in all_crates:
        component = {
            "type": "library",
            "bom-ref": reference(package),
            "name": package["name"],
            "version": package["version"],
            "purl": reference(package),
            "licenses": [{"expression": licence_of(package)}],
        }
        if checksum := sums.get((package["name"], package["version"])):
            component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        components.append(component)
        dependencies.append({"ref": reference(package), "dependsOn": sorted({reference(one) for one in used})})
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": created(),
            "component": {"type": "container", "bom-ref": "oarlock", "name": "oarlock", "version": version},
        },
        "components": components,
        "dependencies": dependencies,
    }


def licence_of(package):
    """Its SPDX expression; a slash is how it was written once."""
    return " ".join((package["license"] or "NOASSERTION").replace("/", " OR ").split())


def licences(all_crates):
    """The licence texts out of the crates' sources; each text once, with the crates it is of."""
    texts, without = {}, []
    for package, _ in all_crates:
        folder = pathlib.Path(package["manifest_path"]).parent
        files = [folder / package["license_file"]] if package["license_file"] else []
        files += [file for file in sorted(folder.iterdir()) if LICENCE_FILES.match(file.name) and file.is_file()]
        name = f"{package['name']} {package['version']} ({licence_of(package)})"
        if not files and folder.is_relative_to(REPOSITORY):
            files = [REPOSITORY / "LICENSE"]
        for text in {file.read_text(errors="replace").strip() for file in files}:
            texts.setdefault(text, []).append(name)
        if not files:
            without.append(", ".join([name, *package["authors"]]))
    parts = [f"{chr(10).join(sorted(names))}\n\n{text}\n" for text, names in texts.items()]
    head = "Licences of the crates in this image, as they are in their sources.\n"
    if without:
        head += "\nThese have no text in their sources; that of others with the same licence is below:\n" + "\n".join(without) + "\n"
    return ("\n" + "-" * 80 + "\n\n").join([head, *sorted(parts)])


def c_library_licence(program):
    """The licence of the C library, which is in the program or beside it."""
    text = pathlib.Path("/usr/share/doc/libc6/copyright")
    if b"GNU C Library" in program and text.is_file():
        return text.read_bytes()
    return None


def document_files(program, machine, version):
    """Licences, and what the image is made of."""
    files, all_crates = Files(), crates(TRIPLES[machine])
    files.add(f"{DOCUMENTS}/LICENSE", (REPOSITORY / "LICENSE").read_bytes())
    files.add(f"{DOCUMENTS}/LICENSES-OF-CRATES.txt", licences(all_crates))
    libraries = b"".join(content for _, content in program.entries.values())
    if text := c_library_licence(libraries):
        files.add(f"{DOCUMENTS}/LICENSE-OF-LIBC.txt", text)
    bom = json.dumps(bill_of_materials(all_crates, version), indent=1, sort_keys=True)
    files.add(f"{DOCUMENTS}/sbom.cdx.json", bom + "\n")
    return files


def created():
    """The time of everything."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))


def version_of_workspace():
    """The version in Cargo.toml."""
    found = re.search(r'^\[workspace\.package\]\nversion = "([^"]+)"', (REPOSITORY / "Cargo.toml").read_text(), re.M)
    return found[1]


def architecture(binary):
    """GOARCH of an ELF file."""
    head = binary.read_bytes()[:20]
    machine = struct.unpack("<H", head[18:20])[0] if head[:4] == b"\x7fELF" else 0
    return MACHINES.get(machine) or sys.exit(f"image: {binary} is no program for {' or '.join(MACHINES.values())}")


class Layout:
    """An OCI image layout with one image."""

    def __init__(self, folder, level):
        if folder.exists():
            shutil.rmtree(folder)
        (folder / "blobs/sha256").mkdir(parents=True)
        self.folder, self.level = folder, level

    def blob(self, media_type, content):
        """Stores bytes; answers their descriptor."""
        digest = hashlib.sha256(content).hexdigest()
        (self.folder / "blobs/sha256" / digest).write_bytes(content)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}

    def json(self, media_type, value):
        """Stores a document."""
        return self.blob(media_type, json.dumps(value, sort_keys=True, separators=(",", ":")).encode())

    def layer(self, files):
        """Stores a layer; answers its descriptor and the digest of what is in it."""
        content = files.tar()
        inner = f"sha256:{hashlib.sha256(content).hexdigest()}"
        out = io.BytesIO()
        with gzip.GzipFile(filename="", fileobj=out, mode="wb", compresslevel=self.level, mtime=0) as stream:
            stream.write(content)
        return self.blob("application/vnd.oci.image.layer.v1.tar+gzip", out.getvalue()), inner

    def image(self, layers, config, machine, version, title):
        """Writes the image and the index that names it."""
        stored = [self.layer(files) for files in layers]
        labels = {
            "org.opencontainers.image.title": title,
            "org.opencontainers.image.version": version,
            "org.opencontainers.image.licenses": "Apache-2.0",
            "org.opencontainers.image.created": created(),
        }
        document = {
            "created": created(),
            "architecture": machine,
            "os": "linux",
            "config": config | {"Labels": labels},
            "rootfs": {"type": "layers", "diff_ids": [inner for _, inner in stored]},
            "history": [{"created": created(), "created_by": "scripts/image.py"} for _ in stored],
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": self.json("application/vnd.oci.image.config.v1+json", document),
            "layers": [descriptor for descriptor, _ in stored],
            "annotations": labels,
        }
        descriptor = self.json(manifest["mediaType"], manifest)
        # Tools that copy layouts look for the first name, containerd for the second: without it, it names the image after the day of the import.
        names = {"org.opencontainers.image.ref.name": version, "io.containerd.image.name": f"docker.io/library/{title}:{version}"}
        descriptor |= {"platform": {"architecture": machine, "os": "linux"}, "annotations": names}
        media_type = "application/vnd.oci.image.index.v1+json"
        index = {"schemaVersion": 2, "mediaType": media_type, "manifests": [descriptor]}
        (self.folder / "index.json").write_text(json.dumps(index, sort_keys=True, separators=(",", ":")))
        (self.folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
        size = sum(file.stat().st_size for file in (self.folder / "blobs/sha256").iterdir())
        print(f"{self.folder}:{version} {descriptor['digest']} ({size / 1e6:.1f} MB)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, required=True, help="the program oarlock")
    parser.add_argument("--plugins", type=pathlib.Path, required=True, help="folder of built plugins")
    parser.add_argument("--out", type=pathlib.Path, help="where the layouts oarlock and oarlock-plugins are written")
    parser.add_argument("--root", type=pathlib.Path, help="write the files of the host's image into this folder instead")
    parser.add_argument("--ca-certificates", help="PEM bundle instead of Debian's copy of Mozilla's roots")
    parser.add_argument("--level", type=int, default=9, help="how hard layers are compressed, 1 to 9")
    args = parser.parse_args()
    if (args.out is None) == (args.root is None):
        parser.error("either --out or --root")
    version, machine = version_of_workspace(), architecture(args.binary)
    program = program_files(args.binary)
    layers = [
        system_files(certificates_of(args.ca_certificates)),
        program,
        plugin_files(args.plugins, "plugins/"),
        document_files(program, machine, version),
    ]
    if args.root:
        for layer in layers:
            layer.write(args.root)
        return
    config = {
        "User": f"{USER}:{USER}",
        "Entrypoint": ["/usr/local/bin/oarlock"],
        "Env": ["PATH=/usr/local/bin"],
        "WorkingDir": "/",
        "ExposedPorts": {"9443/tcp": {}, "9797/tcp": {}},
    }
    Layout(args.out / "oarlock", args.level).image(layers, config, machine, version, "oarlock")
    alone = [plugin_files(args.plugins, "")]
    Layout(args.out / "oarlock-plugins", args.level).image(alone, {}, machine, version, "oarlock-plugins")


if __name__ == "__main__":
    main()
