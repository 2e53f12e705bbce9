//! Controller of CustomResourceDefinitions: their status, the served resources, and their deletion.

use oarlock_schema::reconcile_status;
use serde_json::{Value, json};

use super::Controllers;
use crate::{
    model::{kinds::Resource, time},
    resources::{
        crd::{self, definitions},
        deletion::{self, DeleteOptions},
    },
    store::{Key, Store, WriteError},
};

/// Handles a write that concerns CRDs: the definition changed, or the last object of a terminating one is gone.
pub(super) fn after_write(controllers: &Controllers, resource: &Resource, key: &Key) {
    if crd::is_crd(resource) {
        settle(controllers, &key.name);
    } else if let Some(custom) = &resource.custom
        && crd::terminating(&controllers.store, &custom.crd)
    {
        settle(controllers, &custom.crd);
    }
}

/// Serves the stored definitions, and continues interrupted deletions.
pub(super) fn restore(controllers: &Controllers) {
    crd::serve(&controllers.store, &controllers.registry);
    for definition in definitions(&controllers.store).list("").objects {
        settle(controllers, &definition.key().name);
    }
}

/// Updates the status of a definition, and the served resources.
fn settle(controllers: &Controllers, name: &str) {
    let key = Key::new("", name);
    let Some(current) = definitions(&controllers.store).get(&key) else {
        gone(controllers, name);
        return;
    };
    if crd::deleting(&current.value) {
        clean_up(controllers, &key);
        return;
    }
    let now = time::now();
    edit(&controllers.store, &key, |crd, others| {
        let status = reconcile_status(crd, others, &now);
        if let Some(map) = crd.as_object_mut() {
            map.insert("status".to_owned(), status);
        }
    });
    crd::serve(&controllers.store, &controllers.registry);
}

/// Changes the present state of a definition.
fn edit(store: &Store, key: &Key, change: impl Fn(&mut Value, &[&Value])) {
    let resource_store = definitions(store);
    while let Some(old) = resource_store.get(key) {
        let all = resource_store.list("").objects;
        let others: Vec<&Value> = all.iter().filter(|o| o.key() != *key).map(|o| &o.value).collect();
        let mut new = old.value.clone();
        change(&mut new, &others);
        if new == old.value || !matches!(resource_store.update(key, old.revision, new), Err(WriteError::Modified)) {
            return;
        }
    }
}

/// Deletes the objects of a definition, then the definition.
fn clean_up(controllers: &Controllers, key: &Key) {
    let now = time::now();
    edit(&controllers.store, key, |crd, _| terminating_condition(crd, &now));
    let served = controllers.registry.served();
    let resource = served.all().iter().find(|r| r.custom.as_ref().is_some_and(|c| c.crd == key.name)).cloned();
    if let Some(resource) = resource {
        let objects = controllers.store.of(&resource);
        for object in objects.list("").objects {
            // An object with a deletion timestamp already waits for its finalizers.
            if !crd::deleting(&object.value)
                && let Err(error) =
                    deletion::remove(&controllers.store, &resource, &object.key(), &DeleteOptions::default())
            {
                tracing::debug!(status = %error.code(), "an object of a deleted definition was not deleted");
            }
        }
        if !objects.list("").objects.is_empty() {
            return;
        }
    }
    let resource_store = definitions(&controllers.store);
    while let Some(old) = resource_store.get(key) {
        let mut new = old.value.clone();
        let mut others = false;
        if let Some(list) = new.pointer_mut("/metadata/finalizers").and_then(Value::as_array_mut) {
            list.retain(|f| f != crd::FINALIZER);
            others = !list.is_empty();
        }
        let outcome = if others {
            resource_store.update(key, old.revision, new)
        } else {
            resource_store.delete(key, old.revision)
        };
        if !matches!(outcome, Err(WriteError::Modified)) {
            break;
        }
    }
    gone(controllers, &key.name);
}

fn terminating_condition(crd: &mut Value, now: &str) {
    let Some(status) = crd.get_mut("status").and_then(Value::as_object_mut) else { return };
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(list) = conditions.as_array_mut() else { return };
    if list.iter().any(|c| c.get("type").and_then(Value::as_str) == Some("Terminating")) {
        return;
    }
    list.push(json!({"type": "Terminating", "status": "True", "lastTransitionTime": now,
        "reason": "InstanceDeletionInProgress", "message": "CustomResource deletion is in progress"}));
}

/// A definition is deleted: its objects are gone, and its names are free.
fn gone(controllers: &Controllers, name: &str) {
    if definitions(&controllers.store).get(&Key::new("", name)).is_some() {
        return;
    }
    crd::serve(&controllers.store, &controllers.registry);
    controllers.store.remove_resource_store(name);
    for other in definitions(&controllers.store).list("").objects {
        let accepted = crd::has_condition(&other.value, "NamesAccepted");
        if !accepted && !crd::deleting(&other.value) {
            settle(controllers, &other.key().name);
        }
    }
}
