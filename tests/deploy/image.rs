//! What `scripts/image.py` packs: an OCI layout that says the truth about itself, the same every time, with a program that starts.

use super::SHIPPED;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{built_plugin, oarlock_binary, repository_root};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Runs a command to its end; its standard output.
pub(super) fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// The program without what only debuggers need, as in a release build.
pub(super) fn stripped(folder: &Path) -> Result<PathBuf> {
    let program = folder.join("program");
    run(Command::new("strip").arg("-o").arg(&program).arg(oarlock_binary()?))?;
    Ok(program)
}

/// Packs into this folder.
pub(super) fn pack(program: &Path, out: &Path) -> Result<()> {
    let plugins = built_plugin("network")?;
    let mut command = Command::new("python3");
    command.arg(repository_root().join("scripts/image.py")).args(["--level", "1", "--binary"]).arg(program);
    command.arg("--plugins").arg(plugins.parent().context("no folder")?).arg("--out").arg(out);
    run(command.env_remove("SOURCE_DATE_EPOCH")).map(drop)
}

/// Every file below a folder, with the digest of its content.
fn digests(folder: &Path) -> Result<BTreeMap<String, String>> {
    let listed = run(Command::new("sh").current_dir(folder).args(["-c", "find . -type f -exec sha256sum {} +"]))?;
    let line = |line: &str| line.split_once("  ").map(|(digest, path)| (path.to_owned(), format!("sha256:{digest}")));
    listed.lines().map(|one| line(one).with_context(|| one.to_owned())).collect()
}

/// The digest of what a command of the shell prints, about a file.
fn digest(command: &str, file: &Path) -> Result<String> {
    let told = run(Command::new("sh").args(["-c", &format!("{command} | sha256sum"), "sh"]).arg(file))?;
    Ok(format!("sha256:{}", told.split_whitespace().next().unwrap_or_default()))
}

/// A layout and what it says.
struct Layout(PathBuf);

impl Layout {
    /// What a descriptor leads to, which must be as it says.
    fn blob(&self, descriptor: &Value, media_type: &str) -> Result<(PathBuf, Vec<u8>)> {
        let field = |name: &str| descriptor.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        ensure!(field("mediaType") == media_type, "{descriptor} is no {media_type}");
        let path = self.0.join("blobs").join(field("digest").replace(':', "/"));
        let content = fs::read(&path).with_context(|| path.display().to_string())?;
        ensure!(digest("cat \"$1\"", &path)? == field("digest"), "{descriptor}: another digest");
        ensure!(
            descriptor.get("size").and_then(Value::as_u64) == Some(content.len() as u64),
            "{descriptor}: another size"
        );
        Ok((path, content))
    }

    /// Config and layers of the one image that is in it.
    fn image(&self) -> Result<(Value, Vec<PathBuf>)> {
        let read = |name: &str| -> Result<Value> { Ok(serde_json::from_slice(&fs::read(self.0.join(name))?)?) };
        ensure!(read("oci-layout")? == serde_json::json!({"imageLayoutVersion": "1.0.0"}));
        let index = read("index.json")?;
        let manifests = index.get("manifests").and_then(Value::as_array).context("no manifests")?;
        let [one] = manifests.as_slice() else { anyhow::bail!("{index}") };
        let tag = one.pointer("/annotations/org.opencontainers.image.ref.name").and_then(Value::as_str);
        ensure!(tag == Some(env!("CARGO_PKG_VERSION")), "{one}");
        // What the short name in the base means to containerd.
        let name = one.pointer("/annotations/io.containerd.image.name").and_then(Value::as_str).unwrap_or_default();
        let folder = self.0.file_name().unwrap_or_default().to_string_lossy();
        ensure!(name == format!("docker.io/library/{folder}:{}", env!("CARGO_PKG_VERSION")), "{one}");
        let manifest: Value = serde_json::from_slice(&self.blob(one, MANIFEST)?.1)?;
        ensure!(
            manifest.get("mediaType") == Some(&MANIFEST.into()) && manifest.get("schemaVersion") == Some(&2.into())
        );
        let config = manifest.get("config").context("no config")?;
        let config: Value = serde_json::from_slice(&self.blob(config, "application/vnd.oci.image.config.v1+json")?.1)?;
        let mut layers = Vec::new();
        let inner = config.pointer("/rootfs/diff_ids").and_then(Value::as_array).cloned().unwrap_or_default();
        let stored = manifest.get("layers").and_then(Value::as_array).context("no layers")?;
        ensure!(inner.len() == stored.len(), "{} diff_ids, {} layers", inner.len(), stored.len());
        for (layer, inner) in stored.iter().zip(inner) {
            let path = self.blob(layer, LAYER)?.0;
            let found = digest("gzip -dc \"$1\"", &path)?;
            ensure!(inner.as_str() == Some(&found), "{layer}: not what {inner} is");
            layers.push(path);
        }
        let blobs = digests(&self.0.join("blobs"))?.len();
        ensure!(blobs == layers.len() + 2, "{blobs} blobs: some are nobody's");
        Ok((config, layers))
    }
}

