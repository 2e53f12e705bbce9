//! Reads of the cluster through the host's caches.
//!
//! Kinds and namespaces outside the grant are a terminal error, not an empty result. A read never returns a state older than the host's
//! own last write of the object.

use crate::raw::ObjectKey;
use crate::{Kind, Result, imports};
use serde::de::DeserializeOwned;

/// The objects of a list. The default is all of the kind.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Empty: all namespaces.
    pub namespace: String,
    /// A label selector in `kubectl -l` notation. Empty: all.
    pub label_selector: String,
    /// Only objects with an owner reference to this uid. Empty: all.
    pub owner_uid: String,
    /// At most this many, in order of namespace and name. 0: all.
    pub limit: u32,
}

/// One object from the cache. None: it does not exist. The kind must be a primary or a watch.
///
/// # Errors
///
/// The host's error, or a terminal error when the object is not of type `T`.
pub fn get<T: DeserializeOwned>(kind: &Kind, namespace: &str, name: &str) -> Result<Option<T>> {
    typed(kind, imports::cluster::get_object(&kind.into(), &key(namespace, name))?)
}

/// Objects from the cache in order of namespace and name. The kind must be a primary or a watch.
///
/// # Errors
///
/// As [`get`].
pub fn list<T: DeserializeOwned>(kind: &Kind, options: &ListOptions) -> Result<Vec<T>> {
    let objects = imports::cluster::list_objects(&kind.into(), &raw(options))?;
    objects.iter().map(|text| parse(kind, text)).collect()
}

/// As [`list`], only objects with `value` in an index of the manifest. The time depends on the number of these objects alone.
///
/// * `index` - the name of the index: [`Manifest::index`](crate::Manifest::index).
///
/// # Errors
///
/// As [`get`]; a terminal error when the manifest declares no such index of the kind.
pub fn list_indexed<T: DeserializeOwned>(
    kind: &Kind,
    index: &str,
    value: &str,
    options: &ListOptions,
) -> Result<Vec<T>> {
    let objects = imports::cluster::list_indexed(&kind.into(), index, value, &raw(options))?;
    objects.iter().map(|text| parse(kind, text)).collect()
}

fn raw(options: &ListOptions) -> imports::cluster::ListOptions {
    imports::cluster::ListOptions {
        namespace: options.namespace.clone(),
        label_selector: options.label_selector.clone(),
        owner_uid: options.owner_uid.clone(),
        limit: options.limit,
    }
}

/// The counterpart of [`Outcome::apply`](crate::Outcome::apply): the part of the object that this plugin owns, as it was applied while
/// nothing of it changed. None: the object does not exist, or this plugin owns nothing of it.
///
/// # Errors
///
/// As [`get`].
pub fn get_applied<T: DeserializeOwned>(kind: &Kind, namespace: &str, name: &str) -> Result<Option<T>> {
    typed(kind, imports::cluster::get_applied(&kind.into(), &key(namespace, name))?)
}

/// One object from the API server, without the cache. Costs a request.
///
/// # Errors
///
/// As [`get`].
pub fn get_live<T: DeserializeOwned>(kind: &Kind, namespace: &str, name: &str) -> Result<Option<T>> {
    typed(kind, imports::cluster::get_live(&kind.into(), &key(namespace, name))?)
}

fn key(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey { namespace: namespace.to_owned(), name: name.to_owned() }
}

fn typed<T: DeserializeOwned>(kind: &Kind, text: Option<String>) -> Result<Option<T>> {
    text.map(|text| parse(kind, &text)).transpose()
}

fn parse<T: DeserializeOwned>(kind: &Kind, text: &str) -> Result<T> {
    serde_json::from_str(text)
        .map_err(|error| crate::Error::terminal(format_args!("not a {} this plugin can read: {error}", kind.kind)))
}
