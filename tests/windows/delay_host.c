/* A host that knows nothing of our header, and loads the library when it first calls it. No C library
 * either: what the linker asks for is all here. Prints the library's version. */
#include <stddef.h>

typedef struct text {
    const char* data;
    size_t size;
} text;

text sotto_version(void); /* without dllimport */

/* Of kernel32. */
__declspec(dllimport) void __stdcall ExitProcess(unsigned status);
__declspec(dllimport) void* __stdcall GetModuleHandleA(const char* name);
__declspec(dllimport) void* __stdcall GetProcAddress(void* module, const char* name);
__declspec(dllimport) void* __stdcall GetStdHandle(unsigned which);
__declspec(dllimport) void* __stdcall LoadLibraryA(const char* name);
__declspec(dllimport) int __stdcall WriteFile(void* file, const void* from, unsigned, unsigned*, void*);

/* As linkers write it for each library that is loaded late; addresses count from the image's first byte. */
typedef struct late_library {
    unsigned attributes;
    unsigned name;
    unsigned module;
    unsigned addresses;
    unsigned names;
    unsigned bound;
    unsigned unload;
    unsigned time;
} late_library;

extern const char __ImageBase[];

/* What a call comes to the first time. Microsoft's and MinGW's libraries have one of this name. */
void* __delayLoadHelper2(const late_library* library, void** called);
void* __delayLoadHelper2(const late_library* library, void** called) {
    void** addresses = (void**)(__ImageBase + library->addresses);
    const size_t* names = (const size_t*)(__ImageBase + library->names);
    void* module = LoadLibraryA(__ImageBase + library->name);
    const size_t name = names[called - addresses];
    const int by_number = name >> 63 != 0;
    if (module == NULL || by_number) {
        ExitProcess(3);
    }
    *called = GetProcAddress(module, __ImageBase + name + sizeof(short)); /* after its hint */
    if (*called == NULL) {
        ExitProcess(4);
    }
    return *called;
}

void start(void);
void start(void) {
    if (GetModuleHandleA("sotto.dll") != NULL) {
        ExitProcess(1); /* it was not late */
    }
    const text version = sotto_version();
    const unsigned output = (unsigned)-11;
    unsigned written = 0;
    WriteFile(GetStdHandle(output), version.data, (unsigned)version.size, &written, NULL);
    ExitProcess(GetModuleHandleA("sotto.dll") != NULL && written == version.size ? 0 : 2);
}
