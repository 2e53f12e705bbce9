//! The requests to Neutron.

use crate::network::Network;
use crate::{Error, Result};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

/// A Neutron without authentication.
#[derive(Debug)]
pub(crate) struct Neutron {
    url: String,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Neutron {
    pub(crate) fn new(url: &str) -> Self {
        Self { url: url.trim_end_matches('/').to_owned(), client: Client::builder(TokioExecutor::new()).build_http() }
    }

    /// The ids of the object's network and subnet, which are made when they are not there.
    pub(crate) async fn ensure(&self, object: &Network) -> Result<(String, String)> {
        let mark = mark(object);
        let name = object.metadata.name.clone().unwrap_or_default();
        let found = self.request(Method::GET, &format!("networks?description={mark}"), None).await?;
        let network = match first(&found, "networks") {
            Some(id) => id,
            None => {
                let body = json!({"network": {"name": name, "description": mark}});
                id(&self.request(Method::POST, "networks", Some(&body)).await?, "network")?
            }
        };
        let found = self.request(Method::GET, &format!("subnets?network_id={network}"), None).await?;
        let subnet = match first(&found, "subnets") {
            Some(id) => id,
            None => {
                let body = json!({"subnet": {"network_id": network, "name": name, "description": mark, "ip_version": 4,
                    "cidr": object.spec.cidr, "gateway_ip": object.spec.gateway}});
                id(&self.request(Method::POST, "subnets", Some(&body)).await?, "subnet")?
            }
        };
        Ok((network, subnet))
    }

    /// Takes away what was made for the object.
    pub(crate) async fn remove(&self, object: &Network) -> Result<()> {
        let found = self.request(Method::GET, &format!("networks?description={}", mark(object)), None).await?;
        let Some(network) = first(&found, "networks") else { return Ok(()) };
        let found = self.request(Method::GET, &format!("subnets?network_id={network}"), None).await?;
        if let Some(subnet) = first(&found, "subnets") {
            self.request(Method::DELETE, &format!("subnets/{subnet}"), None).await?;
        }
        self.request(Method::DELETE, &format!("networks/{network}"), None).await?;
        Ok(())
    }

    async fn request(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(format!("{}/v2.0/{path}", self.url))
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|e| Error::Neutron(e.to_string()))?;
        let answer = self.client.request(request).await.map_err(|e| Error::Neutron(e.to_string()))?;
        let status = answer.status();
        let body = answer.into_body().collect().await.map_err(|e| Error::Neutron(e.to_string()))?.to_bytes();
        if !status.is_success() {
            return Err(Error::Neutron(format!("{status}: {}", String::from_utf8_lossy(&body))));
        }
        if body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&body).map_err(|e| Error::Neutron(e.to_string()))
    }
}

fn mark(object: &Network) -> String {
    format!("native:{}", object.metadata.uid.as_deref().unwrap_or_default())
}

fn first(answer: &Value, collection: &str) -> Option<String> {
    answer.get(collection)?.get(0)?.get("id")?.as_str().map(str::to_owned)
}

fn id(answer: &Value, what: &str) -> Result<String> {
    let id = answer.get(what).and_then(|it| it.get("id")).and_then(Value::as_str);
    id.map(str::to_owned).ok_or_else(|| Error::Neutron(format!("no id of the {what} in {answer}")))
}
