/* Memory that is freed all at once. */
#ifndef OARLOCK_MEM_H
#define OARLOCK_MEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Blocks that live together and go together. Nothing in it is freed by itself. */
typedef struct oarlock_mem oarlock_mem;

/* A new one, without a block. The caller owns it: oarlock_mem_free. */
oarlock_mem *oarlock_mem_new(void);
/* Frees it and everything in it. NULL does nothing. */
void oarlock_mem_free(oarlock_mem *mem);
/* `size` zeroed bytes, aligned for any type; they live as long as `mem`. Never NULL: where there is no memory left, the call ends. */
void *oarlock_alloc(oarlock_mem *mem, size_t size);
/* A copy of `len` bytes with a NUL after them. */
char *oarlock_copy(oarlock_mem *mem, const void *bytes, size_t len);
/* Text as by printf. */
char *oarlock_text(oarlock_mem *mem, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What malloc gave becomes part of `mem`, which frees it. */
void oarlock_adopt(oarlock_mem *mem, void *block);

/* Says why at level error, with printf's format, and ends the call as a failure of the plugin (a trap). Returns to nobody. */
void oarlock_panic(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#ifdef __cplusplus
}
#endif
#endif
