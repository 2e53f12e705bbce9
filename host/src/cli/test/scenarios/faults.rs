//! Faults in scenarios: rules of the API server's faults, and faults of HTTP services in the same words.

use super::steps::Steps;
use super::words::none_or;
use bytes::Bytes;
use http::{HeaderValue, header};
use oarlock::cases::HttpRequests;
use oarlock::plugin::{FaultEffect, HttpFault};
use oarlock_devserver::faults::{Events, Fault, Requests, Rule, Rules};
use serde::Deserialize;
use std::time::Duration;

/// A rule. With `http` its fault strikes requests to services, otherwise requests of the host to the API server.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FaultText {
    #[serde(default)]
    pub(super) id: String,
    requests: Option<Requests>,
    /// The requests to services.
    pub(super) http: Option<HttpRequests>,
    #[serde(default)]
    events: Events,
    #[serde(default)]
    skip: u64,
    times: Option<u64>,
    probability: Option<f64>,
    #[serde(default)]
    seed: u64,
    fault: Fault,
}

/// A fault that can strike.
pub(super) enum Strike {
    Server(Rules),
    Service(HttpFault),
}

impl FaultText {
    /// The fault.
    ///
    /// # Errors
    ///
    /// The field that makes no sense.
    pub(super) fn strike(&self) -> Result<Strike, String> {
        match &self.http {
            None => self.of_server().map(Strike::Server),
            Some(http) => self.of_service(http).map(Strike::Service),
        }
    }

    fn of_server(&self) -> Result<Rules, String> {
        if matches!(self.fault, Fault::Crash { kill: Some(_) }) {
            return Err("fault.crash.kill: a scenario ends no process; use restart: {crash: true}".to_owned());
        }
        let Self { id, requests, events, skip, times, probability, seed, fault, http: _ } = self.clone();
        let mut requests = requests.unwrap_or_default();
        // Rules are about the host: the steps meet none.
        requests.user_agent.get_or_insert_with(|| "oarlock/*".to_owned());
        Rules::new(vec![Rule { id, requests, events, skip, times, probability, seed, fault }])
            .map_err(|e| e.to_string())
    }

    fn of_service(&self, http: &HttpRequests) -> Result<HttpFault, String> {
        let other = [
            ("requests", self.requests.is_some()),
            ("events", self.events != Events::default()),
            ("probability", self.probability.is_some()),
            ("seed", self.seed != 0),
        ];
        if let Some((field, _)) = other.iter().find(|(_, given)| *given) {
            return Err(format!("{field}: a fault with http has no {field}"));
        }
        if self.times == Some(0) {
            return Err("times: 0 times is never".to_owned());
        }
        let effect = match &self.fault {
            Fault::Answer { code, message, retry_after_seconds, after_effect, .. } => {
                let mut answer = http::Response::new(Bytes::from(message.clone().unwrap_or_default()));
                let code = http::StatusCode::from_u16(*code).ok().filter(|code| code.as_u16() >= 400);
                *answer.status_mut() = code.ok_or("fault.answer.code: no status between 400 and 599")?;
                let after = retry_after_seconds.map(HeaderValue::from);
                answer.headers_mut().extend(after.map(|after| (header::RETRY_AFTER, after)));
                (FaultEffect::Answer(answer), *after_effect)
            }
            Fault::Delay { milliseconds, after_effect } => {
                (FaultEffect::Delay(Duration::from_millis(*milliseconds)), *after_effect)
            }
            Fault::Hang { after_effect } => (FaultEffect::Hang, *after_effect),
            Fault::Cut { after_effect } => (FaultEffect::Cut, *after_effect),
            Fault::Crash { kill: None } => (FaultEffect::Crash, true),
            _ => return Err("fault: a fault with http is one of answer, delay, hang, cut and crash: {}".to_owned()),
        };
        Ok(http.fault((self.id.clone(), self.skip, self.times), effect))
    }
}

impl Steps<'_, '_> {
    pub(super) async fn fault(&self, fault: &FaultText) -> Result<(), super::Fault> {
        if let Some(requests) = &fault.requests {
            self.world.cluster.check_resource(requests).await?;
        }
        match fault.strike().map_err(|why| vec![why])? {
            Strike::Server(rules) => {
                self.world.faults().add(rules).map_err(|error| vec![error.to_string()])?;
            }
            Strike::Service(fault) => {
                if !fault.id.is_empty() && self.world.stubs.faults().contains(&fault.id) {
                    return Err(vec![format!("there is a fault {} already", fault.id)]);
                }
                self.world.stubs.add_fault(fault);
            }
        }
        Ok(())
    }

    /// * `id` - None: every fault.
    pub(super) fn heal(&mut self, id: Option<&str>) -> Result<(), super::Fault> {
        self.world.keep_crashed();
        self.world.note_idle(id);
        let Some(id) = id else {
            self.world.faults().clear();
            self.world.reconnect();
            self.world.stubs.clear_faults();
            return Ok(());
        };
        // Both, if both have one of this id.
        let (server, service) = (self.world.faults().remove(id), self.world.stubs.remove_fault(id));
        if server || service {
            return Ok(());
        }
        let rules = self.world.faults().rules().into_iter().map(|rule| rule.rule.id);
        let ids: Vec<String> = rules.chain(self.world.stubs.faults()).collect();
        Err(vec![format!("there is no fault {id}; the faults are: {}", none_or(&ids.join(", ")))])
    }
}
