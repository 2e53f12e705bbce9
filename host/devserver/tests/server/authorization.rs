//! RBAC for impersonated users and bearer tokens, from a client's view.

use http_body_util::BodyExt as _;
use oarlock_devserver::{Options, StaticTokens};
use serde_json::{Value, json};

use crate::{Answer, Server};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const GROUP: &str = "rbac.authorization.k8s.io";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

impl Server {
    /// Sends as a user; groups follow the name after spaces.
    async fn as_user(&self, user: &str, method: &str, path: &str, body: Value) -> Answer {
        let apply = method == "APPLY";
        let content_type = match method {
            "APPLY" => "application/apply-patch+yaml",
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let mut words = user.split(' ');
        let mut headers = vec![("content-type", content_type), ("impersonate-user", words.next().unwrap())];
        headers.extend(words.map(|group| ("impersonate-group", group)));
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send_with(&headers, if apply { "PATCH" } else { method }, path, body).await
    }

    async fn get_as(&self, user: &str, path: &str) -> u16 {
        self.as_user(user, "GET", path, Value::Null).await.status
    }

    /// Makes a ClusterRole, or with a namespace a Role.
    async fn role(&self, namespace: &str, name: &str, rules: Value) {
        let object = json!({"metadata": {"name": name}, "rules": rules});
        let path = match namespace {
            "" => format!("{RBAC}/clusterroles"),
            ns => format!("{RBAC}/namespaces/{ns}/roles"),
        };
        let answer = self.json("POST", &path, object).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
    }

    /// Binds `Role/name` or `ClusterRole/name` to `User/name`, `Group/name` or `ServiceAccount/namespace/name`.
    async fn bind(&self, namespace: &str, role: &str, subject: &str) {
        let (role_kind, role) = role.split_once('/').unwrap();
        let (kind, subject) = subject.split_once('/').unwrap();
        let shown = match subject.split_once('/') {
            Some((of, name)) => json!({"kind": kind, "namespace": of, "name": name}),
            None => json!({"kind": kind, "apiGroup": GROUP, "name": subject}),
        };
        let object = json!({"metadata": {"generateName": "b-"}, "subjects": [shown],
            "roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": role}});
        let path = match namespace {
            "" => format!("{RBAC}/clusterrolebindings"),
            ns => format!("{RBAC}/namespaces/{ns}/rolebindings"),
        };
        let answer = self.json("POST", &path, object).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
    }
}

#[tokio::test]
async fn nobody_may_do_what_no_binding_gives_and_is_told_so() {
    let server = Server::start().await;
    let answer = server.as_user("jane", "GET", MAPS, Value::Null).await;
    let message = "configmaps is forbidden: User \"jane\" cannot list resource \"configmaps\" in API group \"\" in the \
                   namespace \"default\"";
    assert_eq!(
        answer.json(),
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Forbidden",
            "code": 403, "message": message, "details": {"kind": "configmaps"}})
    );
    let text = async |method: &str, path: &str| {
        let answer = server.as_user("jane", method, path, Value::Null).await;
        assert_eq!(answer.status, 403, "{}", answer.text);
        answer.json()["message"].as_str().unwrap().to_owned()
    };
    let deployment = "/apis/apps/v1/namespaces/default/deployments/x/status";
    assert_eq!(
        text("PATCH", deployment).await,
        "deployments.apps \"x\" is forbidden: User \"jane\" cannot patch resource \"deployments/status\" in API group \
         \"apps\" in the namespace \"default\""
    );
    assert!(
        text("GET", "/api/v1/nodes")
            .await
            .ends_with("cannot list resource \"nodes\" in API group \"\" at the cluster scope")
    );
    assert!(text("DELETE", MAPS).await.contains("cannot deletecollection resource"));
    // Unauthorized users cannot find out whether a resource is served.
    assert!(text("GET", "/apis/x.io/v1/things").await.starts_with("things.x.io is forbidden"));
    assert_eq!(text("GET", "/metrics").await, "forbidden: User \"jane\" cannot get path \"/metrics\"");
}

