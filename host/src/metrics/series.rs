//! A metric family whose series can be removed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::{MetricType, TypedMetric};

/// Like prometheus-client's `Family`, but series can be dropped by a part of their labels, and are encoded in sorted order.
pub(super) struct Series<L, M> {
    map: Arc<RwLock<BTreeMap<L, M>>>,
    make: fn() -> M,
}

impl<L, M> Clone for Series<L, M> {
    fn clone(&self) -> Self {
        Self { map: Arc::clone(&self.map), make: self.make }
    }
}

impl<L: fmt::Debug, M: fmt::Debug> fmt::Debug for Series<L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Series").field("map", &self.map).finish_non_exhaustive()
    }
}

impl<L: Clone + Ord, M: Clone> Series<L, M> {
    pub(super) fn new(make: fn() -> M) -> Self {
        Self { map: Arc::default(), make }
    }

    /// The metric with these labels, created if absent.
    pub(super) fn get(&self, labels: &L) -> M {
        if let Some(metric) = self.map.read().unwrap_or_else(PoisonError::into_inner).get(labels) {
            return metric.clone();
        }
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        map.entry(labels.clone()).or_insert_with(self.make).clone()
    }

    pub(super) fn retain(&self, mut keep: impl FnMut(&L) -> bool) {
        self.map.write().unwrap_or_else(PoisonError::into_inner).retain(|labels, _| keep(labels));
    }
}

impl<L, M> EncodeMetric for Series<L, M>
where
    L: EncodeLabelSet,
    M: EncodeMetric + TypedMetric,
{
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        for (labels, metric) in self.map.read().unwrap_or_else(PoisonError::into_inner).iter() {
            metric.encode(encoder.encode_family(labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }

    fn is_empty(&self) -> bool {
        self.map.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}
