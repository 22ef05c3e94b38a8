// A library of another version: the stand-in for one that an update left behind.
#include <sotto/base.h>

extern "C" SOTTO_EXPORT sotto_str SOTTO_CALL sotto_version(void) {
    return {"9.1.0", 5};
}
