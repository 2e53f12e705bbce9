//! Replay of a case: its recorded parts become the answers of the imports.

use super::CaseError;
use super::format::{
    Before, CacheText, Case, ClockText, ExchangeText, FailureName, ListText, MergeName, ObjectName, PhaseName,
    ReadText, Tick,
};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::plugin::replay::{Answers, RecordedCache, RecordedExchange, RecordedRead, Replay};
use crate::plugin::tape::{Listed, MergeFunction, Phase, Read, ReadFailure, SendFailure, Ticks};
use crate::secrets::json::Json;
use crate::secrets::same_text;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use std::sync::Arc;

/// The replay of a case. None: the case has no recorded part beside HTTP exchanges.
pub(super) fn of_case(case: &Case) -> Result<Option<Arc<Replay>>, CaseError> {
    let recorded = case.recorded.is_some();
    let clock = case.clock.clone().or_else(|| recorded.then(ClockText::default));
    let random = case.random.as_deref().or_else(|| recorded.then_some(&[][..]));
    let reads = case.reads.as_deref().or_else(|| recorded.then_some(&[][..]));
    let cache = case.cache.as_deref().or_else(|| recorded.then_some(&[][..]));
    if reads.is_none() && cache.is_none() && clock.is_none() && random.is_none() {
        return Ok(None);
    }
    let always = |ticks: Option<Vec<Tick>>| ticks.or_else(|| recorded.then(Vec::new)).map(|list| ticks_of(&list));
    let (wall, monotonic) = clock.map_or((None, None), |clock| (always(clock.wall), always(clock.monotonic)));
    let answers = Answers {
        reads: reads.map(|reads| reads_of("reads", reads)).transpose()?,
        http: recorded.then(|| exchanges("http", &case.http)).transpose()?,
        cache: cache.map(|cache| cache_of("cache", cache)).transpose()?,
        wall,
        monotonic,
        random: random.map(|random| random_of("random", random)).transpose()?,
        unknown_start: case.recorded.as_ref().is_some_and(|header| header.earlier_reconciles_unknown),
        same: Some(same_bytes),
    };
    Ok(Some(Arc::new(Replay::new(answers))))
}

/// The replay of an earlier reconcile.
pub(super) fn of_before(place: &str, before: &Before) -> Result<Arc<Replay>, CaseError> {
    let at = |field: &str| format!("{place}.{field}");
    Ok(Arc::new(Replay::new(Answers {
        reads: Some(reads_of(&at("reads"), &before.reads)?),
        http: Some(exchanges(&at("http"), &before.http)?),
        cache: Some(cache_of(&at("cache"), &before.cache)?),
        wall: Some(ticks_of(before.clock.wall.as_deref().unwrap_or_default())),
        monotonic: Some(ticks_of(before.clock.monotonic.as_deref().unwrap_or_default())),
        random: Some(random_of(&at("random"), &before.random)?),
        unknown_start: false,
        same: Some(same_bytes),
    })))
}

fn same_bytes(recorded: &[u8], found: &[u8]) -> bool {
    match (std::str::from_utf8(recorded), std::str::from_utf8(found)) {
        (Ok(recorded), Ok(found)) => same_text(recorded, found),
        _ => recorded == found,
    }
}

fn fault(place: String, reason: impl Into<String>) -> CaseError {
    CaseError::Object { place, reason: reason.into() }
}

fn ticks_of(ticks: &[Tick]) -> Ticks {
    ticks.iter().filter(|tick| tick.times > 0).map(|tick| (tick.ms, tick.times)).collect()
}

fn random_of(place: &str, random: &[String]) -> Result<Vec<Vec<u8>>, CaseError> {
    let bytes = |(i, digits): (usize, &String)| {
        let decoded = data_encoding::HEXLOWER_PERMISSIVE.decode(digits.as_bytes());
        decoded.map_err(|e| fault(format!("{place}[{i}]"), format!("no hexadecimal digits: {e}")))
    };
    random.iter().enumerate().map(bytes).collect()
}

fn reads_of(place: &str, reads: &[ReadText]) -> Result<Vec<RecordedRead>, CaseError> {
    let read = |(i, text): (usize, &ReadText)| read_of(text).map_err(|why| fault(format!("{place}[{i}]"), why));
    reads.iter().enumerate().map(read).collect()
}

