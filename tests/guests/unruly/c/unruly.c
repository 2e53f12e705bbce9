/* Misbehaves in get-desired as the configuration's `mode` says; else behaves well. */
#define _GNU_SOURCE
#include "plugin.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED(name) exports_oarlock_reconciler_reconcile_##name

static const char manifest[] =
    "{\"apiVersion\":\"oarlock.dev/v1alpha1\",\"kind\":\"PluginManifest\",\"name\":\"unruly-c\",\"version\":\"0.1.0\","
    "\"primaries\":[{\"version\":\"v1\",\"kind\":\"ConfigMap\"}],"
    "\"config\":{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"mode\":{\"type\":\"string\"}}}}";

__attribute__((noinline)) static void inner(void) {
    fputs("the answer is 42\n", stderr);
    abort();
}

__attribute__((noinline)) static void outer(void) {
    inner();
    /* So that it is a call and no jump. */
    fputs("never\n", stderr);
}

/* C libraries without threads do not have it. */
#pragma weak pthread_create

static void *nothing(void *unused) { return unused; }

/* What a call of the system said, as the object's fault: whoever reads it sees that it came back. */
static bool told(EXPORTED(error_t) * err, const char *what, const char *said) {
    char text[256];
    snprintf(text, sizeof text, "%s: %s", what, said);
    err->tag = OARLOCK_RECONCILER_TYPES_ERROR_TERMINAL;
    plugin_string_dup(&err->val.terminal, text);
    return false;
}

static bool well(EXPORTED(option_json_t) * ret, const char *state) {
    ret->is_some = true;
    plugin_string_dup(&ret->val, state);
    return true;
}

static bool in_mode(const char *mode, EXPORTED(option_json_t) * ret, EXPORTED(error_t) * err) {
    if (!strcmp(mode, "throw")) outer();
    if (!strcmp(mode, "exit")) exit(3);
    if (!strcmp(mode, "print")) {
        printf("to stdout\n");
        fprintf(stderr, "to stderr\n");
        fflush(stdout);
    }
    if (!strcmp(mode, "sleep") && sleep(1)) return told(err, "sleep", strerror(errno));
    if (!strcmp(mode, "open")) {
        char line[128] = "empty";
        FILE *file = fopen("/etc/passwd", "r");
        if (!file) return told(err, "/etc/passwd", strerror(errno));
        return told(err, "/etc/passwd", fgets(line, sizeof line, file) ? line : "cannot be read");
    }
    if (!strcmp(mode, "env")) {
        const char *home = getenv("HOME");
        return told(err, "HOME", home ? home : "not set");
    }
    if (!strcmp(mode, "thread")) {
        pthread_t thread;
        if (!pthread_create) return told(err, "pthread_create", "this C library has no threads");
        int error = pthread_create(&thread, NULL, nothing, NULL);
        return told(err, "pthread_create", error ? strerror(error) : "a thread runs");
    }
    if (!strcmp(mode, "loop"))
        for (volatile unsigned turns = 0;; turns++) continue;
    if (!strcmp(mode, "chance")) {
        /* Not the same twice: clocks, random numbers, and what an earlier reconcile left in memory. */
        static unsigned calls;
        struct timespec wall, monotonic;
        unsigned long long number = 0;
        clock_gettime(CLOCK_REALTIME, &wall);
        clock_gettime(CLOCK_MONOTONIC, &monotonic);
        getentropy(&number, sizeof number);
        char state[256];
        snprintf(state, sizeof state, "{\"ok\":false,\"wall\":%lld.%09ld,\"monotonic\":%lld.%09ld,\"random\":\"%llx\",\"calls\":%u}",
                 (long long)wall.tv_sec, wall.tv_nsec, (long long)monotonic.tv_sec, monotonic.tv_nsec, number, ++calls);
        return well(ret, state);
    }
    if (!strcmp(mode, "nonsense")) return well(ret, "this is no JSON");
    return well(ret, "{\"ok\":true}");
}

void EXPORTED(describe)(EXPORTED(json_t) * ret) { plugin_string_dup(ret, manifest); }

bool EXPORTED(get_desired)(EXPORTED(request_t) * request, EXPORTED(option_json_t) * ret, EXPORTED(error_t) * err) {
    char mode[32] = "";
    plugin_string_t key, value;
    plugin_string_set(&key, "mode");
    if (oarlock_reconciler_config_get(&key, &value)) {
        if (value.len < sizeof mode) memcpy(mode, value.ptr, value.len);
        plugin_string_free(&value);
    }
    EXPORTED(request_free)(request);
    return in_mode(mode, ret, err);
}

bool EXPORTED(get_actual)(EXPORTED(request_t) * request, EXPORTED(observation_t) * ret, EXPORTED(error_t) * err) {
    (void)err;
    *ret = (EXPORTED(observation_t)){0};
    EXPORTED(request_free)(request);
    return well(&ret->state, "{\"ok\":true}");
}

bool EXPORTED(patch)(EXPORTED(request_t) * request, EXPORTED(json_t) * maybe_desired, EXPORTED(json_t) * maybe_actual,
                     EXPORTED(outcome_t) * ret, EXPORTED(error_t) * err) {
    (void)err;
    *ret = (EXPORTED(outcome_t)){0};
    EXPORTED(request_free)(request);
    if (maybe_desired) plugin_string_free(maybe_desired);
    if (maybe_actual) plugin_string_free(maybe_actual);
    return true;
}
