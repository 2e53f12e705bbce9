//! kubectl `apply`, client side and server side, and `diff`.

use super::{DEPLOYMENT, Kubectl};

fn config(value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{a: {value}}}\n")
}

#[tokio::test]
async fn apply_creates_configures_and_leaves_alone() {
    let Some(k) = Kubectl::start().await else { return };
    k.file("a.json", DEPLOYMENT);
    k.file("b.json", &DEPLOYMENT.replace("\"replicas\": 2,", ""));
    k.prints(&[
        ("apply -f a.json --dry-run=client", "deployment.apps/web created (dry run)"),
        ("apply -f a.json --dry-run=server", "deployment.apps/web created (server dry run)"),
        ("get deploy -o name", ""),
        ("apply -f a.json", "deployment.apps/web created"),
        ("apply -f a.json", "deployment.apps/web unchanged"),
        ("get deploy web -o jsonpath='{.spec.replicas}'", "2"),
        ("apply -f b.json --dry-run=server", "deployment.apps/web configured (server dry run)"),
        ("apply -f b.json", "deployment.apps/web configured"),
        // A field that is no longer applied returns to its default.
        ("get deploy web -o jsonpath='{.spec.replicas}'", "1"),
        ("apply view-last-applied deploy/web -o json | grep -c replicas || true", "0"),
    ])
    .await;
}

#[tokio::test]
async fn server_side_apply_tells_conflicts_and_can_force() {
    let Some(k) = Kubectl::start().await else { return };
    k.file("one.yaml", &config("one"));
    k.file("two.yaml", &config("two"));
    k.prints(&[
        ("apply --server-side -f one.yaml --dry-run=server", "configmap/c serverside-applied (server dry run)"),
        ("apply --server-side -f one.yaml", "configmap/c serverside-applied"),
        ("apply --server-side -f one.yaml", "configmap/c serverside-applied"),
    ])
    .await;
    k.fails(&[(
        "apply --server-side --field-manager=other -f two.yaml",
        "error: Apply failed with 1 conflict: conflict with \"kubectl\": .data.a\n\
         Please review the fields above--they currently have other managers. Here\n\
         are the ways you can resolve this warning:\n\
         * If you intend to manage all of these fields, please re-run the apply\n\
         command with the `--force-conflicts` flag.\n\
         * If you do not intend to manage all of the fields, please edit your\n\
         manifest to remove references to the fields that should keep their\n\
         current managers.\n\
         * You may co-own fields by updating your manifest to match the existing\n\
         value; in this case, you'll become the manager if the other manager(s)\n\
         stop managing the field (remove it from their configuration).\n\
         See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts",
    )])
    .await;
    k.prints(&[
        ("apply --server-side --field-manager=other --force-conflicts -f two.yaml", "configmap/c serverside-applied"),
        ("get cm c -o jsonpath='{.data.a}'", "two"),
    ])
    .await;
}

#[tokio::test]
async fn diff_shows_what_apply_would_change() {
    let Some(k) = Kubectl::start().await else { return };
    k.file("one.yaml", &config("one"));
    k.file("two.yaml", &config("two"));
    k.run("apply -f one.yaml").await;
    k.prints(&[("diff -f one.yaml", "")]).await;
    // A difference is exit status 1, with the difference on standard output.
    let shown = k.run("diff -f two.yaml || true").await;
    for line in ["-  a: one", "+  a: two"] {
        assert!(shown.lines().any(|l| l == line), "{shown}");
    }
    let shown = k.run("diff --server-side --field-manager=x --force-conflicts -f two.yaml || true").await;
    assert!(shown.lines().any(|l| l == "+  a: two"), "{shown}");
    k.prints(&[("get cm c -o jsonpath='{.data.a}'", "one")]).await;
}
