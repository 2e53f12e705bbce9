//! The built-in kinds of Kubernetes v1.36 as a table.

use std::sync::OnceLock;

use super::{ALL_VERBS, Resource, Subresource};

/// One line per resource: group/version, plural, kind, scope (`N` namespaced, `C` cluster), then optionally
/// `short=a,b`, `in=category`, `sub=status,scale,…`, `verbs=…` and `one=` where the singular is not the kind in lower case.
/// Order is discovery's order.
const TABLE: &str = "
v1 bindings Binding N verbs=create
v1 componentstatuses ComponentStatus C short=cs verbs=get,list
v1 configmaps ConfigMap N short=cm
v1 endpoints Endpoints N short=ep
v1 events Event N short=ev
v1 limitranges LimitRange N short=limits
v1 namespaces Namespace C short=ns sub=finalize,status verbs=create,delete,get,list,patch,update,watch
v1 nodes Node C short=no sub=proxy,status
v1 persistentvolumeclaims PersistentVolumeClaim N short=pvc sub=status
v1 persistentvolumes PersistentVolume C short=pv sub=status
v1 pods Pod N short=po in=all sub=attach,binding,ephemeralcontainers,eviction,exec,log,portforward,proxy,resize,status
v1 podtemplates PodTemplate N
v1 replicationcontrollers ReplicationController N short=rc in=all sub=scale,status
v1 resourcequotas ResourceQuota N short=quota sub=status
v1 secrets Secret N
v1 serviceaccounts ServiceAccount N short=sa sub=token
v1 services Service N short=svc in=all sub=proxy,status
apiregistration.k8s.io/v1 apiservices APIService C in=api-extensions sub=status
apps/v1 controllerrevisions ControllerRevision N
apps/v1 daemonsets DaemonSet N short=ds in=all sub=status
apps/v1 deployments Deployment N short=deploy in=all sub=scale,status
apps/v1 replicasets ReplicaSet N short=rs in=all sub=scale,status
apps/v1 statefulsets StatefulSet N short=sts in=all sub=scale,status
events.k8s.io/v1 events Event N short=ev
authentication.k8s.io/v1 selfsubjectreviews SelfSubjectReview C verbs=create
authentication.k8s.io/v1 tokenreviews TokenReview C verbs=create
authorization.k8s.io/v1 localsubjectaccessreviews LocalSubjectAccessReview N verbs=create
authorization.k8s.io/v1 selfsubjectaccessreviews SelfSubjectAccessReview C verbs=create
authorization.k8s.io/v1 selfsubjectrulesreviews SelfSubjectRulesReview C verbs=create
authorization.k8s.io/v1 subjectaccessreviews SubjectAccessReview C verbs=create
autoscaling/v2 horizontalpodautoscalers HorizontalPodAutoscaler N short=hpa in=all sub=status
autoscaling/v1 horizontalpodautoscalers HorizontalPodAutoscaler N short=hpa in=all sub=status
batch/v1 cronjobs CronJob N short=cj in=all sub=status
batch/v1 jobs Job N in=all sub=status
certificates.k8s.io/v1 certificatesigningrequests CertificateSigningRequest C short=csr sub=approval,status
networking.k8s.io/v1 ingressclasses IngressClass C
networking.k8s.io/v1 ingresses Ingress N short=ing sub=status
networking.k8s.io/v1 ipaddresses IPAddress C short=ip
networking.k8s.io/v1 networkpolicies NetworkPolicy N short=netpol
networking.k8s.io/v1 servicecidrs ServiceCIDR C sub=status
policy/v1 poddisruptionbudgets PodDisruptionBudget N short=pdb sub=status
rbac.authorization.k8s.io/v1 clusterrolebindings ClusterRoleBinding C
rbac.authorization.k8s.io/v1 clusterroles ClusterRole C
rbac.authorization.k8s.io/v1 rolebindings RoleBinding N
rbac.authorization.k8s.io/v1 roles Role N
storage.k8s.io/v1 csidrivers CSIDriver C
storage.k8s.io/v1 csinodes CSINode C
storage.k8s.io/v1 csistoragecapacities CSIStorageCapacity N
storage.k8s.io/v1 storageclasses StorageClass C short=sc
storage.k8s.io/v1 volumeattachments VolumeAttachment C sub=status
storage.k8s.io/v1 volumeattributesclasses VolumeAttributesClass C short=vac
admissionregistration.k8s.io/v1 mutatingadmissionpolicies MutatingAdmissionPolicy C in=api-extensions
admissionregistration.k8s.io/v1 mutatingadmissionpolicybindings MutatingAdmissionPolicyBinding C in=api-extensions
admissionregistration.k8s.io/v1 mutatingwebhookconfigurations MutatingWebhookConfiguration C in=api-extensions
admissionregistration.k8s.io/v1 validatingadmissionpolicies ValidatingAdmissionPolicy C in=api-extensions sub=status
admissionregistration.k8s.io/v1 validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding C in=api-extensions
admissionregistration.k8s.io/v1 validatingwebhookconfigurations ValidatingWebhookConfiguration C in=api-extensions
apiextensions.k8s.io/v1 customresourcedefinitions CustomResourceDefinition C short=crd,crds in=api-extensions sub=status
scheduling.k8s.io/v1 priorityclasses PriorityClass C short=pc
coordination.k8s.io/v1 leases Lease N
node.k8s.io/v1 runtimeclasses RuntimeClass C
discovery.k8s.io/v1 endpointslices EndpointSlice N
resource.k8s.io/v1 deviceclasses DeviceClass C
resource.k8s.io/v1 resourceclaims ResourceClaim N sub=status
resource.k8s.io/v1 resourceclaimtemplates ResourceClaimTemplate N
resource.k8s.io/v1 resourceslices ResourceSlice C
flowcontrol.apiserver.k8s.io/v1 flowschemas FlowSchema C sub=status
flowcontrol.apiserver.k8s.io/v1 prioritylevelconfigurations PriorityLevelConfiguration C sub=status
";

