/* A double of NVIDIA's management library (NVML) that reports the version of the driver and nothing else:
 * loaded with the double of the CUDA driver, which sets the version. It is no driver. */
#include <stdio.h>

enum { kOk = 0, kTooSmall = 7, kUnknown = 999 };

static long installed = 580;

/* Sets the driver's release branch. 0: the version is not known. */
void sotto_double_driver(long branch) {
    installed = branch;
}

int nvmlInit_v2(void) {
    return kOk;
}

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
    if (installed == 0) {
        return kUnknown;
    }
    return snprintf(version, length, "%ld.88", installed) < (int)length ? kOk : kTooSmall;
}
