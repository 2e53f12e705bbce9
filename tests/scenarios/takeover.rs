//! A second host takes over from the first, which does nothing more when its leadership is over.

use super::{Scenarios, Told, child, misfit};
use anyhow::{Result, ensure};

/// The service that the misfit asks takes 100 s for its first answer, and a reconcile may wait for it.
const SLOW: &str = "config: {url: \"http://h\"}\nlimits: {deadlineSeconds: 200}\nhttp: [{request: {}, response: {status: 204}}]\nsteps:\n- fault: {http: {}, times: 1, fault: {delay: {milliseconds: 100000, afterEffect: true}}}\n";

const TAKEOVER: &str = "- takeover: {}\n";

const HEAL: &str = "- heal: {}\n";

fn change(value: &str) -> String {
    format!(
        "- patch: {{resource: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, data: {{value: {value}}}}}}}\n"
    )
}

/// How often the Lease went to another host.
fn transitions(number: u32) -> String {
    format!(
        "- assert: {{timeout: 1s, resource: {{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {{name: oarlock-misfit}}, spec: {{leaseTransitions: {number}}}}}}}\n"
    )
}

async fn passes(text: &str) -> Result<Told> {
    let told = Scenarios::new(&[("x.yaml", text)])?.run("misfit", &[]).await?;
    ensure!(told.code == Some(0), "{text}{}{}", told.stdout, told.stderr);
    Ok(told)
}

/// The first host has read what it needs to write the child, and its answer comes when the second one leads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_after_the_takeover_causes_no_write() -> Result<()> {
    // After a minute the step ends, and the first host still waits.
    let first = format!("{SLOW}{}- requests: [{{method: GET}}]\n", misfit("fetch", "one"));
    let second = format!("{TAKEOVER}{}{HEAL}{}{}", child("one"), change("two"), child("two"));
    passes(&format!("{first}{second}- quiet: {{for: 10m}}\n{}", child("two"))).await.map(drop)
}

/// The first host neither reads nor writes while it is apart; the second sees all changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_take_over_from_each_other() -> Result<()> {
    let begin = format!("steps:\n{}{}{TAKEOVER}{}", misfit("ok", "one"), child("one"), transitions(1));
    let apart = format!("{}{}- quiet: {{for: 10m}}\n", change("two"), child("two"));
    // The first one has seen the change when it leads again.
    let back = format!("{HEAL}- advance: 1m\n{TAKEOVER}{}{}- quiet: {{for: 1m}}\n", transitions(2), child("two"));
    // A third one, because the other two are cut off or gone.
    let third = format!("{TAKEOVER}{}{}{}", transitions(3), change("three"), child("three"));
    let crash = format!("- restart: {{crash: true}}\n{}{}{}", transitions(4), change("four"), child("four"));
    passes(&format!("{begin}{apart}{back}{third}{crash}")).await.map(drop)
}

/// The first host has done a part of its work: the API server then fails, or the host crashes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_host_ends_what_the_first_began() -> Result<()> {
    for fault in ["{answer: {code: 503}}", "{crash: {}}"] {
        let rule =
            format!("- fault: {{requests: {{verbs: [apply], resource: configmaps}}, times: 1, fault: {fault}}}\n");
        let lost = format!("steps:\n{rule}{}{TAKEOVER}{}", misfit("ok", "one"), transitions(1));
        let crashed = format!("{lost}{}{}", change("two"), child("two"));
        passes(&format!("{crashed}{HEAL}- advance: 1m\n- quiet: {{for: 10m}}\n{}", child("two"))).await?;
    }
    Ok(())
}
