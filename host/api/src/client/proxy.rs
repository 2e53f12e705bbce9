//! The proxy before the API server: the kubeconfig's, else that of the environment, as for kubectl.

use super::Error;
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use kube::config::Kubeconfig;
use std::net::IpAddr;

/// The protocols of proxies.
const PROTOCOLS: [&str; 3] = ["http", "https", "socks5"];

/// The `proxy-url` of the cluster that a context uses.
///
/// * `context` - None: the current one.
pub(super) fn of_cluster(kubeconfig: &Kubeconfig, context: Option<&str>) -> Option<String> {
    let context = context.or(kubeconfig.current_context.as_deref())?;
    let context = kubeconfig.contexts.iter().find(|one| one.name == context)?.context.as_ref()?;
    let cluster = kubeconfig.clusters.iter().find(|one| one.name == context.cluster)?.cluster.as_ref()?;
    cluster.proxy_url.clone().filter(|url| !url.is_empty())
}

/// The proxy of an API server. None: it is reached without.
///
/// * `of_cluster` - the kubeconfig's.
/// * `environment` - a variable of the process, such as `HTTPS_PROXY`.
///
/// # Source
///
/// golang.org/x/net/http/httpproxy, which client-go uses: in the environment, a proxy is never for this machine nor for what `NO_PROXY` has.
pub(super) fn settle(
    server: &Uri,
    of_cluster: Option<String>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Option<Uri>, Error> {
    let either =
        |names: [&str; 2]| names.into_iter().find_map(|name| environment(name).filter(|value| !value.is_empty()));
    let proxy = match of_cluster {
        Some(proxy) => proxy,
        None if is_this_machine(server) => return Ok(None),
        None => {
            let is_https = server.scheme_str() == Some("https");
            let names = if is_https { ["HTTPS_PROXY", "https_proxy"] } else { ["HTTP_PROXY", "http_proxy"] };
            let Some(proxy) = either(names) else { return Ok(None) };
            let except = either(["NO_PROXY", "no_proxy"]).unwrap_or_default();
            let matcher = Matcher::builder().all("http://any.invalid").no(except).build();
            if matcher.intercept(server).is_none() {
                return Ok(None);
            }
            if proxy.contains("://") { proxy } else { format!("http://{proxy}") }
        }
    };
    let unusable = || Error::Proxy { url: without_user(&proxy).to_owned() };
    let url: Uri = proxy.parse().map_err(|_invalid| unusable())?;
    let is_known = url.scheme_str().is_some_and(|scheme| PROTOCOLS.contains(&scheme)) && url.host().is_some();
    if is_known { Ok(Some(url)) } else { Err(unusable()) }
}

fn is_this_machine(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A URL without user and password.
fn without_user(url: &str) -> &str {
    url.rsplit_once('@').map_or(url, |(_user, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The proxy of a server, or the error.
    fn settled(server: &str, of_cluster: Option<&str>, environment: &[(&str, &str)]) -> String {
        let found =
            |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        match settle(&server.parse().unwrap(), of_cluster.map(str::to_owned), found) {
            Ok(proxy) => proxy.map(|proxy| proxy.to_string()).unwrap_or_default(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_proxy_of_the_environment_is_for_other_machines_that_no_proxy_does_not_name() {
        let proxy = ("HTTPS_PROXY", "http://user:secret@proxy:3128");
        for (server, environment, expected) in [
            ("https://10.0.0.1:6443", vec![proxy], "http://user:secret@proxy:3128/"),
            ("https://api.example.com", vec![("https_proxy", "proxy:3128")], "http://proxy:3128/"),
            ("https://api.example.com", vec![("HTTPS_PROXY", ""), ("https_proxy", "socks5://p:1")], "socks5://p:1/"),
            ("https://127.0.0.1:6443", vec![proxy], ""),
            ("https://[::1]:6443", vec![proxy], ""),
            ("https://localhost:6443", vec![proxy], ""),
            ("http://10.0.0.1", vec![proxy], ""),
            ("http://10.0.0.1", vec![("HTTP_PROXY", "http://p:1")], "http://p:1/"),
            ("https://10.0.0.1:6443", vec![], ""),
            ("https://10.0.0.1:6443", vec![proxy, ("NO_PROXY", "example.com, 10.0.0.0/8,")], ""),
            ("https://api.example.com", vec![proxy, ("no_proxy", ".example.com")], ""),
            ("https://api.example.com", vec![proxy, ("NO_PROXY", "*")], ""),
            ("https://example.org", vec![proxy, ("NO_PROXY", "example.com,proxy")], "http://user:secret@proxy:3128/"),
        ] {
            assert_eq!(settled(server, None, &environment), expected, "{server} {environment:?}");
        }
    }

    #[test]
    fn the_proxy_of_the_kubeconfig_is_for_every_server_and_an_unusable_one_is_named_without_its_password() {
        let environment = [("HTTPS_PROXY", "http://other:1"), ("NO_PROXY", "*")];
        assert_eq!(
            settled("https://127.0.0.1:6443", Some("socks5://localhost:1080"), &environment),
            "socks5://localhost:1080/"
        );
        for url in
            ["ftp://user:secret@proxy:1", "user:secret@proxy", "socks4://user:secret@proxy", "http://user:secret@"]
        {
            let said = settled("https://10.0.0.1", Some(url), &[]);
            assert!(said.contains("http://, https:// or socks5://") && !said.contains("secret"), "{url}: {said}");
        }
        let kubeconfig = "clusters: [{name: a, cluster: {server: 'https://a', proxy-url: 'http://of-a:1'}}, \
            {name: b, cluster: {server: 'https://b'}}]\ncontexts: [{name: a, context: {cluster: a, user: u}}, \
            {name: b, context: {cluster: b, user: u}}]\ncurrent-context: a\n";
        let kubeconfig = Kubeconfig::from_yaml(kubeconfig).unwrap();
        let of = |context| of_cluster(&kubeconfig, context);
        assert_eq!((of(None).as_deref(), of(Some("b")), of(Some("c"))), (Some("http://of-a:1"), None, None));
    }
}
