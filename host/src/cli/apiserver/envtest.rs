//! `oarlock apiserver envtest`: a folder of programs that test frameworks start in place of a control plane.

use anyhow::{Context as _, bail};
use clap::Args;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The options of `oarlock apiserver envtest`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  oarlock apiserver envtest bin/oarlock\n  KUBEBUILDER_ASSETS=$PWD/bin/oarlock go test ./..."
)]
pub(super) struct EnvtestArgs {
    /// The folder. Programs of these names in it are replaced
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// The kubectl of the path that is not this file itself.
const KUBECTL: &str = "#!/bin/sh
# Written by oarlock apiserver envtest: the kubectl of PATH.
IFS=:
for folder in $PATH; do
  if [ -x \"$folder/kubectl\" ] && ! [ \"$folder/kubectl\" -ef \"$0\" ]; then
    exec \"$folder/kubectl\" \"$@\"
  fi
done
echo \"$0: PATH has no kubectl: https://kubernetes.io/docs/tasks/tools\" >&2
exit 127
";

/// Writes the folder, and prints the variable that names it.
pub(super) fn run(args: &EnvtestArgs) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let Some(program) = program.to_str() else { bail!("the path of this program is not UTF-8: {}", program.display()) };
    let dir = &args.dir;
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create the folder {}", dir.display()))?;
    for name in ["etcd", "kube-apiserver"] {
        write(&dir.join(name), &script(program, name))?;
    }
    write(&dir.join("kubectl"), KUBECTL)?;
    let dir = std::path::absolute(dir)?;
    crate::cli::say(&format!("export KUBEBUILDER_ASSETS={}", quoted(&dir.display().to_string())))
}

fn script(program: &str, name: &str) -> String {
    format!(
        "#!/bin/sh\n# Written by oarlock apiserver envtest.\nexec {} apiserver stand-in {name} -- \"$@\"\n",
        quoted(program)
    )
}

/// A word of a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.,+:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Replaces a program as a whole: another process may be starting it.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let new = path.with_extension(format!("new-{}", std::process::id()));
    let written = std::fs::write(&new, text)
        .and_then(|()| std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755)))
        .and_then(|()| std::fs::rename(&new, path));
    written.with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        for path in ["/usr/bin/oarlock", "/home/o'neil/my tools/oarlock", "/a$b`c\"d\\e/oarlock"] {
            let said =
                std::process::Command::new("/bin/sh").arg("-c").arg(format!("printf %s {}", quoted(path))).output();
            assert_eq!(String::from_utf8(said.unwrap().stdout).unwrap(), path);
        }
    }
}
