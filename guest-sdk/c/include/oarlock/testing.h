/* Runs a reconciler natively, in a small program with checks: no WebAssembly, no cluster.
 *
 *     static void it_greets(void) {
 *         oarlock_test *t = oarlock_test_new(&oarlock_plugin);
 *         oarlock_test_object(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'a', 'namespace': 'default'}}");
 *         const oarlock_report *report = oarlock_test_reconcile(t);
 *         OARLOCK_CHECK(report->in_sync);
 *         oarlock_test_free(t);
 *     }
 *
 *     int main(void) {
 *         OARLOCK_RUN(it_greets);
 *         return oarlock_test_end();
 *     }
 *
 * It refuses what the host would refuse: kinds and origins the manifest does not ask for, writes in a dry run. It is no API server: no
 * schemas, no defaults, no conflicts between field managers, lists are applied as a whole, and it does no strategic merge. */
#ifndef OARLOCK_TESTING_H
#define OARLOCK_TESTING_H

#include "../oarlock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One reconciler, and a world of its own that stays between reconciles. */
typedef struct oarlock_test oarlock_test;

/* What one reconcile did. It lives as long as the test; values are read with the functions of json.h. */
typedef struct {
    /* The state the cluster asked for; the state the world was in; the state after the patch. NULL: none. */
    const json *desired, *before, *after;
    /* What the last observation said about the object. */
    const json *status;
    /* Whether `patch` was asked. */
    bool patched;
    /* No error, and nothing left to do. */
    bool in_sync;
    /* The object exists no more: `actual` said so while it was going. */
    bool gone;
    /* Arrays: {'apply': DOC}, {'create': DOC}, {'patch': {'target', 'type', 'patch'}}, {'delete': {…}} as in the files of `oarlock test`, with
     * 'force', 'subresource', 'ifUid' and 'ifResourceVersion' beside them where they are set; {'severity', 'reason', 'message'}; texts. */
    const json *changes, *events, *warnings;
    /* Arrays: {'method', 'url', 'headers', 'body'}; {'level', 'message', 'fields'}. */
    const json *requests, *log;
    /* What ended it early. */
    const oarlock_error *error;
    /* The earliest time the plugin asked to look again. 0: none. */
    uint64_t requeue_after_ms;
    /* Admission: the object as it was changed. */
    const json *object;
} oarlock_report;

/* An empty cluster, no configuration, nobody who answers HTTP. The caller frees it. */
oarlock_test *oarlock_test_new(const oarlock_reconciler *reconciler);
void oarlock_test_free(oarlock_test *t);

void oarlock_test_config(oarlock_test *t, const char *key, const char *value);
/* The primary object, created or replaced; it gets a uid when it has none. Text and places as of json_make, here and below. */
void oarlock_test_object(oarlock_test *t, const char *text, ...);
/* Another object, created or replaced as somebody else would. */
void oarlock_test_put(oarlock_test *t, const char *text, ...);
/* Changes the primary object by a merge patch, as its user would. */
void oarlock_test_edit(oarlock_test *t, const char *text, ...);
/* Deletes the primary object, as its user would. With `cleanup` in the manifest it stays until nothing is left. */
void oarlock_test_delete(oarlock_test *t);
/* Removes an object, as somebody else would. */
void oarlock_test_remove(oarlock_test *t, oarlock_kind kind, const char *ns, const char *name);
/* An object as it is, or NULL; the primary object. */
const json *oarlock_test_get(oarlock_test *t, oarlock_kind kind, const char *ns, const char *name);
const json *oarlock_test_current(oarlock_test *t);

/* The answer to a request. */
typedef struct {
    /* What the request must be; NULL: any. */
    const char *method;
    const char *url;
    /* No answer. */
    oarlock_http_failure failure;
    uint16_t status;
    /* NULL, or with one without a name at the end. */
    const oarlock_header *headers;
    const char *body;
} oarlock_exchange;

/* Answers the next request that no exchange before answers. */
void oarlock_test_http(oarlock_test *t, oarlock_exchange exchange);
/* Answers that no request has asked for. */
size_t oarlock_test_http_left(oarlock_test *t);

/* Nothing may change from now on. */
void oarlock_test_dry_run(oarlock_test *t);
/* Time passes: values in the cache expire. */
void oarlock_test_advance(oarlock_test *t, uint64_t ms);
/* The host restarts: the cache is empty. */
void oarlock_test_restart(oarlock_test *t);

/* One reconcile: desired, actual and, when the two differ, patch, the changes, and actual again. */
const oarlock_report *oarlock_test_reconcile(oarlock_test *t);
/* The same of an object under review. Both are JSON as json_make reads it, without places. */
const oarlock_report *oarlock_test_admit(oarlock_test *t, const char *object, const char *review);

/* An object, text and places as of json_make, in the API version `desired`: by the plugin's converter. An error is that of the converter, or
 * says what the host would refuse of its answer. */
const oarlock_error *oarlock_test_convert(oarlock_test *t, const char *desired, const json **converted, const char *text, ...);

/* ---- Checks: a failed one is told with its line, counted, and the test goes on ---- */

#define OARLOCK_CHECK(condition) oarlock_check((condition), __FILE__, __LINE__, #condition)
/* Two texts, or NULL. */
#define OARLOCK_CHECK_TEXT(found, expected) oarlock_check_text((found), (expected), __FILE__, __LINE__)
/* A value and what it must be: text and places as of json_make. */
#define OARLOCK_CHECK_JSON(found, ...) oarlock_check_json(__FILE__, __LINE__, (found), __VA_ARGS__)
/* Runs a `void test(void)`. */
#define OARLOCK_RUN(test) oarlock_test_run(#test, test)

bool oarlock_check(bool condition, const char *file, int line, const char *text);
bool oarlock_check_text(const char *found, const char *expected, const char *file, int line);
bool oarlock_check_json(const char *file, int line, const json *found, const char *expected, ...);
void oarlock_test_run(const char *name, void (*test)(void));
/* Tells how many failed. What `main` returns: 0 when none did. */
int oarlock_test_end(void);

#ifdef __cplusplus
}
#endif
#endif
