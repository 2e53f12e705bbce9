//! Where traces go, and which: the option `--otlp-endpoint` and the `OTEL_` variables.
//!
//! # Source
//!
//! OpenTelemetry specification, "Environment Variable Specification" and "OpenTelemetry Protocol Exporter".

use std::time::Duration;
use url::Url;

/// Where spans go below the address of a collector.
const TRACES: &str = "v1/traces";

/// Time for a request to the collector, if no variable states it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Most spans in memory, if no variable states it: the SDK's default.
const QUEUE: usize = 2048;

/// Variables with one non-negative number, beside those that this module reads.
const NUMBERS: [&str; 3] = ["OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"];

/// Variables that name a protocol; the first of them that is set counts.
const PROTOCOLS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];

/// Variables that name a compression.
const COMPRESSIONS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION"];

/// Variables of TLS that the exporter would ignore.
const TLS: [&str; 6] = [
    "OTEL_EXPORTER_OTLP_CERTIFICATE",
    "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE",
    "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
    "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE",
    "OTEL_EXPORTER_OTLP_CLIENT_KEY",
    "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
];

/// Samplers of the SDK, with an argument or without.
const SAMPLERS: [(&str, bool); 6] = [
    ("always_on", false),
    ("always_off", false),
    ("traceidratio", true),
    ("parentbased_always_on", false),
    ("parentbased_always_off", false),
    ("parentbased_traceidratio", true),
];

/// Configuration of traces. The SDK reads the sampler, the batches and the resource from their variables.
#[derive(Clone, PartialEq, Eq)]
pub struct Options {
    /// The complete URL for spans. Its query may contain a token.
    pub(super) endpoint: Url,
    /// Time for one request.
    pub(super) timeout: Duration,
    /// Most spans in memory.
    pub(super) queue: usize,
    /// The name of the service, where no variable states one.
    pub(super) service_name: Option<&'static str>,
}

/// Why traces cannot be configured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value that nobody can use.
    #[error("{name}={value:?}: {why}")]
    Value {
        /// The variable or option.
        name: &'static str,
        /// Its value; empty, if it may contain a secret.
        value: String,
        /// What would be valid.
        why: String,
    },
    /// The exporter does not accept the configuration.
    #[error("cannot send traces: {0}")]
    Exporter(#[source] opentelemetry_otlp::ExporterBuildError),
}

