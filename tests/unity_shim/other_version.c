/* A library that calls itself Sotto, of a version that there will not be. */
#include <sotto/base.h>

sotto_str sotto_version(void) {
    static const char text[] = "99.7.5";
    return (sotto_str){text, sizeof(text) - 1};
}
