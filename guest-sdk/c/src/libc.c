/* What the C library asks of its system, in a component: lines of output go to the log, ends are told. So a plugin that prints imports nothing
 * but the contract. What else a program asks of WASI (clocks, files) stays an import, and the host answers or refuses it. */
#include "host.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The library calls these names; they are imports only where nobody defines them. Results are WASI's error numbers. */
#define WASI(name) __imported_wasi_snapshot_preview1_##name

enum { DONE = 0, BAD_DESCRIPTOR = 8, NO_SEEK = 70, CHARACTER_DEVICE = 2 };

typedef struct {
    const char *bytes;
    size_t len;
} buffer;

/* The line that has no end yet. Longer ones than the host keeps are cut into several. */
typedef struct {
    char text[4096];
    size_t len;
} line;

static line out, err;

static void flush(line *to) {
    size_t len = to->len;
    /* First: a panic while it is logged flushes again. */
    to->len = 0;
    host_log(to == &out ? OARLOCK_INFO : OARLOCK_WARN, to->text, len, NULL);
}

void host_flush(void) {
    if (out.len) flush(&out);
    if (err.len) flush(&err);
}

int32_t WASI(fd_write)(int32_t fd, const buffer *buffers, size_t count, size_t *written) {
    if (fd != 1 && fd != 2) return BAD_DESCRIPTOR;
    line *to = fd == 1 ? &out : &err;
    *written = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; at < buffers[i].len; at++) {
            if (buffers[i].bytes[at] == '\n') {
                flush(to);
                continue;
            }
            if (to->len == sizeof to->text) flush(to);
            to->text[to->len++] = buffers[i].bytes[at];
        }
        *written += buffers[i].len;
    }
    return DONE;
}

/* A character device: then the library hands over each line at once. */
int32_t WASI(fd_fdstat_get)(int32_t fd, uint8_t *status) {
    if (fd < 0 || fd > 2) return BAD_DESCRIPTOR;
    memset(status, 0, 24);
    *status = CHARACTER_DEVICE;
    return DONE;
}

int32_t WASI(fd_seek)(int32_t fd, int64_t offset, int32_t whence, int64_t *at) {
    (void)offset, (void)whence, (void)at;
    return fd < 0 || fd > 2 ? BAD_DESCRIPTOR : NO_SEEK;
}

int32_t WASI(fd_close)(int32_t fd) { return fd < 0 || fd > 2 ? BAD_DESCRIPTOR : DONE; }

_Noreturn void WASI(proc_exit)(int32_t code) { oarlock_panic("exit(%d) was called", (int)code); }

_Noreturn void abort(void) { host_panic("abort() was called"); }

_Noreturn void __assert_fail(const char *expression, const char *file, int at, const char *function) {
    oarlock_panic("assertion failed: %s, %s:%d, in %s", expression, file, at, function);
}