/// The built-in resources, in the order of the table.
pub(crate) fn builtins() -> Vec<Resource> {
    TABLE.lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<Resource> {
    let mut words = line.split_whitespace();
    let group_version = words.next()?;
    let (group, version) = group_version.split_once('/').unwrap_or(("", group_version));
    let (plural, kind, scope) = (words.next()?, words.next()?, words.next()?);
    let mut resource = Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: plural.to_owned(),
        singular: kind.to_lowercase(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        namespaced: scope == "N",
        short_names: Vec::new(),
        categories: Vec::new(),
        verbs: ALL_VERBS.to_vec(),
        subresources: Vec::new(),
        custom: None,
        merge: OnceLock::new(),
    };
    for word in words {
        let (key, values) = word.split_once('=')?;
        let values = values.split(',');
        match key {
            "short" => resource.short_names = values.map(str::to_owned).collect(),
            "in" => resource.categories = values.map(str::to_owned).collect(),
            "sub" => resource.subresources = values.map(|name| subresource(kind, name)).collect(),
            "verbs" => resource.verbs = values.filter_map(|v| ALL_VERBS.iter().copied().find(|a| *a == v)).collect(),
            _ => return None,
        }
    }
    Some(resource)
}

fn subresource(parent: &str, name: &str) -> Subresource {
    let (kind, verbs): (_, &[&'static str]) = match name {
        "attach" => (Some(("", "v1", "PodAttachOptions")), &["create", "get"]),
        "exec" => (Some(("", "v1", "PodExecOptions")), &["create", "get"]),
        "portforward" => (Some(("", "v1", "PodPortForwardOptions")), &["create", "get"]),
        "proxy" => {
            let kind = match parent {
                "Node" => "NodeProxyOptions",
                "Service" => "ServiceProxyOptions",
                _ => "PodProxyOptions",
            };
            (Some(("", "v1", kind)), &["create", "delete", "get", "patch", "update"])
        }
        "log" => (None, &["get"]),
        "scale" => (Some(("autoscaling", "v1", "Scale")), &["get", "patch", "update"]),
        "binding" => (Some(("", "v1", "Binding")), &["create"]),
        "eviction" => (Some(("policy", "v1", "Eviction")), &["create"]),
        "token" => (Some(("authentication.k8s.io", "v1", "TokenRequest")), &["create"]),
        "finalize" => (None, &["update"]),
        _ => (None, &["get", "patch", "update"]),
    };
    Subresource { name: name.to_owned(), kind, verbs: verbs.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_resource() {
        let lines = TABLE.lines().filter(|l| !l.is_empty()).count();
        assert_eq!(builtins().len(), lines);
        assert!(builtins().iter().all(|r| !r.verbs.is_empty()));
    }
}