#[tokio::test]
async fn without_credentials_or_as_a_master_everything_is_allowed() {
    let server = Server::start().await;
    assert_eq!(server.get(MAPS).await.status, 200);
    assert_eq!(server.get_as("boss system:masters", MAPS).await, 200);
    assert_eq!(server.json("POST", MAPS, map("a")).await.status, 201);
    let users: Vec<String> = server.running.requests().into_iter().map(|r| r.user).collect();
    assert_eq!(users, ["system:admin", "boss", "system:admin"]);
}

#[tokio::test]
async fn discovery_and_health_are_for_everybody_who_is_known() {
    let server = Server::start().await;
    for path in ["/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/openapi/v3", "/openapi/v3/api/v1"] {
        assert_eq!(server.get_as("jane", path).await, 200, "{path}");
        assert_eq!(server.get_as("system:anonymous", path).await, 403, "{path}");
    }
    for path in ["/version", "/healthz", "/livez", "/readyz"] {
        assert_eq!(server.get_as("jane", path).await, 200, "{path}");
        assert_eq!(server.get_as("system:anonymous", path).await, 200, "{path}");
    }
}

#[tokio::test]
async fn a_role_gives_its_verbs_in_its_namespace_alone() {
    let server = Server::start().await;
    server.role("default", "reader", json!([rule("", &["configmaps"], &["get", "list"])])).await;
    server.bind("default", "Role/reader", "User/jane").await;
    server.json("POST", MAPS, map("a")).await;
    assert_eq!(server.get_as("jane", MAPS).await, 200);
    assert_eq!(server.get_as("jane", &format!("{MAPS}/a")).await, 200);
    assert_eq!(server.get_as("jane", &format!("{MAPS}?watch=1")).await, 403);
    assert_eq!(server.get_as("jane", "/api/v1/namespaces/kube-system/configmaps").await, 403);
    assert_eq!(server.get_as("jane", "/api/v1/configmaps").await, 403);
    assert_eq!(server.get_as("jane", "/api/v1/namespaces/default/secrets").await, 403);
    assert_eq!(server.get_as("kim", MAPS).await, 403);
    assert_eq!(server.as_user("jane", "POST", MAPS, map("b")).await.status, 403);
    assert_eq!(server.as_user("jane", "DELETE", &format!("{MAPS}/a"), Value::Null).await.status, 403);
    assert_eq!(server.get(&format!("{MAPS}/a")).await.status, 200);
}

#[tokio::test]
async fn a_cluster_role_holds_where_it_is_bound() {
    let server = Server::start().await;
    server.role("", "maps", json!([rule("", &["configmaps", "nodes", "namespaces"], &["get", "list"])])).await;
    server.bind("default", "ClusterRole/maps", "User/jane").await;
    server.bind("", "ClusterRole/maps", "User/kim").await;
    for (path, jane, kim) in [
        (MAPS, 200, 200),
        ("/api/v1/namespaces/kube-system/configmaps", 403, 200),
        ("/api/v1/configmaps", 403, 200),
        ("/api/v1/nodes", 403, 200),
        // A namespace itself is an object.
        ("/api/v1/namespaces/default", 200, 200),
        ("/api/v1/namespaces/kube-system", 403, 200),
        ("/api/v1/namespaces", 403, 200),
    ] {
        assert_eq!((server.get_as("jane", path).await, server.get_as("kim", path).await), (jane, kim), "{path}");
    }
}

