//! The schema of `spec.grant` is that of a grant file.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{oarlock, repository_root};
use serde_json::{Value, json};
use std::fs;

/// Around the part of the definition that is written from wit/grant.schema.json.
const BEGIN: &str = "                # From wit/grant.schema.json: make reference.\n";
const END: &str = "                # The end of that part.\n";

/// Fields of a grant file that the object itself says.
const SAID: [&str; 3] = ["apiVersion", "kind", "name"];

/// The schema as a structural one, in the way of `oarlock crd`. Defaults are those of the host, so that an object shows what people wrote.
async fn structural() -> Result<Value> {
    let text = fs::read_to_string(repository_root().join("wit/grant.schema.json"))?;
    let mut grant: Value = serde_json::from_str(&text)?;
    let fields = grant.as_object_mut().context("the schema is no object")?;
    let definitions = fields.remove("$defs").context("no definitions")?;
    for field in ["required", "$schema", "title", "description"] {
        fields.remove(field);
    }
    let properties = fields.get_mut("properties").and_then(Value::as_object_mut).context("no fields")?;
    SAID.iter().for_each(|field| drop(properties.remove(*field)));
    let whole = json!({"type": "object", "$defs": definitions,
        "properties": {"spec": {"type": "object", "properties": {"grant": grant}}}});
    let folder = tempfile::tempdir()?;
    let (schema, written) = (folder.path().join("schema.json"), folder.path().join("crd.yaml"));
    fs::write(&schema, whole.to_string())?;
    let (schema, output) = (schema.display().to_string(), written.display().to_string());
    let made = oarlock(&["crd", "--schema", &schema, "--kind", "oarlock.dev/v1alpha1/Plugin", "-o", &output]).await?;
    ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let crd: Value = serde_saphyr::from_str(&fs::read_to_string(&written)?)?;
    let found = crd.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/grant");
    let mut grant = found.cloned().context("no grant in the definition")?;
    plain(&mut grant);
    let fields = grant.as_object_mut().context("the grant is no object")?;
    fields.insert(
        "description".to_owned(),
        json!("The permissions and the configuration of the plugin: the fields of a grant file. Without it the plugin waits."),
    );
    fields.insert("x-kubernetes-validations".to_owned(), json!([{"rule": "!has(self.secretFiles)",
        "message": "secretFiles would let a writer of this object read files of the host: put the grant into a file of the plugin directory"}]));
    Ok(grant)
}

/// Without defaults and null values.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // A property may have such a name, its schema is an object then.
            if fields.get("default").is_some_and(|default| default.get("type").is_none()) {
                fields.remove("default");
            }
            if fields.get("nullable").is_some_and(Value::is_boolean) {
                fields.remove("nullable");
            }
            fields.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

#[tokio::test]
async fn the_grant_of_an_object_has_the_schema_of_a_grant_file() -> Result<()> {
    let path = repository_root().join("deploy/crds/plugins.yaml");
    let text = fs::read_to_string(&path)?;
    let (before, rest) = text.split_once(BEGIN).context("no begin of the generated part")?;
    let (now, after) = rest.split_once(END).context("no end of the generated part")?;
    let grant = serde_saphyr::to_string(&json!({"grant": structural().await?}))?;
    let wanted: String = grant
        .lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{:16}{line}\n", "") })
        .collect();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{wanted}{END}{after}"))?;
        return Ok(());
    }
    ensure!(
        now == wanted,
        "deploy/crds/plugins.yaml is not what wit/grant.schema.json says; make reference writes it anew"
    );
    Ok(())
}
