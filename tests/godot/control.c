/* A read of a freed block, which the sanitized build of the addon must report: a control of that test. */
#include <stdlib.h>

__attribute__((constructor)) static void read_after_free(void) {
    volatile char* block = malloc(16);
    free((void*)block);
    (void)block[3];
}
