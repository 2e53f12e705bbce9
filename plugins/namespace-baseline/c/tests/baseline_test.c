/* The baseline, natively. */
#include <oarlock/testing.h>

static const oarlock_kind QUOTA = {"v1", "ResourceQuota"};
static const oarlock_kind POLICY = {"networking.k8s.io/v1", "NetworkPolicy"};

#define DEFAULT_HARD "{'pods': '50', 'requests.cpu': '10', 'requests.memory': '20Gi'}"

static oarlock_test *with_namespace(const char *label) {
    oarlock_test *t = oarlock_test_new(&oarlock_plugin);
    oarlock_test_object(t, "{'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'shop', 'uid': 'u-1', 'labels': {%s: 'true'}}}", label);
    return t;
}

static oarlock_test *with_baseline(void) {
    oarlock_test *t = with_namespace("oarlock.dev/baseline");
    OARLOCK_CHECK(oarlock_test_reconcile(t)->in_sync);
    return t;
}

static const json *hard(oarlock_test *t) { return json_path(oarlock_test_get(t, QUOTA, "shop", "baseline"), "spec", "hard"); }

static const json *directions(oarlock_test *t) {
    return json_path(oarlock_test_get(t, POLICY, "shop", "default-deny"), "spec", "policyTypes");
}

static void a_namespace_that_asks_gets_both(void) {
    oarlock_test *t = with_namespace("oarlock.dev/baseline");
    oarlock_mem *mem = oarlock_mem_new();
    const json *owner = json_make(mem, "{'apiVersion': 'v1', 'kind': 'Namespace', 'name': 'shop', 'uid': 'u-1', 'controller': true}");
    const json *quota = json_make(mem,
        "{'apiVersion': 'v1', 'kind': 'ResourceQuota', 'metadata': {'name': 'baseline', 'namespace': 'shop', 'ownerReferences': [%j]}, 'spec': {'hard': " DEFAULT_HARD "}}", owner);
    const json *policy = json_make(mem,
        "{'apiVersion': 'networking.k8s.io/v1', 'kind': 'NetworkPolicy', 'metadata': {'name': 'default-deny', 'namespace': 'shop', 'ownerReferences': [%j]},"
        " 'spec': {'podSelector': {}, 'policyTypes': ['Ingress']}}", owner);
    const oarlock_report *report = oarlock_test_reconcile(t);
    OARLOCK_CHECK(report->in_sync && !report->before);
    OARLOCK_CHECK_JSON(report->desired, "{'quota': %j, 'networkPolicy': %j}", quota, policy);
    OARLOCK_CHECK_JSON(report->changes, "[{'apply': %j}, {'apply': %j}]", quota, policy);
    OARLOCK_CHECK_JSON(report->events, "[{'severity': 'normal', 'reason': 'BaselineWritten', 'message': 'quota baseline and network policy default-deny written'}]");
    OARLOCK_CHECK(!oarlock_test_reconcile(t)->patched);
    oarlock_mem_free(mem);
    oarlock_test_free(t);
}

static void one_that_does_not_ask_gets_nothing(void) {
    oarlock_test *t = with_namespace("team");
    const oarlock_report *report = oarlock_test_reconcile(t);
    OARLOCK_CHECK(report->in_sync && !report->patched && !report->desired);
    oarlock_test_edit(t, "{'metadata': {'labels': {'oarlock.dev/baseline': 'yes'}}}");
    OARLOCK_CHECK(!oarlock_test_reconcile(t)->desired);
    oarlock_test_edit(t, "{'metadata': {'labels': null}}");
    OARLOCK_CHECK(!oarlock_test_reconcile(t)->desired);
    oarlock_test_free(t);
}

static void one_that_no_longer_asks_loses_both(void) {
    oarlock_test *t = with_baseline();
    oarlock_test_edit(t, "{'metadata': {'labels': {'oarlock.dev/baseline': 'false'}}}");
    const oarlock_report *report = oarlock_test_reconcile(t);
    OARLOCK_CHECK_JSON(report->changes,
        "[{'delete': {'apiVersion': 'v1', 'kind': 'ResourceQuota', 'namespace': 'shop', 'name': 'baseline'}},"
        " {'delete': {'apiVersion': 'networking.k8s.io/v1', 'kind': 'NetworkPolicy', 'namespace': 'shop', 'name': 'default-deny'}}]");
    OARLOCK_CHECK_JSON(report->events, "[{'severity': 'normal', 'reason': 'BaselineRemoved', 'message': 'quota baseline and network policy default-deny removed'}]");
    OARLOCK_CHECK(report->in_sync && !hard(t) && !directions(t));
    oarlock_test_free(t);
}

static void only_what_differs_is_written(void) {
    oarlock_test *t = with_baseline();
    oarlock_test_remove(t, POLICY, "shop", "default-deny");
    const oarlock_report *report = oarlock_test_reconcile(t);
    OARLOCK_CHECK(report->in_sync && json_count(report->changes) == 1 && json_count(report->events) == 1);
    OARLOCK_CHECK_JSON(json_path(json_at(report->changes, 0), "apply", "kind"), "'NetworkPolicy'");
    oarlock_test_put(t, "{'apiVersion': 'v1', 'kind': 'ResourceQuota', 'metadata': {'name': 'baseline', 'namespace': 'shop'}, 'spec': {'hard': {'pods': '1'}}}");
    report = oarlock_test_reconcile(t);
    OARLOCK_CHECK(report->in_sync && json_count(report->changes) == 1);
    OARLOCK_CHECK_JSON(hard(t), DEFAULT_HARD);
    oarlock_test_free(t);
}

