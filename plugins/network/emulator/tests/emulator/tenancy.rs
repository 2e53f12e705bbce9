//! Permissions of members; the expectations come from a real Neutron with Keystone.

use anyhow::{Context, Result};
use neutron_emulator::{Account, Auth, Emulator, Options, Running};
use serde_json::{Value, json};

use crate::client::{Client, Reply};

/// A caller with a token.
struct User {
    neutron: Client,
    token: String,
}

impl User {
    /// * `project` - scope of the token; `None`: unscoped.
    async fn login(emulator: &Running, name: &str, project: Option<&str>) -> Result<Self> {
        let keystone = Client::new(&emulator.keystone_url().context("no Keystone")?);
        let domain = json!({"id": "default"});
        let user = json!({"name": name, "domain": domain, "password": "secret"});
        let identity = json!({"methods": ["password"], "password": {"user": user}});
        let auth = match project {
            None => json!({"identity": identity}),
            Some(project) => json!({"identity": identity, "scope": {"project": {"name": project, "domain": domain}}}),
        };
        let reply = keystone.post("/auth/tokens", json!({"auth": auth})).await?;
        let token = reply.headers.get("x-subject-token").context("no token")?.to_str()?.to_owned();
        Ok(Self { neutron: Client::new(emulator.url()), token })
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> Result<Reply> {
        let headers = [("X-Auth-Token".to_owned(), self.token.clone())];
        self.neutron.send(method, &format!("/v2.0/{path}"), &headers, &body.to_string()).await
    }

    /// Creates a resource and returns its id.
    async fn make(&self, kind: &str, body: Value) -> Result<String> {
        let reply = self.send("POST", &format!("{kind}s"), json!({kind: body})).await?;
        let id = reply.body.pointer(&format!("/{kind}/id")).and_then(Value::as_str);
        Ok(id.with_context(|| format!("{kind}: {}", reply.body))?.to_owned())
    }
}

#[tokio::test]
async fn members_see_their_own_and_what_is_shared() -> Result<()> {
    let auth = Auth::new([Account::new("demo", "secret", "demo"), Account::new("admin", "secret", "admin").admin()]);
    let emulator = Emulator::start(Options { auth: Some(auth), ..Options::default() }).await?;
    let demo = User::login(&emulator, "demo", Some("demo")).await?;
    let admin = User::login(&emulator, "admin", Some("admin")).await?;
    let own = demo.make("network", json!({})).await?;
    let shared = admin.make("network", json!({"shared": true})).await?;
    let subnet = json!({"network_id": shared, "ip_version": 4, "cidr": "10.5.0.0/24"});
    let shared_subnet = admin.make("subnet", subnet).await?;
    let private = admin.make("network", json!({})).await?;
    let port = |network: &str, more: Value| {
        let mut port = json!({"network_id": network});
        if let (Some(port), Value::Object(more)) = (port.as_object_mut(), more) {
            port.extend(more);
        }
        json!({"port": port})
    };
    let address = json!({"fixed_ips": [{"ip_address": "10.5.0.9"}]});
    let check = async |method: &str, path: String, body: Value, status: u16, kind: &str| -> Result<()> {
        let reply = demo.send(method, &path, body).await?;
        let found = reply.body.pointer("/NeutronError/type").and_then(Value::as_str).unwrap_or_default();
        assert_eq!((reply.status, found), (status, kind), "{method} {path}: {}", reply.body);
        Ok(())
    };
    let nothing = Value::Null;
    let rename = json!({"network": {"name": "x"}});
    let denied = "PolicyNotAuthorized";
    check("GET", format!("networks/{shared}"), nothing.clone(), 200, "").await?;
    check("GET", format!("subnets/{shared_subnet}"), nothing.clone(), 200, "").await?;
    check("PUT", format!("networks/{shared}"), rename.clone(), 403, denied).await?;
    check("DELETE", format!("networks/{shared}"), nothing.clone(), 403, denied).await?;
    check("PUT", format!("networks/{shared}/tags"), json!({"tags": ["a"]}), 403, denied).await?;
    check("GET", format!("networks/{shared}/tags"), nothing.clone(), 200, "").await?;
    check("PUT", format!("networks/{private}"), rename, 404, "NetworkNotFound").await?;
    check("PUT", format!("networks/{private}/tags"), json!({"tags": ["a"]}), 403, denied).await?;
    check("POST", "ports".to_owned(), port(&own, json!({})), 201, "").await?;
    check("POST", "ports".to_owned(), port(&own, json!({"binding:host_id": "h"})), 403, denied).await?;
    check("POST", "ports".to_owned(), port(&own, json!({"binding:vnic_type": "direct"})), 201, "").await?;
    check("POST", "ports".to_owned(), port(&shared, json!({})), 201, "").await?;
    check("POST", "ports".to_owned(), port(&shared, address), 403, denied).await?;
    check("POST", "ports".to_owned(), port(&private, json!({})), 404, "NetworkNotFound").await?;
    check("POST", "routers".to_owned(), json!({"router": {"ha": true}}), 403, denied).await?;
    check("GET", "quotas/somebody".to_owned(), nothing.clone(), 403, denied).await?;
    check("DELETE", "quotas/somebody".to_owned(), nothing, 403, denied).await?;
    emulator.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn a_token_without_scope_shows_nothing_and_makes_nothing() -> Result<()> {
    let auth = Auth::new([Account::new("admin", "secret", "admin").admin()]);
    let emulator = Emulator::start(Options { auth: Some(auth), ..Options::default() }).await?;
    User::login(&emulator, "admin", Some("admin")).await?.make("network", json!({})).await?;
    let unscoped = User::login(&emulator, "admin", None).await?;
    assert_eq!(unscoped.send("GET", "networks", Value::Null).await?.body, json!({"networks": []}));
    assert_eq!(unscoped.send("POST", "networks", json!({"network": {}})).await?.status, 400);
    assert_eq!(emulator.networks().len(), 1);
    emulator.shutdown().await;
    Ok(())
}
