//! String fields that are pointers in Go: an empty one is significant, and is kept. The protobuf table does not distinguish them.

/// Whether a text field of a message is a pointer.
pub(super) fn is_pointer(message: &str, field: &str) -> bool {
    POINTERS.iter().any(|(of, fields)| *of == message && fields.contains(&field))
}

/// By message.
///
/// # Source
///
/// `k8s.io/api`, the fields of type `*string`.
const POINTERS: &[(&str, &[&str])] = &[
    ("admissionregistration.v1.ServiceReference", &["path"]),
    ("admissionregistration.v1.WebhookClientConfig", &["url"]),
    ("apiextensions.v1.JSONSchemaProps", &["$ref", "ref", "x-kubernetes-list-type", "x-kubernetes-map-type"]),
    ("apiextensions.v1.ServiceReference", &["path"]),
    ("apiextensions.v1.WebhookClientConfig", &["url"]),
    ("batch.v1.CronJobSpec", &["timeZone"]),
    ("batch.v1.JobSpec", &["managedBy"]),
    ("batch.v1.JobStatus", &["failedIndexes"]),
    ("batch.v1.PodFailurePolicyOnExitCodesRequirement", &["containerName"]),
    ("batch.v1.SuccessPolicyRule", &["succeededIndexes"]),
    ("coordination.v1.LeaseSpec", &["holderIdentity", "preferredHolder", "strategy"]),
    ("core.v1.AppArmorProfile", &["localhostProfile"]),
    ("core.v1.AzureDiskVolumeSource", &["fsType"]),
    ("core.v1.AzureFilePersistentVolumeSource", &["secretNamespace"]),
    ("core.v1.CSIVolumeSource", &["fsType"]),
    ("core.v1.ClusterTrustBundleProjection", &["name", "signerName"]),
    ("core.v1.EndpointAddress", &["nodeName"]),
    ("core.v1.EndpointPort", &["appProtocol"]),
    ("core.v1.GRPCAction", &["service"]),
    ("core.v1.ISCSIPersistentVolumeSource", &["initiatorName"]),
    ("core.v1.ISCSIVolumeSource", &["initiatorName"]),
    ("core.v1.LocalVolumeSource", &["fsType"]),
    ("core.v1.PersistentVolumeClaimSpec", &["storageClassName", "volumeAttributesClassName"]),
    ("core.v1.PersistentVolumeClaimStatus", &["currentVolumeAttributesClassName"]),
    ("core.v1.PersistentVolumeSpec", &["volumeAttributesClassName"]),
    ("core.v1.PodDNSConfigOption", &["value"]),
    ("core.v1.PodResourceClaim", &["resourceClaimName", "resourceClaimTemplateName"]),
    ("core.v1.PodResourceClaimStatus", &["resourceClaimName"]),
    ("core.v1.PodSpec", &["hostnameOverride", "runtimeClassName"]),
    ("core.v1.PortStatus", &["error"]),
    ("core.v1.SeccompProfile", &["localhostProfile"]),
    ("core.v1.ServicePort", &["appProtocol"]),
    ("core.v1.ServiceSpec", &["loadBalancerClass", "trafficDistribution"]),
    ("core.v1.TypedLocalObjectReference", &["apiGroup"]),
    ("core.v1.TypedObjectReference", &["apiGroup", "namespace"]),
    ("core.v1.WindowsSecurityContextOptions", &["gmsaCredentialSpec", "gmsaCredentialSpecName", "runAsUserName"]),
    ("discovery.v1.Endpoint", &["hostname", "nodeName", "zone"]),
    ("discovery.v1.EndpointPort", &["appProtocol", "name"]),
    ("networking.v1.IngressClassParametersReference", &["apiGroup", "namespace", "scope"]),
    ("networking.v1.IngressPortStatus", &["error"]),
    ("networking.v1.IngressSpec", &["ingressClassName"]),
    ("storage.v1.VolumeAttachmentSource", &["persistentVolumeName"]),
];

#[cfg(test)]
mod tests {
    use super::POINTERS;
    use crate::model::fields;

    #[test]
    fn every_message_is_one_of_the_table() {
        for (message, _) in POINTERS {
            assert!(!fields::message(message).is_empty(), "{message}");
        }
    }
}