static void one_of_two_that_is_left_is_removed(void) {
    oarlock_test *t = with_baseline();
    oarlock_test_remove(t, QUOTA, "shop", "baseline");
    oarlock_test_edit(t, "{'metadata': {'labels': null}}");
    const oarlock_report *report = oarlock_test_reconcile(t);
    OARLOCK_CHECK(report->in_sync && json_count(report->changes) == 1 && json_count(report->events) == 1);
    oarlock_test_free(t);
}

static void the_quota_is_the_configurations_or_the_annotations(void) {
    oarlock_test *t = with_namespace("oarlock.dev/baseline");
    oarlock_test_config(t, "quota", "{\"pods\":\"7\"}");
    OARLOCK_CHECK(oarlock_test_reconcile(t)->in_sync);
    OARLOCK_CHECK_JSON(hard(t), "{'pods': '7'}");
    oarlock_test_edit(t, "{'metadata': {'annotations': {'baseline.oarlock.dev/quota': %s}}}", "{\"requests.cpu\": \"1\"}");
    OARLOCK_CHECK(oarlock_test_reconcile(t)->in_sync);
    OARLOCK_CHECK_JSON(hard(t), "{'requests.cpu': '1'}");
    oarlock_test_edit(t, "{'metadata': {'annotations': null}}");
    OARLOCK_CHECK(oarlock_test_reconcile(t)->in_sync);
    OARLOCK_CHECK_JSON(hard(t), "{'pods': '7'}");
    oarlock_test_free(t);
}

static void a_quota_that_is_no_object_of_strings_is_the_objects_fault(void) {
    static const char *const wrong[] = {"", "x", "[]", "\"pods\"", "null", "{\"pods\":50}", "{\"pods\":\"50\"", "{\"pods\":{}}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        oarlock_test *t = with_namespace("oarlock.dev/baseline");
        oarlock_test_edit(t, "{'metadata': {'annotations': {'baseline.oarlock.dev/quota': %s}}}", wrong[i]);
        const oarlock_report *report = oarlock_test_reconcile(t);
        OARLOCK_CHECK(report->error && report->error->type == OARLOCK_TERMINAL);
        OARLOCK_CHECK_TEXT(report->error ? report->error->message : NULL, "annotation baseline.oarlock.dev/quota is not a JSON object of strings");
        oarlock_test_free(t);
    }
    oarlock_test *t = with_namespace("oarlock.dev/baseline");
    oarlock_test_config(t, "quota", "{\"pods\":50}");
    const oarlock_report *report = oarlock_test_reconcile(t);
    OARLOCK_CHECK(report->error && report->error->type == OARLOCK_TERMINAL);
    OARLOCK_CHECK_TEXT(report->error ? report->error->message : NULL, "config quota is not a JSON object of strings");
    oarlock_test_free(t);
}

static void the_label_and_egress_are_configured(void) {
    oarlock_test *t = with_namespace("team/closed");
    oarlock_test_config(t, "label", "team/closed");
    oarlock_test_config(t, "denyEgress", "true");
    OARLOCK_CHECK(oarlock_test_reconcile(t)->in_sync);
    OARLOCK_CHECK_JSON(directions(t), "['Ingress', 'Egress']");
    oarlock_test_config(t, "denyEgress", "false");
    OARLOCK_CHECK(oarlock_test_reconcile(t)->in_sync);
    OARLOCK_CHECK_JSON(directions(t), "['Ingress']");
    oarlock_test_free(t);
}

static void what_is_in_a_namespace_goes_with_it(void) {
    oarlock_test *t = with_baseline();
    oarlock_test_edit(t, "{'metadata': {'deletionTimestamp': '2026-01-01T00:00:00Z'}}");
    const oarlock_report *report = oarlock_test_reconcile(t);
    OARLOCK_CHECK(report->in_sync && !report->patched);
    t = (oarlock_test_free(t), with_baseline());
    oarlock_test_delete(t);
    report = oarlock_test_reconcile(t);
    OARLOCK_CHECK(report->in_sync && !report->patched);
    oarlock_test_free(t);
}

int main(void) {
    OARLOCK_RUN(a_namespace_that_asks_gets_both);
    OARLOCK_RUN(one_that_does_not_ask_gets_nothing);
    OARLOCK_RUN(one_that_no_longer_asks_loses_both);
    OARLOCK_RUN(only_what_differs_is_written);
    OARLOCK_RUN(one_of_two_that_is_left_is_removed);
    OARLOCK_RUN(the_quota_is_the_configurations_or_the_annotations);
    OARLOCK_RUN(a_quota_that_is_no_object_of_strings_is_the_objects_fault);
    OARLOCK_RUN(the_label_and_egress_are_configured);
    OARLOCK_RUN(what_is_in_a_namespace_goes_with_it);
    return oarlock_test_end();
}
