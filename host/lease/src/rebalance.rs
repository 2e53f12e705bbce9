//! Distribution of controllers over hosts: a host without a Lease requests one from the host that holds most.

use std::collections::{BTreeMap, BTreeSet};

/// A controller's Lease that has a holder.
#[derive(Clone, Debug)]
pub(super) struct HeldLease<'a> {
    pub(super) lease: &'a str,
    pub(super) holder: &'a str,
    pub(super) wanted_by: Option<&'a str>,
    /// Whether this host runs the controller too.
    pub(super) eligible: bool,
}

/// One step of the distribution.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Transfer<'a> {
    /// Request this Lease.
    Request(&'a str),
    /// Release this Lease to the host that requested it.
    Release(&'a str),
}

/// The next step of the host `me`, if any.
///
/// A host without a Lease requests one of the host that holds most, if that host holds more than its share. A host releases a requested
/// Lease if it holds more than its share and the requesting host still holds none. So each host ends with at least one Lease, as far as
/// there are enough; the distribution does not balance further.
pub(super) fn next<'a>(me: &str, all: &[HeldLease<'a>]) -> Option<Transfer<'a>> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for holding in all {
        *counts.entry(holding.holder).or_default() += 1;
    }
    let without: BTreeSet<&str> =
        all.iter().filter_map(|holding| holding.wanted_by).filter(|who| !counts.contains_key(who)).collect();
    let mine = counts.get(me).copied().unwrap_or(0);
    let hosts = counts.len() + without.len() + usize::from(mine == 0 && !without.contains(me));
    let share = all.len().div_ceil(hosts.max(1));
    if mine == 0 {
        if without.contains(me) {
            return None;
        }
        let (most, _) = counts.iter().filter(|(_, count)| **count > share).max_by_key(|(_, count)| **count)?;
        let theirs = all.iter().filter(|of| of.holder == *most && of.eligible && of.wanted_by.is_none());
        return theirs.map(|of| Transfer::Request(of.lease)).next();
    }
    if mine <= share {
        return None;
    }
    let asked = all.iter().find(|of| of.holder == me && of.wanted_by.is_some_and(|who| without.contains(who)));
    asked.map(|of| Transfer::Release(of.lease))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding<'a>(lease: &'a str, holder: &'a str, wanted_by: Option<&'a str>) -> HeldLease<'a> {
        HeldLease { lease, holder, wanted_by, eligible: true }
    }

    #[test]
    fn who_holds_none_asks_the_one_that_holds_most() {
        let all =
            [holding("p1", "a", None), holding("p2", "b", None), holding("p3", "b", None), holding("p4", "b", None)];
        assert_eq!(next("c", &all), Some(Transfer::Request("p2")));
        assert_eq!(next("a", &all), None);
        assert_eq!(next("b", &all), None, "nobody asks");
    }

    #[test]
    fn what_is_asked_for_is_given_while_the_asker_holds_none() {
        let mut all = vec![holding("p1", "b", None), holding("p2", "b", Some("c")), holding("p3", "b", None)];
        assert_eq!(next("c", &all), None, "it has asked");
        assert_eq!(next("b", &all), Some(Transfer::Release("p2")));
        all.push(holding("p4", "c", None));
        assert_eq!(next("b", &all), None, "it has one by now");
    }

    #[test]
    fn nobody_gives_more_than_what_is_beyond_its_share() {
        let all = [holding("p1", "a", Some("c")), holding("p2", "b", None)];
        assert_eq!(next("a", &all), None);
        assert_eq!(next("c", &all), None);
        assert_eq!(next("d", &[holding("p1", "a", None)]), None, "one controller has one holder");
        let odd = HeldLease { eligible: false, ..holding("p1", "a", None) };
        assert_eq!(next("c", &[odd.clone(), HeldLease { lease: "p2", ..odd }]), None, "controllers it does not run");
    }

    /// For any number of hosts and controllers and any initial holders, the distribution ends, and no host is without a Lease.
    #[test]
    fn it_ends_with_one_for_everybody() {
        for controllers in 0..7usize {
            for hosts in 1..5usize {
                let names: Vec<String> = (0..hosts).map(|i| format!("host-{i}")).collect();
                let leases: Vec<String> = (0..controllers).map(|i| format!("p{i}")).collect();
                let mut holders: Vec<(usize, Option<usize>)> = vec![(0, None); controllers];
                let mut moves = 0;
                loop {
                    let mut moved = false;
                    for me in 0..hosts {
                        let all: Vec<HeldLease<'_>> = holders
                            .iter()
                            .zip(&leases)
                            .map(|((holder, wanted), lease)| HeldLease {
                                lease,
                                holder: &names[*holder],
                                wanted_by: wanted.map(|who| names[who].as_str()),
                                eligible: true,
                            })
                            .collect();
                        let at = |lease: &str| leases.iter().position(|one| one == lease).unwrap();
                        match next(&names[me], &all) {
                            Some(Transfer::Request(lease)) => {
                                let at = at(lease);
                                holders[at].1 = Some(me);
                                moved = true;
                            }
                            Some(Transfer::Release(lease)) => {
                                let at = at(lease);
                                holders[at] = (holders[at].1.unwrap(), None);
                                moved = true;
                            }
                            None => {}
                        }
                        moves += usize::from(moved);
                        assert!(moves < 1000, "{controllers} controllers, {hosts} hosts: {holders:?}");
                    }
                    if !moved {
                        break;
                    }
                }
                let busy: BTreeSet<usize> = holders.iter().map(|(holder, _)| *holder).collect();
                assert_eq!(busy.len(), hosts.min(controllers), "{controllers} controllers, {hosts} hosts: {holders:?}");
            }
        }
    }
}
