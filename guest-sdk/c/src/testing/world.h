/* What surrounds a reconciler in a native test. Private to the SDK. */
#ifndef OARLOCK_WORLD_H
#define OARLOCK_WORLD_H

#include "../host.h"
#include "../json.h"
#include "oarlock/testing.h"

typedef struct record {
    const char *api_version, *kind, *ns, *name;
    const json *object;
    /* The plugin's last apply: the document, and what it made the plugin's. */
    const json *applied, *owned;
    struct record *next;
} record;

typedef struct cached {
    const char *key;
    oarlock_bytes value;
    /* 0: never. */
    uint64_t expires_ms;
    struct cached *next;
} cached;

typedef struct awaited {
    oarlock_exchange exchange;
    struct awaited *next;
} awaited;

struct oarlock_test {
    /* As long as the test. */
    oarlock_mem *mem;
    const oarlock_reconciler *reconciler;
    /* As the host reads it. */
    const json *manifest;
    json *config;
    record *records;
    cached *cache;
    awaited *exchanges, *last_exchange;
    json *log, *requests;
    uint64_t now_ms, written;
    bool dry_run;
    /* Only the log works. */
    bool converting;
    /* The primary object. */
    oarlock_kind kind;
    const char *ns, *name, *uid;
    const json *last_seen;
    /* What was written into its status, as {'status': …}. */
    const json *status;
    uint32_t attempt;
};

/* The test whose reconciler runs: the host's functions know no other way to it. */
extern oarlock_test *oarlock_running;

record *world_find(oarlock_test *t, oarlock_kind kind, const char *ns, const char *name);
/* Creates or replaces an object: gives it a uid and a resourceVersion. NULL: it has no kind or name. */
record *world_store(oarlock_test *t, const json *object);
void world_remove(oarlock_test *t, record *gone);
/* What the plugin owns of an object. */
const json *world_applied(oarlock_test *t, const record *of);
/* `object` with all of `now`, and without what `before` said and `now` does not. `before` may be NULL. Lists are taken as a whole. */
const json *world_over(oarlock_mem *mem, const json *object, const json *before, const json *now);
/* Carries out a change. `reviewed`: the object under review, which it may change. NULL: well done; else why not. */
const char *world_carry_out(oarlock_test *t, const oarlock_change *change, const json **reviewed);
/* A copy that lives as long as the test, as it would cross the boundary. */
const json *world_keep(oarlock_test *t, const json *value, const char *what);
const char *world_text(oarlock_test *t, const char *text);
/* Whether an index of the manifest has `wanted` for the object. */
bool world_indexed(oarlock_mem *mem, const json *index, const json *object, const char *wanted);
/* RFC 6902. NULL: it does not fit, and `*problem` says why. */
const json *world_json_patch(oarlock_mem *mem, const json *document, const json *patch, const char **problem);

/* An error that lives as long as the test. */
const oarlock_error *world_keep_error(oarlock_test *t, const oarlock_error *error);

#endif