fn read_of(text: &ReadText) -> Result<RecordedRead, String> {
    const ONE: &str = "needs one of get, applied, live, list and merge";
    let ReadText { during, get, applied, live, list, merge, .. } = text;
    let one_object = |name: &ObjectName, of: fn(GroupVersionKind, ObjectKey) -> Read| {
        let kind = GroupVersionKind::from_api_version(&name.api_version, name.kind.as_str());
        let key = ObjectKey::new(name.namespace.as_str(), name.name.as_str());
        (of(kind, key), text.object.iter().map(Json::document_text).collect())
    };
    let (read, texts): (Read, Vec<String>) = match (get, applied, live, list, merge) {
        (Some(name), None, None, None, None) => one_object(name, Read::Get),
        (None, Some(name), None, None, None) => one_object(name, Read::Applied),
        (None, None, Some(name), None, None) => one_object(name, Read::Live),
        (None, None, None, Some(list), None) => {
            let objects = text.objects.as_deref();
            let objects = objects.or_else(|| text.error.is_some().then_some(&[][..])).ok_or("objects: missing")?;
            (list_of(list)?, objects.iter().map(Json::document_text).collect())
        }
        (None, None, None, None, Some(merge)) => {
            let kind = GroupVersionKind::from_api_version(&merge.api_version, merge.kind.as_str());
            let function = match merge.function {
                MergeName::CreateTwoWay => MergeFunction::CreateTwoWay,
                MergeName::CreateThreeWay => MergeFunction::CreateThreeWay,
                MergeName::ApplyPatch => MergeFunction::ApplyPatch,
            };
            (Read::Merge(kind, function, merge.documents.clone()), text.text.iter().cloned().collect())
        }
        _ => return Err(ONE.to_owned()),
    };
    let answer = match &text.error {
        None => Ok(texts),
        Some(error) => Err(match (&error.transient, &error.terminal) {
            (Some(message), None) => ReadFailure::Transient { delay_ms: error.delay_ms, message: message.clone() },
            (None, Some(message)) => ReadFailure::Terminal(message.clone()),
            _ => return Err("error: needs one of transient and terminal".to_owned()),
        }),
    };
    let during = match during {
        PhaseName::Start => Phase::Start,
        PhaseName::GetDesired => Phase::GetDesired,
        PhaseName::GetActual => Phase::GetActual,
        PhaseName::Patch => Phase::Patch,
        PhaseName::GetActualAgain => Phase::GetActualAgain,
    };
    Ok(RecordedRead { during, read, answer })
}

fn list_of(list: &ListText) -> Result<Read, String> {
    let indexed = match (&list.index, &list.value) {
        (Some(index), Some(value)) => Some((index.clone(), value.clone())),
        (None, None) => None,
        _ => return Err("list: index and value belong together".to_owned()),
    };
    let listed = Listed {
        namespace: list.namespace.clone(),
        label_selector: list.label_selector.clone(),
        owner_uid: list.owner_uid.clone(),
        limit: list.limit,
        indexed,
    };
    let kind = GroupVersionKind::from_api_version(&list.api_version, list.kind.as_str());
    Ok(Read::List(kind, Box::new(listed)))
}

fn cache_of(place: &str, uses: &[CacheText]) -> Result<Vec<RecordedCache>, CaseError> {
    let use_of = |(i, text): (usize, &CacheText)| {
        let place = format!("{place}[{i}]");
        let value = match (&text.value, &text.base64) {
            (Some(text), None) => Some(text.clone().into_bytes()),
            (None, Some(encoded)) => {
                let decoded = STANDARD.decode(encoded);
                Some(decoded.map_err(|e| fault(format!("{place}.base64"), format!("no base64: {e}")))?)
            }
            (None, None) => None,
            (Some(_), Some(_)) => return Err(fault(place, "has value and base64")),
        };
        match (&text.get, &text.set) {
            (Some(key), None) => Ok(RecordedCache::Get(key.clone(), value)),
            (None, Some(key)) => Ok(RecordedCache::Set(key.clone(), value.unwrap_or_default(), text.ttl_ms)),
            _ => Err(fault(place, "needs one of get and set")),
        }
    };
    uses.iter().enumerate().map(use_of).collect()
}

fn exchanges(place: &str, texts: &[ExchangeText]) -> Result<Vec<RecordedExchange>, CaseError> {
    let exchange = |(i, text): (usize, &ExchangeText)| {
        let answer = answer(text).map_err(|why| fault(format!("{place}[{i}]"), why))?;
        let (method, url) = (text.request.method.clone(), text.request.url.clone());
        let line = format!("{} {}", method.as_deref().unwrap_or("any"), url.as_deref().unwrap_or("any"));
        let same = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|text| same_text(text, found));
        let wanted = text.request.clone();
        Ok(RecordedExchange {
            line,
            fits: Box::new(move |sent| same(&method, &sent.method) && same(&url, &sent.url)),
            faults: Box::new(move |sent| super::request_faults(&wanted, sent)),
            answer,
        })
    };
    texts.iter().enumerate().map(exchange).collect()
}

fn answer(text: &ExchangeText) -> Result<Result<http::Response<Bytes>, SendFailure>, String> {
    let message = || text.message.clone().unwrap_or_default();
    Ok(match text.failure {
        Some(FailureName::TimedOut) => Err(SendFailure::TimedOut),
        Some(FailureName::Unreachable) => Err(SendFailure::Unreachable(message())),
        Some(FailureName::Denied) => Err(SendFailure::Denied(message())),
        Some(FailureName::Invalid) => Err(SendFailure::Invalid(message())),
        Some(FailureName::TooLarge) => Err(SendFailure::TooLarge(text.limit)),
        None => Ok(super::recorded_response(text.response.clone().unwrap_or_default())?),
    })
}
