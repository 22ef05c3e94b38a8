/* A library by the name of the plugin: of another version, or with none of its functions. */
#include <sotto/base.h>

#if defined(SOTTO_OTHER_ABI)
SOTTO_API uint32_t sotto_unity_abi(void) {
    return 99;
}
#else
SOTTO_API uint32_t unrelated(void) {
    return 0;
}
#endif
