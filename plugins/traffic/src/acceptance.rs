//! Which configuration of a TrafficRoute Envoy gets: its spec if that is valid, otherwise the last one that was.

use crate::canary;
use crate::endpoints::{self, Endpoints};
use crate::route::{Accepted, Problem, Progress, TrafficRoute, domains, route_kind};
use oarlock_guest::{Result, cluster};

/// The verdict about a TrafficRoute.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// None: no configuration of it was ever valid.
    pub(crate) accepted: Option<Accepted>,
    pub(crate) problem: Option<Problem>,
    /// None: it has no canary.
    pub(crate) canary: Option<Progress>,
}

/// Judges a TrafficRoute.
///
/// # Errors
///
/// The error of reading the cache; a metric that cannot be read is none.
pub(crate) fn judge(route: &TrafficRoute) -> Result<Verdict> {
    let problem = match route.spec.problem() {
        None => match claimed(route)? {
            None => missing(route)?,
            problem => problem,
        },
        problem => problem,
    };
    let last = route.status.accepted.clone();
    let Some(problem) = problem else {
        let canary = route.spec.canary.as_ref().map(|canary| canary::advance(canary, route)).transpose()?;
        let rules = match (&route.spec.canary, &canary) {
            (Some(canary), Some(progress)) => canary.with_weight(&route.spec.rules, progress.weight),
            _ => route.spec.rules.clone(),
        };
        let accepted = Accepted { generation: route.metadata.generation, host: route.spec.host.clone(), rules };
        return Ok(Verdict { accepted: Some(accepted), problem: None, canary });
    };
    Ok(Verdict { accepted: last, problem: Some(problem), canary: route.status.canary.clone() })
}

/// The route that has one of this route's domains already. A route whose configuration is in use keeps its domains; of others, the oldest
/// gets them.
fn claimed(route: &TrafficRoute) -> Result<Option<Problem>> {
    let own = domains(&route.spec.host, &route.metadata.namespace);
    let holds = |of: &TrafficRoute| {
        let accepted = of.status.accepted.as_ref();
        accepted.is_some_and(|accepted| overlap(&domains(&accepted.host, &of.metadata.namespace), &own))
    };
    let routes: Vec<TrafficRoute> = cluster::list(&route_kind(), &cluster::ListOptions::default())?;
    let stronger = |other: &&TrafficRoute| {
        let asks = overlap(&domains(&other.spec.host, &other.metadata.namespace), &own);
        match (holds(other), holds(route)) {
            (true, false) => true,
            (false, true) => false,
            (held, _) => (held || asks) && other.age() < route.age(),
        }
    };
    let holder = routes.iter().filter(|other| other.metadata.uid != route.metadata.uid).find(stronger);
    Ok(holder.map(|holder| {
        Problem::new("HostClaimed", format!("host {}: TrafficRoute {} has it already", route.spec.host, holder.id()))
    }))
}

fn overlap(one: &[String], other: &[String]) -> bool {
    one.iter().any(|domain| other.contains(domain))
}

/// The first destination that does not exist.
fn missing(route: &TrafficRoute) -> Result<Option<Problem>> {
    for target in route.spec.targets() {
        if let Endpoints::Missing(problem) = endpoints::of(&route.metadata.namespace, target)? {
            return Ok(Some(problem));
        }
    }
    Ok(None)
}