/// The entries of a layer as `tar -tv` shows them: the same owner and time for all, writable by nobody else.
fn entries(layer: &Path) -> Result<Vec<String>> {
    let mut tar = Command::new("tar");
    tar.args(["--numeric-owner", "--full-time", "--utc", "-tvzf"]).arg(layer);
    let listed: Vec<String> = run(&mut tar)?.lines().map(str::to_owned).collect();
    for line in &listed {
        let mode = line.get(..10).unwrap_or_default();
        let others = mode.starts_with('l')
            || (!mode.contains('s') && mode.get(5..6) == Some("-") && mode.get(8..9) == Some("-"));
        ensure!(others && line.contains(" 0/0 ") && line.contains(" 1970-01-01 00:00:00 "), "{line}");
    }
    Ok(listed)
}

/// Starts a program of an unpacked image as a container would, its root for the root; where that is not allowed, by its own loader.
fn version_said_in(root: &Path) -> Result<String> {
    let program = "usr/local/bin/oarlock";
    let inside = run(Command::new("unshare")
        .args(["--map-root-user", "--root"])
        .arg(root)
        .args([&format!("/{program}"), "--version"]));
    let Err(refused) = inside else { return inside };
    let libraries: Vec<PathBuf> =
        ["lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"].map(|folder| root.join(folder)).into();
    let found = libraries.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().filter_map(Result::ok);
    let loader = found
        .map(|file| file.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-linux")));
    let Some(loader) = loader else {
        return run(Command::new(root.join(program)).arg("--version")).with_context(|| format!("{refused:#}"));
    };
    let path = libraries.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(":");
    run(Command::new(loader).arg("--library-path").arg(path).arg(root.join(program)).arg("--version"))
}

/// The commit that the scripts of releases and images give to the program; empty: none.
fn commit_for_the_program(variables: &[(&str, &str)]) -> Result<String> {
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", "source scripts/commit.sh; sh -c 'echo \"${OARLOCK_COMMIT-}\"'"]);
    shell.current_dir(repository_root()).env_remove("OARLOCK_COMMIT").envs(variables.iter().copied());
    Ok(run(&mut shell)?.trim().to_owned())
}

#[test]
fn releases_and_images_are_built_with_their_commit() -> Result<()> {
    let image = fs::read_to_string(repository_root().join("scripts/image.sh"))?;
    ensure!(image.contains("\nsource scripts/commit.sh\n"), "scripts/image.sh sets no commit");
    ensure!(commit_for_the_program(&[("OARLOCK_COMMIT", "abc")])? == "abc", "a given commit was replaced");
    ensure!(commit_for_the_program(&[("GIT_DIR", "/nowhere")])?.is_empty(), "a commit without a repository");
    if repository_root().join(".git").exists() {
        let head = run(Command::new("git").current_dir(repository_root()).args(["rev-parse", "HEAD"]))?;
        let found = commit_for_the_program(&[])?;
        ensure!(found.trim_end_matches("-dirty") == head.trim(), "{found} is not {head}");
    }
    Ok(())
}

#[test]
fn an_image_is_what_it_says_the_same_every_time_and_starts() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = stripped(folder.path())?;
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let packed = std::thread::scope(|scope| {
        let other = scope.spawn(|| pack(&program, &second));
        let one = pack(&program, &first);
        (one, other.join())
    });
    packed.0?;
    packed.1.map_err(|_panic| anyhow::anyhow!("packing panicked"))??;
    ensure!(digests(&first)? == digests(&second)?, "two packings of the same files differ");

    let (config, layers) = Layout(first.join("oarlock")).image()?;
    let says = |pointer: &str| config.pointer(pointer).cloned().unwrap_or_default();
    ensure!(says("/config/User") == "65532:65532", "{config}");
    ensure!(says("/config/Entrypoint") == serde_json::json!(["/usr/local/bin/oarlock"]), "{config}");
    ensure!(says("/os") == "linux" && says("/created") == "1970-01-01T00:00:00Z", "{config}");
    let root = folder.path().join("root");
    fs::create_dir(&root)?;
    for layer in &layers {
        entries(layer)?;
        run(Command::new("tar").arg("-xzf").arg(layer).arg("-C").arg(&root))?;
    }
    let said = version_said_in(&root)?;
    ensure!(said.starts_with(&format!("oarlock {}", env!("CARGO_PKG_VERSION"))), "{said}");
    for name in SHIPPED {
        ensure!(fs::read(root.join(format!("plugins/{name}.wasm")))? == fs::read(built_plugin(name)?)?, "{name}");
        let grant = fs::read_link(root.join(format!("plugins/{name}.yaml")))?;
        ensure!(grant == Path::new(&format!("/etc/oarlock/grants/{name}.yaml")), "{name}: {}", grant.display());
    }
    let roots = fs::read_to_string(root.join("etc/ssl/certs/ca-certificates.crt"))?;
    ensure!(roots.matches("-----BEGIN CERTIFICATE-----").count() > 50, "too few certificate authorities");
    says_what_is_in_it(&root.join("usr/share/doc/oarlock"))?;

    // The plugins alone, for an image volume.
    let (_, layers) = Layout(first.join("oarlock-plugins")).image()?;
    let [layer] = layers.as_slice() else { anyhow::bail!("{layers:?}") };
    ensure!(entries(layer)?.len() == 2 * SHIPPED.len(), "{:?}", entries(layer)?);
    Ok(())
}

