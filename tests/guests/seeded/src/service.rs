//! A record of a Site in a service, if the configuration names one.

use crate::{Site, mode};
use oarlock_guest::http::{self, Request};
use oarlock_guest::{Context, Error, Result, cache, config};
use serde::Deserialize;
use serde_json::{Value, json};

/// The name of the record in the compared state. No ConfigMap can have it.
pub(crate) const RECORD: &str = "/record";

#[derive(Deserialize)]
struct Record {
    id: String,
    title: String,
}

/// The service, if the configuration names one.
pub(crate) struct Service<'a> {
    url: String,
    cx: &'a Context<Site>,
}

impl<'a> Service<'a> {
    pub(crate) fn of(cx: &'a Context<Site>) -> Option<Self> {
        Some(Self { url: format!("{}/sites", config::get("service")?), cx })
    }

    /// The compared state of the record. None: there is none.
    pub(crate) fn state(&self) -> Result<Option<Value>> {
        let records = self.records()?;
        let first = records.first();
        Ok(first.map(|first| json!({"title": first.title, "surplus": records.len() - 1})))
    }

    /// Creates the record, or corrects it, and removes others of this Site.
    pub(crate) fn ensure(&self, title: &str) -> Result<()> {
        let records = self.records()?;
        let body = json!({"name": self.cx.name(), "owner": self.cx.uid(), "title": title});
        match records.split_first() {
            Some((first, others)) => {
                if first.title != title {
                    Self::send(http::put(self.one(&first.id)).json(&body))?;
                }
                others.iter().try_for_each(|other| self.delete(&other.id))
            }
            None => {
                let made: Record = Self::send(http::post(&self.url).json(&body))?.json()?;
                cache::set(&self.key(), &made.id, None);
                Ok(())
            }
        }
    }

    pub(crate) fn remove(&self) -> Result<()> {
        self.records()?.iter().try_for_each(|record| self.delete(&record.id))
    }

    /// The id that the status notes.
    pub(crate) fn id(&self) -> Result<Option<String>> {
        Ok(self.records()?.first().map(|first| first.id.clone()))
    }

    /// The records of this Site, oldest first.
    fn records(&self) -> Result<Vec<Record>> {
        if mode() != "creates-twice" {
            return Self::send(http::get(&self.url).query("owner", self.cx.uid()))?.json();
        }
        let noted = self.cx.object()?.status.get("recordId").and_then(Value::as_str).map(str::to_owned);
        let Some(id) = cache::get::<String>(&self.key()).or(noted) else { return Ok(Vec::new()) };
        let answer = http::get(self.one(&id)).send().map_err(Error::from)?;
        if answer.status == 404 { Ok(Vec::new()) } else { Ok(vec![answer.error_for_status()?.json()?]) }
    }

    fn delete(&self, id: &str) -> Result<()> {
        let answer = http::delete(self.one(id)).send().map_err(Error::from)?;
        if answer.status == 404 { Ok(()) } else { answer.error_for_status().map(drop) }
    }

    fn send(request: Request) -> Result<http::Response> {
        request.send().map_err(Error::from)?.error_for_status()
    }

    fn one(&self, id: &str) -> String {
        format!("{}/{id}", self.url)
    }

    fn key(&self) -> String {
        format!("record of {}", self.cx.uid())
    }
}