#[tokio::test]
async fn groups_and_service_accounts_are_subjects() {
    let server = Server::start().await;
    let robot = "system:serviceaccount:team:robot";
    server.role("", "maps", json!([rule("", &["configmaps"], &["list"])])).await;
    for (namespace, subject) in [
        ("default", "Group/devs"),
        ("kube-system", "ServiceAccount/team/robot"),
        ("kube-public", "Group/system:serviceaccounts:team"),
        ("kube-node-lease", "Group/system:authenticated"),
    ] {
        server.bind(namespace, "ClusterRole/maps", subject).await;
    }
    let may = async |user: &str, namespace: &str| {
        server.get_as(user, &format!("/api/v1/namespaces/{namespace}/configmaps")).await
    };
    assert_eq!(may("jane devs", "default").await, 200);
    assert_eq!(may("jane", "default").await, 403);
    assert_eq!(may(robot, "default").await, 403);
    assert_eq!(may(robot, "kube-system").await, 200);
    assert_eq!(may("system:serviceaccount:other:robot", "kube-system").await, 403);
    assert_eq!(may(robot, "kube-public").await, 200);
    assert_eq!(may("system:serviceaccount:other:robot", "kube-public").await, 403);
    // Explicit groups replace those of the account, except for the group of all users.
    assert_eq!(may(&format!("{robot} devs"), "kube-public").await, 403);
    assert_eq!(may(&format!("{robot} devs"), "default").await, 200);
    assert_eq!(may("anybody", "kube-node-lease").await, 200);
    assert_eq!(may("system:anonymous", "kube-node-lease").await, 403);
}

#[tokio::test]
async fn names_limit_a_rule_also_in_lists_of_one_name() {
    let server = Server::start().await;
    let mut named = rule("", &["configmaps"], &["*"]);
    named["resourceNames"] = json!(["a"]);
    server.role("default", "one", json!([named])).await;
    server.bind("default", "Role/one", "User/jane").await;
    server.json("POST", MAPS, map("a")).await;
    server.json("POST", MAPS, map("b")).await;
    for (path, status) in [
        (format!("{MAPS}/a"), 200),
        (format!("{MAPS}/b"), 403),
        (MAPS.to_owned(), 403),
        (format!("{MAPS}?fieldSelector=metadata.name%3Da"), 200),
        (format!("{MAPS}?fieldSelector=metadata.name%3Db"), 403),
        (format!("{MAPS}?fieldSelector=metadata.name!%3Da"), 403),
        (format!("{MAPS}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Da"), 200),
        (format!("{MAPS}?watch=1&timeoutSeconds=1"), 403),
    ] {
        assert_eq!(server.get_as("jane", &path).await, status, "{path}");
    }
    assert_eq!(server.as_user("jane", "POST", MAPS, map("a")).await.status, 403);
    let selected = format!("{MAPS}?fieldSelector=metadata.name%3Da");
    assert_eq!(server.as_user("jane", "DELETE", &selected, Value::Null).await.status, 403);
    assert_eq!(server.as_user("jane", "DELETE", &format!("{MAPS}/a"), Value::Null).await.status, 200);
}

#[tokio::test]
async fn a_subresource_needs_a_rule_of_its_own() {
    let server = Server::start().await;
    let web = "/apis/apps/v1/namespaces/default/deployments/web";
    let deployment = json!({"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}}});
    server.json("POST", "/apis/apps/v1/namespaces/default/deployments", deployment).await;
    server.role("default", "scaler", json!([rule("apps", &["*/scale"], &["get", "patch"])])).await;
    server.role("default", "status", json!([rule("apps", &["deployments/status"], &["patch"])])).await;
    server.bind("default", "Role/scaler", "User/jane").await;
    server.bind("default", "Role/status", "User/kim").await;
    let patch = async |user: &str, path: &str| {
        server.as_user(user, "PATCH", path, json!({"spec": {"replicas": 3}})).await.status
    };
    assert_eq!(patch("jane", &format!("{web}/scale")).await, 200);
    assert_eq!(patch("jane", &format!("{web}/status")).await, 403);
    assert_eq!(patch("jane", web).await, 403);
    assert_eq!(patch("kim", &format!("{web}/status")).await, 200);
    assert_eq!(patch("kim", &format!("{web}/scale")).await, 403);
    assert_eq!(server.get_as("kim", &format!("{web}/status")).await, 403);
    server.role("default", "watcher", json!([rule("apps", &["deployments/status"], &["watch"])])).await;
    server.bind("default", "Role/watcher", "User/lee").await;
    assert_eq!(server.get_as("lee", &format!("{web}/status?watch=1")).await, 403);
}

#[tokio::test]
async fn an_apply_or_put_that_creates_needs_create_as_well() {
    let server = Server::start().await;
    let rules = json!([rule("", &["configmaps"], &["patch"]), rule("coordination.k8s.io", &["leases"], &["update"])]);
    server.role("default", "patcher", rules).await;
    server.bind("default", "Role/patcher", "User/jane").await;
    let path = format!("{MAPS}/a?fieldManager=m");
    let answer = server.as_user("jane", "APPLY", &path, map("a")).await;
    assert_eq!(
        answer.json()["message"],
        "configmaps \"a\" is forbidden: User \"jane\" cannot create resource \"configmaps\" in API group \"\" in the \
         namespace \"default\""
    );
    assert_eq!(server.get(&format!("{MAPS}/a")).await.status, 404);
    server.json("POST", MAPS, map("a")).await;
    assert_eq!(server.as_user("jane", "APPLY", &path, map("a")).await.status, 200);
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}});
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    assert_eq!(server.as_user("jane", "PUT", &format!("{leases}/l"), lease).await.status, 403);
}

