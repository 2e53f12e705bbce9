"""Packs one program, with the libraries that ldd names, as an archive that container engines load.

    pack.py OUT.tar PROGRAM NAME...        the image under each of these names starts PROGRAM
"""

import hashlib
import io
import json
import pathlib
import platform
import re
import subprocess
import sys
import tarfile

out, program, *names = sys.argv[1:]
listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
files = {"program": program} | {path.strip("/"): path for path in re.findall(r"(/\S+) \(0x", listed)}

packed = io.BytesIO()
with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as layer:
    folders = {str(folder) for path in files for folder in pathlib.PurePosixPath(path).parents} - {"."}
    for folder in sorted(folders):
        info = tarfile.TarInfo(folder)
        info.type, info.mode = tarfile.DIRTYPE, 0o755
        layer.addfile(info)
    for path, source in files.items():
        content = pathlib.Path(source).resolve().read_bytes()
        info = tarfile.TarInfo(path)
        info.size, info.mode = len(content), 0o755
        layer.addfile(info, io.BytesIO(content))

machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
layer = packed.getvalue()
config = {
    "architecture": machine,
    "os": "linux",
    "config": {"Entrypoint": ["/program"]},
    "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
}
config = json.dumps(config).encode()
digest = hashlib.sha256(config).hexdigest()
manifest = [{"Config": f"{digest}.json", "RepoTags": names, "Layers": ["layer.tar"]}]
with tarfile.open(out, "w") as archive:
    for path, content in ((f"{digest}.json", config), ("layer.tar", layer), ("manifest.json", json.dumps(manifest).encode())):
        info = tarfile.TarInfo(path)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