/// The bill of materials names every crate that is linked, with the checksum of Cargo.lock and a licence; the licences name them all.
fn says_what_is_in_it(documents: &Path) -> Result<()> {
    let bom: Value = serde_json::from_str(&fs::read_to_string(documents.join("sbom.cdx.json"))?)?;
    ensure!(bom.get("bomFormat") == Some(&"CycloneDX".into()), "no CycloneDX");
    let licences = fs::read_to_string(documents.join("LICENSES-OF-CRATES.txt"))?;
    let lock = fs::read_to_string(repository_root().join("Cargo.lock"))?;
    let components = bom.get("components").and_then(Value::as_array).context("no components")?;
    let mut names = Vec::new();
    for one in components {
        let field = |pointer: &str| one.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (name, version) = (field("/name"), field("/version"));
        let licence = field("/licenses/0/expression");
        ensure!(!licence.is_empty() && licence != "NOASSERTION", "{name} has no licence");
        ensure!(licences.contains(&format!("{name} {version} ({licence})")), "no licence of {name} {version}");
        let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        let locked = lock
            .split("[[package]]\n")
            .find(|entry_of| entry_of.starts_with(&entry))
            .with_context(|| name.to_owned())?;
        let checksum = field("/hashes/0/content");
        ensure!(
            locked.contains("checksum = ") != checksum.is_empty() && locked.contains(checksum),
            "{name}: {checksum}"
        );
        names.push(name);
    }
    for linked in
        ["oarlock", "wasmtime", "kube-client", "rustls", "ring", "tikv-jemalloc-sys", "oarlock-guest", "network-plugin"]
    {
        ensure!(names.contains(&linked), "{linked} is not in the bill of materials");
    }
    // Tests are in no image.
    for other in ["shuttle", "proptest", "oarlock-tests", "windows-sys"] {
        ensure!(!names.contains(&other), "{other} is in the bill of materials");
    }
    Ok(())
}