#[tokio::test]
async fn a_watch_is_checked_when_it_starts() {
    let server = Server::start().await;
    server.role("default", "watcher", json!([rule("", &["configmaps"], &["watch"])])).await;
    server.bind("default", "Role/watcher", "User/jane").await;
    let request = ::http::Request::builder()
        .uri(format!("{}{MAPS}?watch=1", server.running.url()))
        .header("impersonate-user", "jane")
        .body(http_body_util::Full::new(bytes::Bytes::new()))
        .unwrap();
    let mut watch = server.http.request(request).await.unwrap().into_body();
    let gone = server.json("DELETE", &format!("{RBAC}/namespaces/default/roles/watcher"), Value::Null).await;
    assert_eq!(gone.status, 200);
    let refused = server.as_user("jane", "GET", &format!("{MAPS}?watch=1"), Value::Null).await;
    let why = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(why.ends_with(": RBAC: role.rbac.authorization.k8s.io \"watcher\" not found"), "{why}");
    server.json("POST", MAPS, map("later")).await;
    let seen = async {
        let mut text = String::new();
        while !text.contains("later") {
            let frame = watch.frame().await.expect("the watch goes on").unwrap();
            text.push_str(&String::from_utf8_lossy(frame.data_ref().unwrap()));
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), seen).await.expect("an event");
}

