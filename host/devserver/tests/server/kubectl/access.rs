//! kubectl `auth` and `create token`.

use super::Kubectl;

#[tokio::test]
async fn auth_can_i_answers_for_oneself_and_others() {
    let Some(k) = Kubectl::start().await else { return };
    k.run("create role r --verb=get,list --resource=pods").await;
    k.run("create rolebinding b --role=r --serviceaccount=default:robot").await;
    let robot = "--as=system:serviceaccount:default:robot";
    k.prints(&[
        ("auth can-i create deployments", "yes"),
        ("auth can-i '*' '*'", "yes"),
        (&format!("auth can-i list pods {robot}"), "yes"),
        (&format!("auth can-i delete pods {robot} || true"), "no"),
        (&format!("auth can-i list pods -n kube-system {robot} || true"), "no"),
        (&format!("auth can-i get /healthz {robot}"), "yes"),
        (&format!("auth can-i get /metrics {robot} || true"), "no"),
    ])
    .await;
    let list = super::words(&k.run(&format!("auth can-i --list {robot}")).await);
    assert_eq!(list[0], "Resources Non-Resource URLs Resource Names Verbs");
    assert!(list.contains(&"pods [] [] [get list]".to_owned()), "{list:#?}");
}

#[tokio::test]
async fn auth_whoami_names_the_user() {
    let Some(k) = Kubectl::start().await else { return };
    k.prints(&[
        ("auth whoami", "ATTRIBUTE VALUE\nUsername system:admin\nGroups [system:masters system:authenticated]"),
        (
            "auth whoami --as=jane --as-group=dev -o jsonpath='{.status.userInfo.username} {.status.userInfo.groups}'",
            r#"jane ["dev","system:authenticated"]"#,
        ),
    ])
    .await;
}

#[tokio::test]
async fn auth_reconcile_makes_and_widens_roles() {
    let Some(k) = Kubectl::start().await else { return };
    let role = |verbs: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {{name: r, namespace: default}}\nrules:\n- {{apiGroups: [''], resources: [pods], verbs: [{verbs}]}}\n"
        )
    };
    k.file("get.yaml", &role("get"));
    k.file("list.yaml", &role("list"));
    k.run("auth reconcile -f get.yaml").await;
    k.run("auth reconcile -f list.yaml").await;
    k.prints(&[("get role r -o jsonpath='{.rules[*].verbs}'", r#"["get"] ["list"]"#)]).await;
}

#[tokio::test]
async fn a_token_of_a_service_account_is_held_to_its_roles() {
    let Some(k) = Kubectl::start().await else { return };
    k.run("create serviceaccount robot").await;
    k.run("create rolebinding b --clusterrole=view --serviceaccount=default:robot").await;
    let token = k.run("create token robot --duration=1h").await;
    // kubectl sends tokens only over TLS.
    let bearer = format!("Bearer {}", token.trim());
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let path = "/api/v1/namespaces/default/configmaps";
    assert_eq!(k.server.send_with(&headers, "GET", path, "").await.status, 200);
    let config_map = r#"{"metadata": {"name": "c"}}"#;
    assert_eq!(k.server.send_with(&headers, "POST", path, config_map).await.status, 403);
    k.fails(&[("create token nobody", "error: failed to create token: serviceaccounts \"nobody\" not found")]).await;
}

#[tokio::test]
async fn the_certificate_of_a_user_is_held_to_its_roles() {
    let authority = crate::https::Authority::new();
    let Some(k) = Kubectl::of(|| crate::https::start(&authority)).await else { return };
    k.run("create role r --verb=get,list --resource=configmaps").await;
    k.run("create rolebinding b --role=r --group=devs").await;
    let jane = authority.client("jane", "devs");
    k.file("jane", &crate::https::kubeconfig(&k.server, Some(&jane)));
    k.prints(&[
        ("--kubeconfig jane auth whoami", "ATTRIBUTE VALUE\nUsername jane\nGroups [devs system:authenticated]"),
        ("--kubeconfig jane auth can-i list configmaps", "yes"),
    ])
    .await;
    let refused = "Error from server (Forbidden): secrets is forbidden: User \"jane\" cannot list resource \"secrets\" in API group \"\" in \
                   the namespace \"default\"";
    k.fails(&[("--kubeconfig jane get secrets", refused)]).await;
    // Over HTTPS kubectl also sends tokens.
    k.run("create serviceaccount robot").await;
    let token = k.run("create token robot").await;
    k.prints(&[(
        &format!("--token {} auth whoami -o jsonpath='{{.status.userInfo.username}}'", token.trim()),
        "system:serviceaccount:default:robot",
    )])
    .await;
}
