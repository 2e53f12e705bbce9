/* Runs the reconciler natively: make unit. */
#include <oarlock/testing.h>

static oarlock_test *with_object(void) {
    oarlock_test *t = oarlock_test_new(&oarlock_plugin);
    oarlock_test_object(t, "{'apiVersion': '{{api_version}}', 'kind': '{{kind}}', 'metadata': {'name': 'a'{{namespace_c}}}{{fields_c}}}");
    return t;
}

static const char *greeting(oarlock_test *t) {
    return json_text(json_path(oarlock_test_current(t), "metadata", "annotations", "example.com/greeting"));
}

static void it_greets_and_leaves_it_at_that(void) {
    oarlock_test *t = with_object();
    const oarlock_report *report = oarlock_test_reconcile(t);
    OARLOCK_CHECK(report->patched && report->in_sync && !report->error);
    OARLOCK_CHECK_TEXT(greeting(t), "Hello, a");
    OARLOCK_CHECK_JSON(report->events, "[{'severity': 'normal', 'reason': 'Greeted', 'message': 'Hello, a'}]");
    report = oarlock_test_reconcile(t);
    OARLOCK_CHECK(report->in_sync && !report->patched);
    oarlock_test_free(t);
}

static void the_word_is_configured(void) {
    oarlock_test *t = with_object();
    oarlock_test_config(t, "greeting", "Hi");
    oarlock_test_edit(t, "{'metadata': {'annotations': {'example.com/greeting': 'Hello, a'}}}");
    oarlock_test_reconcile(t);
    OARLOCK_CHECK_TEXT(greeting(t), "Hi, a");
    oarlock_test_free(t);
}

static void a_config_map_of_the_namespace_overrides_the_word(void) {
    oarlock_test *t = with_object();
    oarlock_test_reconcile(t);
    oarlock_test_put(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'greeting'{{namespace_c}}},"
        " 'data': {'greeting': 'Welcome'}}");
    oarlock_test_reconcile(t);
    OARLOCK_CHECK_TEXT(greeting(t), "Welcome, a");
    oarlock_test_free(t);
}

static void an_object_that_is_going_is_left_alone(void) {
    oarlock_test *t = with_object();
    oarlock_test_reconcile(t);
    oarlock_test_delete(t);
    const oarlock_report *report = oarlock_test_reconcile(t);
    OARLOCK_CHECK(report->in_sync && !report->patched);
    oarlock_test_free(t);
}

int main(void) {
    OARLOCK_RUN(it_greets_and_leaves_it_at_that);
    OARLOCK_RUN(the_word_is_configured);
    OARLOCK_RUN(a_config_map_of_the_namespace_overrides_the_word);
    OARLOCK_RUN(an_object_that_is_going_is_left_alone);
    return oarlock_test_end();
}
