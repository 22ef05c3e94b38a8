#include "devices/cuda/libraries.hpp"

#include "devices/cuda/blas.hpp"
#include "runtime/fence.hpp"

#ifdef _WIN32
#  define WIN32_LEAN_AND_MEAN
#  include <windows.h>
#else
#  include <dlfcn.h>
#endif

SottoBlas sotto_blas;

#define SOTTO_TEXT(number) #number
#define SOTTO_TEXT_OF(macro) SOTTO_TEXT(macro)
#define SOTTO_MAJOR SOTTO_TEXT_OF(CUBLAS_VER_MAJOR)

namespace sotto::llama {
namespace {

constexpr int kLeastDriver = CUDART_VERSION / 10 * 10; // an older driver refuses PTX of this toolkit

#ifdef _WIN32
constexpr const char* kDriver = "nvcuda.dll";
constexpr const char* kBlas = "cublas64_" SOTTO_MAJOR ".dll";

void* open(const char* name, std::string& why) {
    auto* library = LoadLibraryExA(name, nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    if (library == nullptr) {
        why = std::string(name) + " cannot be opened: error " + std::to_string(GetLastError());
    }
    return library;
}

void* find(void* library, const char* name) {
    return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

std::string beside(const char*) {
    return {}; // the loader searches the module's folder anyway
}
#else
constexpr const char* kDriver = "libcuda.so.1";
constexpr const char* kBlas = "libcublas.so." SOTTO_MAJOR;

void* open(const char* name, std::string& why) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
        const char* error = dlerror();
        why = error != nullptr ? error : std::string(name) + " cannot be opened";
    }
    return library;
}

void* find(void* library, const char* name) {
    return dlsym(library, name);
}

// Returns the path of a file in the module's folder.
std::string beside(const char* name) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&open_blas), &info) == 0 || info.dli_fname == nullptr) {
        return {};
    }
    const std::string path = info.dli_fname;
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash + 1) + name;
}
#endif

class Finder {
public:
    explicit Finder(void* library) : library_(library) {}

    template <typename Function>
    void find(const char* name, Function& function) {
        function = reinterpret_cast<Function>(llama::find(library_, name));
        if (function == nullptr) {
            missing += (missing.empty() ? "" : ", ") + std::string(name);
        }
    }

    std::string missing;

private:
    void* library_;
};

struct Found {
    CudaDriver driver;
    std::string why;
};

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Found find_driver() {
    Found found;
    void* library = open(kDriver, found.why);
    if (library == nullptr) {
        found.why = "no CUDA driver was found (" + found.why + "); install NVIDIA's graphics driver";
        return found;
    }
    auto& driver = found.driver;
    Finder finder(library);
    finder.find("cuInit", driver.init);
    finder.find("cuDriverGetVersion", driver.version);
    finder.find("cuGetErrorName", driver.error_name);
    finder.find("cuDeviceGetCount", driver.count);
    finder.find("cuDeviceGet", driver.device);
    finder.find("cuDeviceGetName", driver.name);
    finder.find("cuDeviceGetUuid_v2", driver.uuid);
    finder.find("cuDeviceTotalMem_v2", driver.memory);
    finder.find("cuDeviceGetAttribute", driver.attribute);
    finder.find("cuCtxGetCurrent", driver.current);
    finder.find("cuCtxSetCurrent", driver.set_current);
    finder.find("cuCtxSynchronize", driver.synchronize);
    finder.find("cuCtxGetDevice", driver.device_of_current);
    finder.find("cuCtxGetId", driver.id);
    finder.find("cuCtxGetLimit", driver.limit);
    int version = 0;
    if (finder.missing.empty() && driver.version(&version) == CUDA_SUCCESS && version < kLeastDriver) {
        found.why = "the CUDA driver speaks CUDA " + version_text(version) +
                    ", but this module requires CUDA " + version_text(kLeastDriver) +
                    "; install a newer driver";
    } else if (!finder.missing.empty()) {
        found.why = std::string("the CUDA driver lacks ") + finder.missing + "; install a newer driver";
    }
    return found;
}

std::string find_blas() {
    std::string why;
    void* library = nullptr;
    if (const auto path = beside(kBlas); !path.empty()) {
        library = open(path.c_str(), why);
    }
    library = library != nullptr ? library : open(kBlas, why);
    if (library == nullptr) {
        return std::string("cuBLAS is missing (") + why + "); put it beside this module";
    }
    Finder finder(library);
#define SOTTO_FIND(name, type) finder.find(#name, name);
    SOTTO_BLAS(SOTTO_FIND)
#undef SOTTO_FIND
    static const auto destroy = cublasDestroy_v2;
    cublasDestroy_v2 = [](cublasHandle_t handle) { // fails if the GPU was lost; ggml would then abort
        destroy(handle);
        return CUBLAS_STATUS_SUCCESS;
    };
    return finder.missing.empty() ? "" : std::string(kBlas) + " lacks " + finder.missing;
}

} // namespace

const CudaDriver& cuda_driver() {
    static const auto& found = *new Found(find_driver()); // never destroyed, like the module
    if (!found.why.empty()) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, found.why);
    }
    return found.driver;
}

void open_blas() {
    static const auto& why = *new std::string(find_blas());
    if (!why.empty()) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, why);
    }
}

} // namespace sotto::llama