#[tokio::test]
async fn the_rules_of_an_aggregated_role_are_those_of_the_roles_it_selects() {
    let server = Server::start().await;
    let part = json!({"metadata": {"name": "part", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
        "rules": [rule("x.io", &["nets"], &["list"])]});
    server.bind("default", "ClusterRole/view", "User/jane").await;
    server.bind("default", "ClusterRole/admin", "User/kim").await;
    let nets = "/apis/x.io/v1/namespaces/default/nets";
    assert_eq!((server.get_as("jane", nets).await, server.get_as("kim", nets).await), (403, 403));
    assert_eq!(server.json("POST", &format!("{RBAC}/clusterroles"), part).await.status, 201);
    // Authorized, but not served.
    assert_eq!((server.get_as("jane", nets).await, server.get_as("kim", nets).await), (404, 404));
    assert_eq!(server.get_as("jane", MAPS).await, 200);
    let secrets = "/api/v1/namespaces/default/secrets";
    assert_eq!((server.get_as("jane", secrets).await, server.get_as("kim", secrets).await), (403, 200));
    assert_eq!(server.get_as("kim", "/api/v1/namespaces/kube-system/secrets").await, 403);
}

#[tokio::test]
async fn reviews_say_what_is_allowed_and_by_which_binding() {
    let server = Server::start().await;
    server.role("default", "reader", json!([rule("", &["configmaps"], &["get"])])).await;
    server.bind("default", "Role/reader", "Group/devs").await;
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let spec = |verb: &str| json!({"verb": verb, "resource": "configmaps", "namespace": "default"});
    let ask = async |user: &str, verb: &str| {
        let answer = server.as_user(user, "POST", reviews, json!({"spec": {"resourceAttributes": spec(verb)}})).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.json()["status"].clone()
    };
    let yes = ask("jane devs", "get").await;
    assert_eq!(yes["allowed"], true);
    let reason = yes["reason"].as_str().unwrap();
    assert!(reason.starts_with("RBAC: allowed by RoleBinding \"b-"), "{reason}");
    assert!(reason.ends_with("/default\" of Role \"reader\" to Group \"devs\""), "{reason}");
    assert_eq!(ask("jane devs", "update").await, json!({"allowed": false}));
    assert_eq!(ask("boss system:masters", "update").await, json!({"allowed": true}));

    let others = json!({"spec": {"user": "jane", "groups": ["devs"], "resourceAttributes": spec("get")}});
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    assert_eq!(server.json("POST", path, others.clone()).await.json()["status"]["allowed"], true);
    assert_eq!(server.as_user("jane", "POST", path, others.clone()).await.status, 403);
    let local = |ns: &str| format!("/apis/authorization.k8s.io/v1/namespaces/{ns}/localsubjectaccessreviews");
    let answer = server.json("POST", &local("default"), others.clone()).await.json();
    assert_eq!((&answer["status"]["allowed"], &answer["metadata"]), (&json!(true), &json!({"namespace": "default"})));
    assert_eq!(server.json("POST", &local("kube-system"), others).await.status, 422);

    let rules = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let of = json!({"spec": {"namespace": "default"}});
    let answer = server.as_user("jane devs", "POST", rules, of).await.json();
    let listed = answer["status"]["resourceRules"].as_array().unwrap();
    assert!(listed.contains(&rule("", &["configmaps"], &["get"])), "{answer}");
    assert_eq!(server.as_user("jane", "POST", rules, json!({"spec": {}})).await.status, 400);
}

#[tokio::test]
async fn who_impersonates_needs_permission_for_all_that_is_named() {
    let tokens = StaticTokens::parse("t1,host,1\nt2,plain,2,devs\n").unwrap();
    let server = Server::with(Options::default().tokens(tokens)).await;
    let mut account = rule("", &["serviceaccounts"], &["impersonate"]);
    account["resourceNames"] = json!(["robot"]);
    server.json("POST", "/api/v1/namespaces", json!({"metadata": {"name": "team"}})).await;
    server.role("team", "robot", json!([account])).await;
    server.bind("team", "Role/robot", "User/host").await;
    server.role("default", "maps", json!([rule("", &["configmaps"], &["list"])])).await;
    server.bind("default", "Role/maps", "ServiceAccount/team/robot").await;
    let ask = async |token: &str, more: &[(&str, &str)]| {
        let token = format!("Bearer {token}");
        let mut headers = vec![("authorization", token.as_str())];
        headers.extend(more);
        server.send_with(&headers, "GET", MAPS, "").await
    };
    let robot = ("impersonate-user", "system:serviceaccount:team:robot");
    assert_eq!(ask("t1", &[robot]).await.status, 200);
    assert_eq!(ask("t1", &[]).await.status, 403);
    let refused = ask("t1", &[("impersonate-user", "system:serviceaccount:team:other")]).await.json();
    assert_eq!(
        refused["message"],
        "configmaps is forbidden: User \"host\" cannot impersonate-on:serviceaccount:list resource \"configmaps\" in API group \
         \"\" in the namespace \"default\""
    );
    let refused = ask("t1", &[robot, ("impersonate-group", "system:masters")]).await.json();
    assert!(refused["message"].as_str().unwrap().starts_with("groups \"system:masters\" is forbidden"), "{refused}");
    let refused = ask("t2", &[("impersonate-user", "jane")]).await.json();
    let refusal = refused["message"].as_str().unwrap();
    assert!(refusal.contains("User \"plain\" cannot impersonate-on:user-info:list resource \"configmaps\""));
    assert_eq!(server.send_with(&[("impersonate-group", "x")], "GET", MAPS, "").await.status, 400);
}

#[tokio::test]
async fn a_token_is_its_owner_and_an_unknown_one_is_nobody() {
    let tokens = StaticTokens::parse("t2,plain,2,devs\n").unwrap();
    let server = Server::with(Options::default().tokens(tokens)).await;
    let who = async |token: &str| {
        let token = format!("Bearer {token}");
        let headers = [("authorization", token.as_str()), ("content-type", "application/json")];
        let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        server.send_with(&headers, "POST", path, "{}").await
    };
    let user = who("t2").await.json()["status"]["userInfo"].clone();
    assert_eq!(user, json!({"username": "plain", "uid": "2", "groups": ["devs", "system:authenticated"]}));
    let unknown = who("t3").await;
    assert_eq!((unknown.status, &unknown.json()["reason"]), (401, &json!("Unauthorized")));
    let path = "/api/v1/namespaces/default/serviceaccounts/default/token";
    let issued = server.json("POST", path, json!({"spec": {}})).await.json()["status"]["token"].clone();
    let user = who(issued.as_str().unwrap()).await.json()["status"]["userInfo"].clone();
    assert_eq!(user["username"], "system:serviceaccount:default:default");
}

#[tokio::test]
async fn nobody_grants_what_he_does_not_have() {
    let server = Server::start().await;
    let roles = format!("{RBAC}/namespaces/default/roles");
    let bindings = format!("{RBAC}/namespaces/default/rolebindings");
    server.bind("default", "ClusterRole/admin", "User/jane").await;
    let role = |name: &str, resource: &str| json!({"metadata": {"name": name}, "rules": [rule("", &[resource], &["get", "list"])]});
    assert_eq!(server.as_user("jane", "POST", &roles, role("a", "pods")).await.status, 201);
    let answer = server.as_user("jane", "POST", &roles, role("b", "nodes")).await;
    assert_eq!(answer.status, 403);
    assert_eq!(
        answer.json()["message"],
        "roles.rbac.authorization.k8s.io \"b\" is forbidden: user \"jane\" (groups=[\"system:authenticated\"]) is attempting to \
         grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\" \"list\"]}"
    );
    assert_eq!(server.as_user("jane", "PUT", &format!("{roles}/a"), role("a", "nodes")).await.status, 403);
    let binding = |name: &str, role: &str| {
        json!({"metadata": {"name": name}, "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "User", "apiGroup": GROUP, "name": "kim"}]})
    };
    assert_eq!(server.as_user("jane", "POST", &bindings, binding("a", "view")).await.status, 201);
    assert_eq!(server.as_user("jane", "POST", &bindings, binding("b", "cluster-admin")).await.status, 403);
    let mut bind = rule(GROUP, &["clusterroles"], &["bind"]);
    bind["resourceNames"] = json!(["cluster-admin"]);
    server.role("default", "binder", json!([bind, rule(GROUP, &["roles"], &["escalate"])])).await;
    server.bind("default", "Role/binder", "User/jane").await;
    assert_eq!(server.as_user("jane", "POST", &bindings, binding("b", "cluster-admin")).await.status, 201);
    assert_eq!(server.as_user("jane", "POST", &roles, role("b", "nodes")).await.status, 201);
}

/// Servers beside the API server are bound to this role, which every cluster has.
#[tokio::test]
async fn an_auth_delegator_may_ask_who_somebody_is_and_what_they_may_do() {
    let server = Server::start().await;
    let subject = json!([{"kind": "User", "name": "gate", "apiGroup": GROUP}]);
    let role = json!({"apiGroup": GROUP, "kind": "ClusterRole", "name": "system:auth-delegator"});
    let binding = json!({"metadata": {"name": "gate"}, "subjects": subject, "roleRef": role});
    assert_eq!(server.json("POST", &format!("{RBAC}/clusterrolebindings"), binding).await.status, 201);
    for (path, spec) in [
        ("/apis/authentication.k8s.io/v1/tokenreviews", json!({"token": "unknown"})),
        (
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            json!({"user": "jane", "nonResourceAttributes": {"path": "/x", "verb": "get"}}),
        ),
    ] {
        let answer = server.as_user("gate", "POST", path, json!({"spec": spec})).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
    }
    assert_eq!(server.get_as("gate", MAPS).await, 403);
}
