//! kubectl `create KIND NAME`, `create -f`, `run`, `expose`, `autoscale`: the generators send protobuf.

use super::Kubectl;

#[tokio::test]
async fn create_makes_each_kind_it_has_a_generator_for() {
    let Some(k) = Kubectl::start().await else { return };
    k.prints(&[
        ("create namespace n", "namespace/n created"),
        ("create configmap c --from-literal=a=b --from-literal=x=", "configmap/c created"),
        ("create secret generic s --from-literal=a=b", "secret/s created"),
        (
            "create secret docker-registry r --docker-server=x.io --docker-username=u --docker-password=p",
            "secret/r created",
        ),
        ("create deployment web --image=nginx:1 --replicas=3 --port=80", "deployment.apps/web created"),
        ("create service clusterip web --tcp=80:8080", "service/web created"),
        ("create service nodeport np --tcp=80:http", "service/np created"),
        ("create service externalname en --external-name=a.b", "service/en created"),
        ("create service clusterip headless --clusterip=None", "service/headless created"),
        ("create job j --image=busybox -- date -u", "job.batch/j created"),
        ("create cronjob cj --image=busybox --schedule='*/5 * * * *' -- date", "cronjob.batch/cj created"),
        ("create job k --from=cronjob/cj", "job.batch/k created"),
        ("create serviceaccount robot", "serviceaccount/robot created"),
        ("create role r --verb=get,list --resource=pods,deployments.apps", "role.rbac.authorization.k8s.io/r created"),
        (
            "create rolebinding b --role=r --serviceaccount=default:robot",
            "rolebinding.rbac.authorization.k8s.io/b created",
        ),
        (
            "create clusterrole c --verb=get --non-resource-url=/metrics",
            "clusterrole.rbac.authorization.k8s.io/c created",
        ),
        (
            "create clusterrolebinding b --clusterrole=c --user=u",
            "clusterrolebinding.rbac.authorization.k8s.io/b created",
        ),
        ("create quota q --hard=pods=3,cpu=500m", "resourcequota/q created"),
        ("create ingress i --rule='a.b/x*=web:80,tls=cert'", "ingress.networking.k8s.io/i created"),
        ("create poddisruptionbudget p --selector=app=web --min-available=50%", "poddisruptionbudget.policy/p created"),
        ("create priorityclass none --value=0 --description=x", "priorityclass.scheduling.k8s.io/none created"),
    ])
    .await;
    let template = "spec.template.spec.containers[0]";
    k.prints(&[
        ("get namespace n -o jsonpath='{.status.phase}'", "Active"),
        ("get cm c -o jsonpath='{.data}'", r#"{"a":"b","x":""}"#),
        ("get secret s -o jsonpath='{.type} {.data}'", r#"Opaque {"a":"Yg=="}"#),
        ("get secret r -o jsonpath='{.type}'", "kubernetes.io/dockerconfigjson"),
        (
            "get deploy web -o jsonpath='{.spec.replicas} {.spec.selector} {.metadata.labels}'",
            r#"3 {"matchLabels":{"app":"web"}} {"app":"web"}"#,
        ),
        (
            &format!("get deploy web -o jsonpath='{{.{template}.image}} {{.{template}.ports}}'"),
            r#"nginx:1 [{"containerPort":80,"protocol":"TCP"}]"#,
        ),
        ("get svc web -o jsonpath='{.spec.ports} {.spec.selector}'",
            r#"[{"name":"80-8080","port":80,"protocol":"TCP","targetPort":8080}] {"app":"web"}"#),
        ("get svc np -o jsonpath='{.spec.type} {.spec.ports[0].targetPort}'", "NodePort http"),
        ("get svc en -o jsonpath='{.spec.type} {.spec.externalName}'", "ExternalName a.b"),
        ("get svc headless -o jsonpath='{.spec.clusterIP}'", "None"),
        (&format!("get job j -o jsonpath='{{.{template}.command}}'"), r#"["date","-u"]"#),
        ("get job j -o jsonpath='{.spec.template.spec.restartPolicy}'", "Never"),
        ("get job k -o jsonpath='{.metadata.ownerReferences[0].kind} {.metadata.ownerReferences[0].controller}'", "CronJob true"),
        ("get role r -o jsonpath='{.rules}'",
            r#"[{"apiGroups":[""],"resources":["pods"],"verbs":["get","list"]},{"apiGroups":["apps"],"resources":["deployments"],"verbs":["get","list"]}]"#),
        ("get rolebinding b -o jsonpath='{.subjects}'", r#"[{"kind":"ServiceAccount","name":"robot","namespace":"default"}]"#),
        ("get clusterrole c -o jsonpath='{.rules}'", r#"[{"nonResourceURLs":["/metrics"],"verbs":["get"]}]"#),
        ("get quota q -o jsonpath='{.spec.hard}'", r#"{"cpu":"500m","pods":"3"}"#),
        ("get ingress i -o jsonpath='{.spec.rules[0].http.paths[0]}'",
            r#"{"backend":{"service":{"name":"web","port":{"number":80}}},"path":"/x","pathType":"Prefix"}"#),
        ("get pdb p -o jsonpath='{.spec}'", r#"{"minAvailable":"50%","selector":{"matchLabels":{"app":"web"}}}"#),
        ("get priorityclass none -o jsonpath='{.value} {.preemptionPolicy} {.globalDefault}'", "0 PreemptLowerPriority"),
    ])
    .await;
}

#[tokio::test]
async fn what_create_makes_has_nothing_that_was_not_said() {
    let Some(k) = Kubectl::start().await else { return };
    k.run("create deployment web --image=nginx").await;
    // The same document as JSON: a protobuf body gives the same object, with the same owned fields.
    let document = k.run("create deployment web --image=nginx --dry-run=client -o json").await;
    k.pipe("create -f -", &document.replace("\"name\": \"web\"", "\"name\": \"json\"")).await;
    let shown = |text: String| {
        let mut object: serde_json::Value = serde_json::from_str(&text).unwrap();
        for key in ["name", "uid", "resourceVersion", "creationTimestamp"] {
            object["metadata"].as_object_mut().unwrap().remove(key);
        }
        object["metadata"]["managedFields"][0].as_object_mut().unwrap().remove("time");
        object
    };
    let by_protobuf = shown(k.run("get deploy web -o json --show-managed-fields").await);
    let by_json = shown(k.run("get deploy json -o json --show-managed-fields").await);
    assert_eq!(by_protobuf, by_json);
}

#[tokio::test]
async fn create_from_a_file_is_strict_and_says_what_exists() {
    let Some(k) = Kubectl::start().await else { return };
    k.file("cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: prod}\n");
    k.file("wrong.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: w}\ndatta: {a: b}\n");
    k.prints(&[
        (
            "create -f cm.yaml --dry-run=server",
            "configmap/c created (server dry run)\nnamespace/prod created (server dry run)",
        ),
        ("create -f cm.yaml", "configmap/c created\nnamespace/prod created"),
        ("create -f wrong.yaml --validate=false", "configmap/w created"),
    ])
    .await;
    k.fails(&[
        (
            "create -f cm.yaml",
            "Error from server (AlreadyExists): error when creating \"cm.yaml\": configmaps \"c\" already exists\n\
             Error from server (AlreadyExists): error when creating \"cm.yaml\": namespaces \"prod\" already exists",
        ),
        (
            "create -f wrong.yaml",
            "Error from server (BadRequest): error when creating \"wrong.yaml\": ConfigMap in version \"v1\" cannot be handled as a \
             ConfigMap: strict decoding error: unknown field \"datta\"",
        ),
        ("create namespace prod", "Error from server (AlreadyExists): namespaces \"prod\" already exists"),
        ("create configmap c", "error: failed to create configmap: configmaps \"c\" already exists"),
        ("create configmap x -n nowhere", "error: failed to create configmap: namespaces \"nowhere\" not found"),
    ])
    .await;
}

#[tokio::test]
async fn run_makes_a_pod() {
    let Some(k) = Kubectl::start().await else { return };
    k.prints(&[
        ("run p --image=nginx --labels=a=b --env=X=y --port=80 --restart=Never", "pod/p created"),
        (
            "get pod p -o jsonpath='{.spec.containers[0].env} {.spec.restartPolicy} {.metadata.labels}'",
            r#"[{"name":"X","value":"y"}] Never {"a":"b"}"#,
        ),
        ("get pod", "NAME READY STATUS RESTARTS AGE\np 0/1 Pending 0 <age>"),
    ])
    .await;
}

#[tokio::test]
async fn expose_makes_a_service_for_a_deployment() {
    let Some(k) = Kubectl::start().await else { return };
    k.run("create deployment web --image=nginx --port=8080").await;
    k.prints(&[
        ("expose deployment web --port=80 --target-port=8080", "service/web exposed"),
        ("expose deployment web --name=lb --type=LoadBalancer", "service/lb exposed"),
        (
            "get svc web -o jsonpath='{.spec.selector} {.spec.ports}'",
            r#"{"app":"web"} [{"port":80,"protocol":"TCP","targetPort":8080}]"#,
        ),
        ("get svc lb -o jsonpath='{.spec.type} {.spec.ports[0].port}'", "LoadBalancer 8080"),
    ])
    .await;
}

#[tokio::test]
async fn autoscale_makes_an_autoscaler() {
    let Some(k) = Kubectl::start().await else { return };
    k.run("create deployment web --image=nginx").await;
    k.prints(&[
        (
            "autoscale deployment web --min=1 --max=5 --cpu-percent=80",
            "horizontalpodautoscaler.autoscaling/web autoscaled",
        ),
        (
            "get hpa",
            "NAME REFERENCE TARGETS MINPODS MAXPODS REPLICAS AGE\nweb Deployment/web cpu: <unknown>/80% 1 5 0 <age>",
        ),
        (
            "get hpa.v2.autoscaling web -o jsonpath='{.spec.metrics[0].resource.target}'",
            r#"{"averageUtilization":80,"type":"Utilization"}"#,
        ),
        ("get horizontalpodautoscalers.v1.autoscaling web -o jsonpath='{.spec.targetCPUUtilizationPercentage} {.spec.metrics}'", "80"),
    ])
    .await;
}
