/* Blocks in a list; small allocations share one. */
#include "oarlock/mem.h"
#include "host.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Small enough for a call that does little, large enough that a larger one takes few. */
enum { BLOCK = 4096, LARGEST_BLOCK = 256 * 1024 };

union any {
    long long integer;
    long double real;
    void *pointer;
};

typedef struct block {
    struct block *next;
    size_t used, size;
    union any bytes[];
} block;

typedef struct adopted {
    struct adopted *next;
    void *bytes;
} adopted;

struct oarlock_mem {
    block *blocks;
    adopted *adopted;
    size_t next_size;
};

static void *must(void *bytes) {
    if (!bytes) host_panic("out of memory");
    return bytes;
}

oarlock_mem *oarlock_mem_new(void) {
    oarlock_mem *mem = must(calloc(1, sizeof *mem));
    mem->next_size = BLOCK;
    return mem;
}

void oarlock_mem_free(oarlock_mem *mem) {
    if (!mem) return;
    for (adopted *next, *one = mem->adopted; one; one = next) {
        next = one->next;
        free(one->bytes);
    }
    for (block *next, *one = mem->blocks; one; one = next) {
        next = one->next;
        free(one);
    }
    free(mem);
}

void *oarlock_alloc(oarlock_mem *mem, size_t size) {
    if (size > SIZE_MAX / 2) host_panic("out of memory");
    size = (size + sizeof(union any) - 1) / sizeof(union any) * sizeof(union any);
    block *first = mem->blocks;
    if (!first || first->size - first->used < size) {
        size_t room = mem->next_size > size ? mem->next_size : size;
        block *fresh = must(malloc(sizeof *fresh + room));
        *fresh = (block){.size = room};
        if (first && size >= mem->next_size) {
            /* One that is full at once: the block before has room for more. */
            fresh->next = first->next;
            first->next = fresh;
        } else {
            fresh->next = first;
            mem->blocks = fresh;
            if (mem->next_size < LARGEST_BLOCK) mem->next_size *= 2;
        }
        first = fresh;
    }
    void *bytes = (char *)first->bytes + first->used;
    first->used += size;
    return memset(bytes, 0, size);
}

char *oarlock_copy(oarlock_mem *mem, const void *bytes, size_t len) {
    char *copy = oarlock_alloc(mem, len + 1);
    if (len) memcpy(copy, bytes, len);
    return copy;
}

char *oarlock_vtext(oarlock_mem *mem, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (len < 0) return oarlock_copy(mem, format, strlen(format));
    char *text = oarlock_alloc(mem, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, arguments);
    return text;
}

char *oarlock_text(oarlock_mem *mem, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = oarlock_vtext(mem, format, arguments);
    va_end(arguments);
    return text;
}

void oarlock_adopt(oarlock_mem *mem, void *bytes) {
    if (!bytes) return;
    adopted *one = oarlock_alloc(mem, sizeof *one);
    *one = (adopted){mem->adopted, bytes};
    mem->adopted = one;
}

void oarlock_panic(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = oarlock_vtext(oarlock_mem_new(), format, arguments);
    va_end(arguments);
    host_panic(text);
}
