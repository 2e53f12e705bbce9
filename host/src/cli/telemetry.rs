//! Traces of `oarlock run` and `oarlock dev`.

use clap::Args;
use oarlock::telemetry::{Error, Options};

/// Where traces go.
#[derive(Debug, Args)]
pub(super) struct TelemetryArgs {
    /// Send OpenTelemetry traces to this collector with OTLP over HTTP, for example http://localhost:4318
    /// [default: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_ENDPOINT; without them no traces]
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<String>,
}

impl TelemetryArgs {
    /// The configuration, from this option and the `OTEL_` variables.
    pub(super) fn options(&self) -> Result<Option<Options>, Error> {
        Options::read(self.otlp_endpoint.as_deref())
    }
}
