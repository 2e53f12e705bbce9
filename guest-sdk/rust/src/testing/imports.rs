//! The host's functions in native tests, on this thread's world.

pub(crate) mod cluster {
    //! Reads of the world's objects.

    use crate::raw::{Error, GroupVersionKind, ObjectKey};
    use crate::testing::world::{Id, terminal, with};
    use oarlock_jsonpath::PlainPath;
    use oarlock_manifest::Index;
    use serde_json::Value;

    pub(crate) use crate::bindings::oarlock::reconciler::cluster::ListOptions;

    pub(crate) fn get_object(kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<String>, Error> {
        with(|world| {
            let id = (world.declared(kind)?, key.namespace.clone(), key.name.clone());
            Ok(world.objects.get(&id).map(Value::to_string))
        })
    }

    pub(crate) fn get_live(kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<String>, Error> {
        let id: Id = (kind.clone().into(), key.namespace.clone(), key.name.clone());
        with(|world| Ok(world.objects.get(&id).map(Value::to_string)))
    }

    pub(crate) fn get_applied(kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<String>, Error> {
        with(|world| {
            let id = (world.declared(kind)?, key.namespace.clone(), key.name.clone());
            Ok(world.applied(&id).map(|part| part.to_string()))
        })
    }

    pub(crate) fn list_objects(kind: &GroupVersionKind, options: &ListOptions) -> Result<Vec<String>, Error> {
        list(kind, options, None)
    }

    pub(crate) fn list_indexed(
        kind: &GroupVersionKind,
        index: &str,
        value: &str,
        options: &ListOptions,
    ) -> Result<Vec<String>, Error> {
        list(kind, options, Some((index, value)))
    }

    fn list(
        kind: &GroupVersionKind,
        options: &ListOptions,
        indexed: Option<(&str, &str)>,
    ) -> Result<Vec<String>, Error> {
        with(|world| {
            let kind = world.declared(kind)?;
            let of = |(index, value)| world.index(&kind, index).map(|index| (index, value));
            let indexed = indexed.map(of).transpose()?;
            let mut found = Vec::new();
            for ((of, namespace, _), object) in &world.objects {
                let wanted = *of == kind
                    && (options.namespace.is_empty() || options.namespace == *namespace)
                    && (options.owner_uid.is_empty() || owned_by(object, &options.owner_uid))
                    && indexed.is_none_or(|(index, value)| has(index, object, value))
                    && selected(object, &options.label_selector)?;
                if wanted {
                    found.push(object.to_string());
                }
            }
            found.truncate(if options.limit == 0 { usize::MAX } else { options.limit as usize });
            Ok(found)
        })
    }

    fn has(index: &Index, object: &Value, wanted: &str) -> bool {
        if !index.label.is_empty() {
            let labels = object.pointer("/metadata/labels");
            return labels.and_then(|labels| labels.get(&index.label)).is_some_and(|value| value == wanted);
        }
        let mut has = false;
        if let Ok(path) = PlainPath::parse(&index.json_path) {
            path.scalars(object, &mut |value| has |= value == wanted);
        }
        has
    }

    fn owned_by(object: &Value, uid: &str) -> bool {
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        owners.is_some_and(|owners| owners.iter().any(|owner| owner.get("uid").and_then(Value::as_str) == Some(uid)))
    }

    /// `a=b`, `a==b`, `a!=b`, `a`, `!a`, joined by commas.
    fn selected(object: &Value, selector: &str) -> Result<bool, Error> {
        if selector.contains(['(', ')']) {
            return Err(terminal(format!("the native runner does not know sets in selectors: {selector}")));
        }
        let labels = object.pointer("/metadata/labels");
        let label = |key: &str| labels.and_then(|labels| labels.get(key.trim())).and_then(Value::as_str);
        Ok(selector.split(',').map(str::trim).filter(|term| !term.is_empty()).all(|term| {
            if let Some((key, value)) = term.split_once("!=") {
                label(key) != Some(value.trim())
            } else if let Some((key, value)) = term.split_once('=') {
                label(key) == Some(value.trim_start_matches('=').trim())
            } else if let Some(key) = term.strip_prefix('!') {
                label(key).is_none()
            } else {
                label(term).is_some()
            }
        }))
    }
}

pub(crate) mod merge {
    //! Strategic merge with the host's own code, for built-in kinds.

    use crate::raw::{Error, GroupVersionKind};
    use crate::testing::world::{parse, schema, terminal};
    use oarlock_merge::steps::Budget;
    use oarlock_merge::strategic;
    use serde_json::Value;

    fn text(merged: Result<Value, strategic::Error>) -> Result<String, Error> {
        merged.map(|value| value.to_string()).map_err(|error| terminal(error.to_string()))
    }

    pub(crate) fn create_two_way(kind: &GroupVersionKind, original: &str, modified: &str) -> Result<String, Error> {
        text(strategic::create_two_way(
            &schema(&kind.clone().into())?,
            &parse(original)?,
            &parse(modified)?,
            &Budget::unlimited(),
        ))
    }

    pub(crate) fn create_three_way(
        kind: &GroupVersionKind,
        original: &str,
        modified: &str,
        current: &str,
    ) -> Result<String, Error> {
        let (original, modified, current) = (parse(original)?, parse(modified)?, parse(current)?);
        text(strategic::create_three_way(
            &schema(&kind.clone().into())?,
            &original,
            &modified,
            &current,
            &Budget::unlimited(),
        ))
    }

    pub(crate) fn apply_patch(kind: &GroupVersionKind, original: &str, patch: &str) -> Result<String, Error> {
        text(strategic::apply_patch(
            &schema(&kind.clone().into())?,
            &parse(original)?,
            &parse(patch)?,
            &Budget::unlimited(),
        ))
    }
}

pub(crate) mod http {
    //! Requests to the runner's handler.

    use crate::http as typed;
    use crate::testing::world::{World, with};

    pub(crate) use crate::bindings::oarlock::reconciler::http::{Failure, Header, Outgoing, Response};

    pub(crate) fn send(outgoing: &Outgoing) -> Result<Response, Failure> {
        let mut request = typed::Request::new(&outgoing.method, outgoing.url.as_str()).bytes(outgoing.body.as_slice());
        request.headers = outgoing.headers.iter().map(|h| (h.name.clone(), h.value.clone())).collect();
        let (handler, scripted) = with(|world| {
            refused(world, &request)?;
            world.requests.push(request.clone());
            Ok::<_, Failure>((world.handler.take(), world.scripted.pop_front()))
        })?;
        // The world is not borrowed while the handler runs.
        let (answer, handler) = match (scripted, handler) {
            (Some(answer), handler) => (answer, handler),
            (None, Some(mut handler)) => (handler(&request), Some(handler)),
            (None, None) => (Err(typed::Failure::Unreachable("the test has no HTTP handler".to_owned())), None),
        };
        with(|world| world.handler = handler);
        match answer {
            Ok(answer) => Ok(Response {
                status: answer.status,
                headers: answer
                    .headers
                    .into_iter()
                    .map(|(name, value)| Header { name: name.to_lowercase(), value })
                    .collect(),
                body: answer.body,
            }),
            Err(typed::Failure::Denied(why)) => Err(Failure::Denied(why)),
            Err(typed::Failure::Unreachable(why)) => Err(Failure::Unreachable(why)),
            Err(typed::Failure::TimedOut) => Err(Failure::TimedOut),
            Err(typed::Failure::TooLarge(limit)) => Err(Failure::TooLarge(limit)),
            Err(typed::Failure::Invalid(why)) => Err(Failure::Invalid(why)),
        }
    }

    fn refused(world: &World, request: &typed::Request) -> Result<(), Failure> {
        let Some(origin) = origin(&request.url) else {
            return Err(Failure::Invalid(format!("not an absolute http or https URL: {}", request.url)));
        };
        let Some(manifest) = &world.manifest else { return Ok(()) };
        let configured = manifest.http.origins_from_config.iter().filter_map(|key| world.config.get(key));
        if !manifest.http.origins.iter().chain(configured).any(|known| self::origin(known).as_ref() == Some(&origin)) {
            return Err(Failure::Denied(format!("the manifest does not ask for {origin}")));
        }
        let safe = manifest.http.safe_requests.iter().any(|safe| {
            let path = request.path();
            safe.method == request.method
                && safe.path.strip_prefix('*').map_or(safe.path == path, |end| path.ends_with(end))
        });
        if world.dry_run && !safe && !matches!(request.method.as_str(), "GET" | "HEAD") {
            return Err(Failure::Denied(format!("dry run: {} {}", request.method, request.path())));
        }
        Ok(())
    }

    /// Scheme, host and port in lower case; the default port of the scheme is omitted.
    fn origin(url: &str) -> Option<String> {
        let (scheme, rest) = url.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let own_port = match scheme.as_str() {
            "http" => ":80",
            "https" => ":443",
            _ => return None,
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase();
        let authority = authority.strip_suffix(own_port).unwrap_or(&authority);
        (!authority.is_empty()).then(|| format!("{scheme}://{authority}"))
    }
}

pub(crate) mod cache {
    //! Cached values with the world's clock.

    use crate::testing::world::with;

    pub(crate) fn get(key: &str) -> Option<Vec<u8>> {
        with(|world| {
            let (value, expires) = world.cache.get(key)?;
            expires.is_none_or(|at| world.now_ms < at).then(|| value.clone())
        })
    }

    pub(crate) fn set(key: &str, value: &[u8], ttl_ms: u64) {
        with(|world| {
            if value.is_empty() {
                world.cache.remove(key);
            } else {
                let expires = (ttl_ms > 0).then(|| world.now_ms.saturating_add(ttl_ms));
                world.cache.insert(key.to_owned(), (value.to_vec(), expires));
            }
        });
    }
}

pub(crate) mod config {
    //! Configuration values of the runner.

    use crate::testing::world::with;

    pub(crate) fn get(key: &str) -> Option<String> {
        with(|world| world.config.get(key).cloned())
    }

    pub(crate) fn keys() -> Vec<String> {
        with(|world| world.config.keys().cloned().collect())
    }
}

pub(crate) mod log {
    //! Log lines for the report.

    use crate::testing::world::{LogLine, with};

    pub(crate) use crate::bindings::oarlock::reconciler::log::Level;

    pub(crate) fn log(level: Level, message: &str, fields: &[(String, String)]) {
        let line = LogLine { level, message: message.to_owned(), fields: fields.to_vec() };
        with(|world| world.log.push(line));
    }
}