impl Options {
    /// Reads the configuration. None: no traces are wanted.
    ///
    /// * `endpoint` - the option `--otlp-endpoint`; it takes precedence over the variables.
    ///
    /// # Errors
    ///
    /// A value is invalid, or is not supported.
    pub fn read(endpoint: Option<&str>) -> Result<Option<Self>, Error> {
        Self::of(endpoint, |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
    }

    fn of(endpoint: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, Error> {
        if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.trim().eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        match variable("OTEL_TRACES_EXPORTER").as_deref().map(str::trim) {
            None | Some("otlp") => {}
            Some("none") => return Ok(None),
            Some(other) => return Err(invalid("OTEL_TRACES_EXPORTER", other, "otlp and none are supported")),
        }
        let complete = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
        let base = "OTEL_EXPORTER_OTLP_ENDPOINT";
        let endpoint = match (endpoint, variable(complete), variable(base)) {
            (Some(url), ..) => below(parse("--otlp-endpoint", url)?),
            (None, Some(url), _) => parse(complete, &url)?,
            (None, None, Some(url)) => below(parse(base, &url)?),
            (None, None, None) => return Ok(None),
        };
        check(&variable)?;
        let own_name = variable("OTEL_SERVICE_NAME").is_none()
            && !variable("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|list| {
                list.split(',').any(|pair| pair.split('=').next().is_some_and(|key| key.trim() == "service.name"))
            });
        let timeout = match number("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", &variable)? {
            Some(milliseconds) => Some(milliseconds),
            None => number("OTEL_EXPORTER_OTLP_TIMEOUT", &variable)?,
        };
        Ok(Some(Self {
            endpoint,
            timeout: timeout.filter(|ms| *ms > 0).map_or(TIMEOUT, Duration::from_millis),
            queue: queue(&variable)?,
            service_name: own_name.then_some("oarlock"),
        }))
    }

    /// The collector without path and query, for log lines.
    #[must_use]
    pub fn collector(&self) -> String {
        self.endpoint.origin().ascii_serialization()
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("collector", &self.collector()).finish_non_exhaustive()
    }
}

/// The most spans in memory.
fn queue(variable: &impl Fn(&str) -> Option<String>) -> Result<usize, Error> {
    const NAME: &str = "OTEL_BSP_MAX_QUEUE_SIZE";
    const MOST: u64 = 1 << 20;
    match number(NAME, variable)? {
        None => Ok(QUEUE),
        Some(spans @ 1..=MOST) => Ok(usize::try_from(spans).unwrap_or(usize::MAX)),
        Some(other) => Err(invalid(NAME, &other.to_string(), &format!("expected 1 to {MOST} spans"))),
    }
}

/// Checks what the SDK would replace silently.
fn check(variable: &impl Fn(&str) -> Option<String>) -> Result<(), Error> {
    if let Some((name, value)) = PROTOCOLS.iter().find_map(|name| variable(name).map(|value| (*name, value)))
        && value.trim() != "http/protobuf"
    {
        let why = "only http/protobuf is supported; collectors receive it at port 4318";
        return Err(invalid(name, &value, why));
    }
    for name in COMPRESSIONS {
        if let Some(value) = variable(name).filter(|value| value.trim() != "none") {
            return Err(invalid(name, &value, "spans are sent without compression"));
        }
    }
    if let Some((name, value)) = TLS.iter().find_map(|name| variable(name).map(|value| (*name, value))) {
        let why = "not supported; SSL_CERT_FILE names the certificate authorities, and no client certificate is sent";
        return Err(invalid(name, &value, why));
    }
    for name in NUMBERS {
        // Without a pause the SDK's thread would keep a core busy.
        if number(name, variable)? == Some(0) && name == "OTEL_BSP_SCHEDULE_DELAY" {
            return Err(invalid(name, "0", "expected milliseconds, at least 1"));
        }
    }
    let Some(sampler) = variable("OTEL_TRACES_SAMPLER") else { return Ok(()) };
    let Some((_, takes_ratio)) = SAMPLERS.iter().find(|(name, _)| *name == sampler) else {
        let names = SAMPLERS.map(|(name, _)| name).join(", ");
        return Err(invalid("OTEL_TRACES_SAMPLER", &sampler, &format!("supported are {names}")));
    };
    let argument = variable("OTEL_TRACES_SAMPLER_ARG").unwrap_or_default();
    let ratio = argument.parse::<f64>().is_ok_and(|ratio| (0.0..=1.0).contains(&ratio));
    if *takes_ratio && !ratio {
        let why = format!("{sampler} needs a share of the traces from 0 to 1");
        return Err(invalid("OTEL_TRACES_SAMPLER_ARG", &argument, &why));
    }
    Ok(())
}

fn number(name: &'static str, variable: &impl Fn(&str) -> Option<String>) -> Result<Option<u64>, Error> {
    let parse =
        |value: String| value.trim().parse().map_err(|_invalid| invalid(name, &value, "expected a whole number"));
    variable(name).map(parse).transpose()
}

fn parse(name: &'static str, text: &str) -> Result<Url, Error> {
    let text = text.trim();
    // The text is not repeated: it may contain a password.
    let bad = |why: &str| invalid(name, "", why);
    let url = Url::parse(text).map_err(|error| bad(&format!("not a URL: {error}; expected http://HOST:4318")))?;
    if !["http", "https"].contains(&url.scheme()) || url.host_str().is_none() {
        return Err(bad("expected a URL that begins with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("credentials in the URL are not sent: set OTEL_EXPORTER_OTLP_HEADERS"));
    }
    Ok(url)
}

/// The URL for spans of a collector.
fn below(mut url: Url) -> Url {
    let path = format!("{}/{TRACES}", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url
}

fn invalid(name: &'static str, value: &str, why: &str) -> Error {
    Error::Value { name, value: crate::shorten(value, 100).to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(option: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<Options>, String> {
        let variable =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Options::of(option, variable).map_err(|error| error.to_string())
    }

    fn endpoint(option: Option<&str>, variables: &[(&str, &str)]) -> Option<String> {
        read(option, variables).unwrap().map(|options| options.endpoint.to_string())
    }

    const BASE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4318");
    const WHOLE: (&str, &str) = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://b:4318/spans?tenant=1");

    #[test]
    fn the_option_comes_before_the_variable_for_traces_and_that_before_the_general_one() {
        assert_eq!(endpoint(None, &[]), None);
        assert_eq!(endpoint(None, &[BASE]).as_deref(), Some("http://a:4318/v1/traces"));
        assert_eq!(endpoint(None, &[BASE, WHOLE]).as_deref(), Some(WHOLE.1));
        for option in ["http://c:4318", "http://c:4318/"] {
            assert_eq!(endpoint(Some(option), &[BASE, WHOLE]).as_deref(), Some("http://c:4318/v1/traces"));
        }
        assert_eq!(endpoint(Some("https://c/otlp"), &[]).as_deref(), Some("https://c/otlp/v1/traces"));
    }

    #[test]
    fn traces_can_be_switched_off_beside_an_endpoint() {
        for off in [("OTEL_SDK_DISABLED", "TRUE"), ("OTEL_TRACES_EXPORTER", "none")] {
            assert_eq!(endpoint(Some("http://c:4318"), &[BASE, off]), None, "{off:?}");
        }
        assert!(endpoint(None, &[BASE, ("OTEL_SDK_DISABLED", "false")]).is_some());
    }

    #[test]
    fn a_value_that_is_not_supported_is_an_error_that_names_what_is() {
        for (name, value, hint) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", "without compression"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "ca.pem", "SSL_CERT_FILE"),
            ("OTEL_TRACES_EXPORTER", "zipkin", "otlp"),
            ("OTEL_TRACES_SAMPLER", "jaeger_remote", "parentbased_traceidratio"),
            ("OTEL_BSP_SCHEDULE_DELAY", "5s", "whole number"),
            ("OTEL_BSP_SCHEDULE_DELAY", "0", "at least 1"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "0", "1 to"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "whole number"),
        ] {
            let error = read(None, &[BASE, (name, value)]).unwrap_err();
            assert!(error.contains(name) && error.contains(value) && error.contains(hint), "{error}");
        }
        for argument in ["", "2", "half", "NaN"] {
            let sampler = ("OTEL_TRACES_SAMPLER", "traceidratio");
            let error = read(None, &[BASE, sampler, ("OTEL_TRACES_SAMPLER_ARG", argument)]).unwrap_err();
            assert!(error.contains("OTEL_TRACES_SAMPLER_ARG"), "{error}");
        }
    }

    #[test]
    fn a_url_with_a_password_is_refused_and_not_repeated() {
        for url in ["http://admin:hunter2@c:4318", "hunter2://c", "//hunter2", "http://hunter2@c"] {
            let error = read(Some(url), &[]).unwrap_err();
            assert!(error.contains("--otlp-endpoint") && !error.contains("hunter2"), "{error}");
        }
        let shown = format!("{:?}", read(Some("http://c:4318/?token=hunter2"), &[]).unwrap());
        assert!(shown.contains("http://c:4318") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn the_name_of_the_service_is_the_hosts_unless_a_variable_states_one() {
        let name = |variable| read(None, &[BASE, variable]).unwrap().unwrap().service_name;
        assert_eq!(name(("OTEL_RESOURCE_ATTRIBUTES", "a=b")), Some("oarlock"));
        assert_eq!(name(("OTEL_RESOURCE_ATTRIBUTES", "a=b, service.name=x")), None);
        assert_eq!(name(("OTEL_SERVICE_NAME", "x")), None);
    }

    #[test]
    fn the_time_for_a_request_is_in_milliseconds() {
        let timeout = |variables: &[(&str, &str)]| read(Some("http://c"), variables).unwrap().unwrap().timeout;
        assert_eq!(timeout(&[]), TIMEOUT);
        let general = ("OTEL_EXPORTER_OTLP_TIMEOUT", "2000");
        assert_eq!(timeout(&[general]), Duration::from_secs(2));
        assert_eq!(timeout(&[general, ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "3000")]), Duration::from_secs(3));
    }
}
