"""A valid object of each kind: what random fields and mutations start from.

`@` in a value is the name of the object. Several templates of a kind are written one after the other.
"""
import copy

POD = {"containers": [{"name": "c", "image": "nginx:1"}]}
RICH_POD = {
    "containers": [{
        "name": "c", "image": "nginx", "command": ["run"], "args": ["-v"],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}},
                {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "envFrom": [{"prefix": "P_", "secretRef": {"name": "s"}}],
        "ports": [{"name": "http", "containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "128Mi"}},
        "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
        "readinessProbe": {"tcpSocket": {"port": 80}},
        "lifecycle": {"preStop": {"exec": {"command": ["true"]}}},
        "securityContext": {"runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "m", "mountPath": "/m", "readOnly": True}]}],
    "initContainers": [{"name": "i", "image": "busybox:1", "restartPolicy": "Always"}],
    "volumes": [{"name": "v", "emptyDir": {}}, {"name": "m", "configMap": {"name": "m", "items": [{"key": "k", "path": "p"}]}},
                {"name": "s", "secret": {"secretName": "s"}},
                {"name": "p", "projected": {"sources": [{"configMap": {"name": "m"}}, {"downwardAPI": {"items": [
                    {"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}}]}}],
    "nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
    "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {
        "topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "a"}}}}]},
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "k", "operator": "In", "values": ["a"]}]}]}}},
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                                   "labelSelector": {"matchLabels": {"app": "a"}}}],
    "securityContext": {"fsGroup": 1, "supplementalGroups": [1], "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]},
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a.b"]}], "dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"], "searches": ["a.b"]},
    "imagePullSecrets": [{"name": "r"}], "terminationGracePeriodSeconds": 5, "subdomain": "d", "hostname": "h"}
SELECTOR = {"matchLabels": {"app": "a"}}


def pod_template(spec):
    return {"metadata": {"labels": {"app": "a"}}, "spec": spec}


def crd(schema=None, **more):
    """Of the kind Thing of the group ${run}.example.com; `@` is not used, the name follows."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema or {
        "type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}}}
    version.update(more)
    return {"metadata": {"name": "things.${run}.example.com"}, "spec": {
        "group": "${run}.example.com", "scope": "Namespaced", "versions": [version],
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList", "shortNames": ["th"]}}}


def hook(**more):
    return {"name": "a.example.com", "clientConfig": {"url": "https://127.0.0.1:1/x"}, "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "nowhere-${run}"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"], "scope": "*"}], **more}


METRIC = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
SCALE_TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
POLICY_MATCH = {"resourceRules": [{"apiGroups": ["nothing.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}]}

# (group/version, plural) -> bodies without apiVersion, kind and, mostly, metadata.
TEMPLATES = {
    ("v1", "configmaps"): [{"data": {"k": "v", "l": "w"}}, {"binaryData": {"b": "YQ=="}, "data": {"a.b-c_d": ""}}, {"data": {"k": "v"}, "immutable": True}],
    ("v1", "secrets"): [{"data": {"k": "YQ=="}, "type": "Opaque"}, {"stringData": {"k": "v"}},
                        {"type": "kubernetes.io/tls", "data": {"tls.crt": "YQ==", "tls.key": "YQ=="}},
                        {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "e30="}},
                        {"type": "kubernetes.io/basic-auth", "stringData": {"username": "u"}}],
    ("v1", "serviceaccounts"): [{}, {"automountServiceAccountToken": False, "imagePullSecrets": [{"name": "r"}], "secrets": [{"name": "s"}]}],
    ("v1", "services"): [{"spec": {"selector": {"app": "a"}, "ports": [{"port": 80, "targetPort": "http"}]}},
                         {"spec": {"clusterIP": "None", "selector": {"app": "a"}, "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 443, "protocol": "UDP"}]}},
                         {"spec": {"type": "ExternalName", "externalName": "example.com"}},
                         {"spec": {"type": "NodePort", "ports": [{"port": 80}], "externalTrafficPolicy": "Local"}},
                         {"spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "loadBalancerSourceRanges": ["10.0.0.0/8"], "sessionAffinity": "ClientIP"}}],
    ("v1", "pods"): [{"spec": POD}, {"spec": RICH_POD}, {"spec": {**POD, "serviceAccountName": "default", "restartPolicy": "Never", "nodeName": "n1"}},
                     {"spec": {**POD, "schedulingGates": [{"name": "g"}], "overhead": None, "priority": None}}],
    ("v1", "podtemplates"): [{"template": pod_template(POD)}, {"template": pod_template(RICH_POD)}],
    ("v1", "replicationcontrollers"): [{"spec": {"replicas": 1, "selector": {"app": "a"}, "template": pod_template(POD)}}],
    ("v1", "endpoints"): [{"subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"name": "p", "port": 80}]}]}],
    ("v1", "events"): [{"involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "${ns}", "name": "p"}, "reason": "R", "message": "m", "type": "Normal", "count": 1,
                        "source": {"component": "c"}, "firstTimestamp": "2020-01-01T00:00:00Z", "lastTimestamp": "2020-01-01T00:00:00Z"}],
    ("v1", "limitranges"): [{"spec": {"limits": [{"type": "Container", "default": {"cpu": "100m"}, "max": {"cpu": "1"}, "min": {"cpu": "10m"}, "defaultRequest": {"cpu": "50m"}}]}},
                            {"spec": {"limits": [{"type": "Pod", "max": {"memory": "1Gi"}, "maxLimitRequestRatio": {"memory": "2"}},
                                                 {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}}]}}],
    ("v1", "resourcequotas"): [{"spec": {"hard": {"pods": "10", "requests.cpu": "1", "count/deployments.apps": "3"}}},
                               {"spec": {"hard": {"pods": "1"}, "scopes": ["BestEffort"]}},
                               {"spec": {"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["p"]}]}}}],
    ("v1", "namespaces"): [{}],
    ("v1", "nodes"): [{}, {"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"], "taints": [{"key": "k", "effect": "NoSchedule"}], "unschedulable": True, "providerID": "x://y"},
                          "status": {"capacity": {"cpu": "4", "pods": "10"}, "allocatable": {"cpu": "4", "pods": "10"}}}],
    ("v1", "persistentvolumes"): [{"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}, "persistentVolumeReclaimPolicy": "Retain"}},
                                  {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "nfs": {"server": "s", "path": "/x"}, "storageClassName": "c",
                                            "claimRef": {"namespace": "x", "name": "y"}}}],
    ("v1", "persistentvolumeclaims"): [{"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
                                       {"spec": {"accessModes": ["ReadOnlyMany"], "storageClassName": "c", "volumeMode": "Block", "selector": SELECTOR,
                                                 "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}}}}],
    ("apps/v1", "deployments"): [{"spec": {"replicas": 2, "selector": SELECTOR, "template": pod_template(POD)}},
                                 {"spec": {"selector": SELECTOR, "template": pod_template(RICH_POD), "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
                                           "minReadySeconds": 5, "progressDeadlineSeconds": 60, "paused": True, "revisionHistoryLimit": 3}}],
    ("apps/v1", "replicasets"): [{"spec": {"replicas": 2, "selector": SELECTOR, "template": pod_template(POD)}}],
    ("apps/v1", "statefulsets"): [{"spec": {"serviceName": "s", "selector": SELECTOR, "template": pod_template(POD)}},
                                  {"spec": {"serviceName": "s", "selector": SELECTOR, "template": pod_template(POD), "podManagementPolicy": "Parallel",
                                            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}, "volumeClaimTemplates": [
                                                {"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}}],
    ("apps/v1", "daemonsets"): [{"spec": {"selector": SELECTOR, "template": pod_template(POD)}},
                                {"spec": {"selector": SELECTOR, "template": pod_template(POD), "updateStrategy": {"type": "OnDelete"}}}],
    ("apps/v1", "controllerrevisions"): [{"revision": 1, "data": {"a": 1}}],
    ("batch/v1", "jobs"): [{"spec": {"template": {"spec": {**POD, "restartPolicy": "Never"}}}},
                           {"spec": {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "backoffLimit": 3, "activeDeadlineSeconds": 60, "ttlSecondsAfterFinished": 5, "suspend": True,
                                     "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]},
                                     "template": {"spec": {**POD, "restartPolicy": "Never"}}}}],
    ("batch/v1", "cronjobs"): [{"spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": {"spec": {**POD, "restartPolicy": "OnFailure"}}}}}},
                               {"spec": {"schedule": "@hourly", "timeZone": "Etc/UTC", "concurrencyPolicy": "Forbid", "suspend": True, "startingDeadlineSeconds": 10, "successfulJobsHistoryLimit": 1,
                                         "jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {"template": {"spec": {**POD, "restartPolicy": "Never"}}}}}}],
    ("autoscaling/v2", "horizontalpodautoscalers"): [{"spec": {"maxReplicas": 3, "scaleTargetRef": SCALE_TARGET}},
                                                     {"spec": {"minReplicas": 1, "maxReplicas": 3, "scaleTargetRef": SCALE_TARGET, "metrics": [METRIC], "behavior": {
                                                         "scaleDown": {"stabilizationWindowSeconds": 60, "policies": [{"type": "Percent", "value": 10, "periodSeconds": 60}]}}}}],
    ("autoscaling/v1", "horizontalpodautoscalers"): [{"spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": SCALE_TARGET}}],
    ("policy/v1", "poddisruptionbudgets"): [{"spec": {"minAvailable": 1, "selector": SELECTOR}}, {"spec": {"maxUnavailable": "25%", "selector": SELECTOR, "unhealthyPodEvictionPolicy": "AlwaysAllow"}}],
    ("networking.k8s.io/v1", "ingresses"): [{"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}},
                                            {"spec": {"ingressClassName": "c", "tls": [{"hosts": ["a.example.com"], "secretName": "s"}], "rules": [{"host": "a.example.com", "http": {"paths": [
                                                {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"name": "http"}}}}]}}]}}],
    ("networking.k8s.io/v1", "ingressclasses"): [{"spec": {"controller": "example.com/c", "parameters": {"kind": "P", "apiGroup": "example.com", "name": "p"}}}],
    ("networking.k8s.io/v1", "networkpolicies"): [{"spec": {"podSelector": {}, "policyTypes": ["Ingress"]}},
                                                  {"spec": {"podSelector": SELECTOR, "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}, {"namespaceSelector": {}}],
                                                                                                  "ports": [{"port": 80, "endPort": 90, "protocol": "TCP"}]}],
                                                            "egress": [{"to": [{"podSelector": {}}]}]}}],
    ("rbac.authorization.k8s.io/v1", "roles"): [{"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}, {"rules": [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"], "resourceNames": ["a"]}]}],
    ("rbac.authorization.k8s.io/v1", "clusterroles"): [{"rules": [{"nonResourceURLs": ["/x/*"], "verbs": ["get"]}]}, {"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["list"]}]},
                                                       {"aggregationRule": {"clusterRoleSelectors": [SELECTOR]}}],
    ("rbac.authorization.k8s.io/v1", "rolebindings"): [{"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}, "subjects": [
        {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}, {"kind": "ServiceAccount", "name": "s", "namespace": "x"}]}],
    ("rbac.authorization.k8s.io/v1", "clusterrolebindings"): [{"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}, "subjects": [{"kind": "Group", "name": "g-${run}"}]}],
    ("storage.k8s.io/v1", "storageclasses"): [{"provisioner": "example.com/p", "parameters": {"a": "b"}, "reclaimPolicy": "Retain", "volumeBindingMode": "WaitForFirstConsumer", "allowVolumeExpansion": True},
                                              {"provisioner": "example.com/p"}],
    ("storage.k8s.io/v1", "csidrivers"): [{"spec": {"attachRequired": False}}],
    ("storage.k8s.io/v1", "csinodes"): [{"spec": {"drivers": [{"name": "d.example.com", "nodeID": "n"}]}}],
    ("storage.k8s.io/v1", "csistoragecapacities"): [{"storageClassName": "c", "capacity": "1Gi"}],
    ("storage.k8s.io/v1", "volumeattachments"): [{"spec": {"attacher": "a.example.com", "nodeName": "n", "source": {"persistentVolumeName": "p"}}}],
    ("storage.k8s.io/v1", "volumeattributesclasses"): [{"driverName": "d.example.com", "parameters": {"a": "b"}}],
    ("scheduling.k8s.io/v1", "priorityclasses"): [{"value": 10, "description": "d"}, {"value": 1000, "preemptionPolicy": "Never"}],
    ("coordination.k8s.io/v1", "leases"): [{"spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2020-01-01T00:00:00.000000Z", "leaseTransitions": 1}}],
    ("node.k8s.io/v1", "runtimeclasses"): [{"handler": "runc"}, {"handler": "h", "overhead": {"podFixed": {"cpu": "1"}}, "scheduling": {"nodeSelector": {"a": "b"}}}],
    ("discovery.k8s.io/v1", "endpointslices"): [{"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}}], "ports": [{"name": "p", "port": 80}]}],
    ("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations"): [{"webhooks": [hook()]}, {"webhooks": [hook(reinvocationPolicy="IfNeeded", matchConditions=[{"name": "c", "expression": "request.name != 'x'"}])]}],
    ("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations"): [{"webhooks": [hook()]}, {"webhooks": [hook(clientConfig={"service": {"namespace": "x", "name": "y", "path": "/z"}}, failurePolicy="Ignore")]}],
    ("admissionregistration.k8s.io/v1", "validatingadmissionpolicies"): [{"spec": {"matchConstraints": POLICY_MATCH, "validations": [{"expression": "object.spec.size < 5"}]}}],
    ("admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings"): [{"spec": {"policyName": "p.example.com", "validationActions": ["Deny"]}}],
    ("apiextensions.k8s.io/v1", "customresourcedefinitions"): [crd(), crd(subresources={"status": {}}), crd({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "string", "maxLength": 5, "default": "x"}, "l": {"type": "array", "maxItems": 3, "items": {"type": "integer"}, "x-kubernetes-list-type": "set"},
        "p": {"type": "string", "pattern": "^a"}, "q": {"x-kubernetes-int-or-string": True}}, "required": ["a"],
        "x-kubernetes-validations": [{"rule": "self.a != 'no'", "message": "m"}]}}},
        additionalPrinterColumns=[{"name": "A", "type": "string", "jsonPath": ".spec.a"}], selectableFields=[{"jsonPath": ".spec.a"}])],
    ("certificates.k8s.io/v1", "certificatesigningrequests"): [],
    ("flowcontrol.apiserver.k8s.io/v1", "flowschemas"): [{"spec": {"priorityLevelConfiguration": {"name": "x"}, "matchingPrecedence": 9000, "distinguisherMethod": {"type": "ByUser"}, "rules": [
        {"subjects": [{"kind": "User", "user": {"name": "nobody"}}], "resourceRules": [{"verbs": ["get"], "apiGroups": ["x"], "resources": ["y"], "namespaces": ["z"]}]}]}}],
    ("flowcontrol.apiserver.k8s.io/v1", "prioritylevelconfigurations"): [{"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}}}],
    ("resource.k8s.io/v1", "deviceclasses"): [{"spec": {"selectors": [{"cel": {"expression": "device.driver == 'x'"}}]}}],
    ("resource.k8s.io/v1", "resourceclaims"): [{"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c.example.com"}}]}}}],
    ("resource.k8s.io/v1", "resourceclaimtemplates"): [{"spec": {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c.example.com"}}]}}}}],
    ("authorization.k8s.io/v1", "selfsubjectaccessreviews"): [{"spec": {"resourceAttributes": {"namespace": "${ns}", "verb": "get", "resource": "pods"}}}],
    ("authorization.k8s.io/v1", "subjectaccessreviews"): [{"spec": {"user": "u", "groups": ["g"], "resourceAttributes": {"namespace": "${ns}", "verb": "get", "resource": "pods"}}},
                                                          {"spec": {"user": "u", "nonResourceAttributes": {"path": "/healthz", "verb": "get"}}}],
    ("authorization.k8s.io/v1", "localsubjectaccessreviews"): [{"metadata": {"namespace": "${ns}"}, "spec": {"user": "u", "resourceAttributes": {"namespace": "${ns}", "verb": "get", "resource": "pods"}}}],
    ("authorization.k8s.io/v1", "selfsubjectrulesreviews"): [{"spec": {"namespace": "${ns}"}}],
    ("authentication.k8s.io/v1", "selfsubjectreviews"): [{}],
    ("authentication.k8s.io/v1", "tokenreviews"): [{"spec": {"token": "not-a-token"}}],
    ("events.k8s.io/v1", "events"): [{"eventTime": "2020-01-01T00:00:00.000000Z", "reportingController": "example.com/c", "reportingInstance": "i", "action": "A", "reason": "R", "type": "Normal",
                                      "note": "n", "regarding": {"kind": "Pod", "namespace": "${ns}", "name": "p"}}],
}

# The kinds that controllers, kubectl and client libraries use most are drawn most.
WEIGHTS = {("v1", "pods"): 10, ("v1", "configmaps"): 8, ("v1", "services"): 6, ("v1", "secrets"): 5, ("apps/v1", "deployments"): 9,
           ("apps/v1", "statefulsets"): 4, ("apps/v1", "daemonsets"): 3, ("apps/v1", "replicasets"): 3, ("batch/v1", "jobs"): 4, ("batch/v1", "cronjobs"): 3,
           ("apiextensions.k8s.io/v1", "customresourcedefinitions"): 5, ("networking.k8s.io/v1", "ingresses"): 3, ("networking.k8s.io/v1", "networkpolicies"): 3,
           ("v1", "serviceaccounts"): 3, ("rbac.authorization.k8s.io/v1", "roles"): 2, ("policy/v1", "poddisruptionbudgets"): 2, ("coordination.k8s.io/v1", "leases"): 2,
           ("autoscaling/v2", "horizontalpodautoscalers"): 2, ("v1", "persistentvolumeclaims"): 3, ("v1", "events"): 2}


def template(rnd, group_version, plural, kind, name):
    """A valid object of this kind under this name."""
    body = copy.deepcopy(rnd.choice(TEMPLATES.get((group_version, plural)) or [{}]))
    body.update({"apiVersion": group_version, "kind": kind})
    meta = body.setdefault("metadata", {})
    if plural != "customresourcedefinitions":
        meta["name"] = name
    if rnd.random() < 0.4:
        meta["labels"] = {"app": rnd.choice(["a", "b"])}
    if rnd.random() < 0.15:
        meta["annotations"] = {"example.com/note": "n"}
    if rnd.random() < 0.06:
        meta["finalizers"] = ["example.com/f"]
    if rnd.random() < 0.05:
        meta["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "00000000-0000-0000-0000-00000000000a"}]
    return body
