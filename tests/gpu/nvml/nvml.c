/* A double of NVIDIA's management library (NVML), as far as Sotto asks it: two cards, the second of which is
 * lost. It is no driver. SOTTO_NVML_LACKS, when it is built, leaves a function out. */
#include <string.h>

typedef struct nvmlDevice_st* Device;

typedef struct {
    unsigned long long total, free, used;
} Memory;

enum { kOk = 0, kUninitialized = 1, kBadArgument = 2, kTooSmall = 7, kLost = 15 };

static int began;
static char cards[2];

static int text(char* to, unsigned length, const char* what) {
    if (strlen(what) >= length) {
        return kTooSmall;
    }
    strcpy(to, what);
    return kOk;
}

int nvmlInit_v2(void) {
    began = 1;
    return kOk;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = 2;
    return began ? kOk : kUninitialized;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
    if (index >= 2) {
        return kBadArgument;
    }
    *device = (Device)&cards[index];
    return kOk;
}

int nvmlDeviceGetName(Device device, char* name, unsigned length) {
    return (char*)device == cards ? text(name, length, "A card of the double") : kLost;
}

int nvmlDeviceGetUUID(Device device, char* uuid, unsigned length) {
    return (char*)device == cards ? text(uuid, length, "GPU-00112233-4455-6677-8899-aabbccddeeff") : kLost;
}

#ifndef SOTTO_NVML_LACKS
int nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
    if ((char*)device != cards) {
        return kLost;
    }
    memory->total = 8ULL << 30;
    memory->used = 3ULL << 30;
    memory->free = memory->total - memory->used;
    return kOk;
}
#endif
