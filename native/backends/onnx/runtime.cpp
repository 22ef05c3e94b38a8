#include "backends/onnx/runtime.hpp"

#include <cstdlib>
#include <mutex>
#include <new>

#include "abi/error.hpp"
#include "backends/onnx/library.hpp"
#include "backends/onnx/log.hpp"
#include "backends/onnx/memory.hpp"

namespace sotto::onnx {
namespace {

constexpr const char* kVariable = "SOTTO_ONNXRUNTIME";
constexpr const char* kWayOut =
    "install ONNX Runtime 1.17 or later (in Python: pip install onnxruntime), or name its library in "
    "options.library or SOTTO_ONNXRUNTIME";

// The first library that has the API, and what was tried before.
struct Search {
    const OrtApi* api = nullptr;
    std::string version;
    std::string tried; // one clause for each failure

    void fail(const std::string& path, const std::string& why) {
        tried += (tried.empty() ? "" : "; ") + std::string("'") + path + "': " + why;
    }

    // Returns true if the library has the API.
    bool look(const std::string& path) {
        std::string why;
        void* library = open_library(path, why);
        if (library == nullptr) {
            fail(path, why);
            return false;
        }
        using GetBase = const OrtApiBase*(ORT_API_CALL*)();
        const auto get = reinterpret_cast<GetBase>(find_symbol(library, "OrtGetApiBase"));
        if (get == nullptr || get() == nullptr) {
            fail(path, "it is no library of ONNX Runtime: it has no OrtGetApiBase()");
            return false;
        }
        version = get()->GetVersionString();
        api = get()->GetApi(kApiVersion);
        if (api == nullptr) {
            fail(path, "it is version " + version + "; expected 1.17 or later");
        }
        return api != nullptr;
    }
};

std::string variable() {
    const char* value = std::getenv(kVariable);
    return value == nullptr ? "" : value;
}

Search search_for(const std::string& path) {
    Search search;
    const auto named = path.empty() ? variable() : path;
    if (!named.empty()) { // named by the user: nothing else will do
        search.look(named);
        return search;
    }
    const auto folder = module_folder();
    const auto beside = libraries_in(folder);
    for (const auto& file : beside) {
        if (search.look(file)) {
            return search;
        }
    }
    if (beside.empty()) {
        search.fail(folder, "no library of ONNX Runtime is beside the module");
    }
    for (const auto& name : library_names()) {
        if (search.look(name)) {
            return search;
        }
    }
    return search;
}

void ORT_API_CALL
write_log(void*, OrtLoggingLevel severity, const char*, const char*, const char*, const char* message) {
    // Failures are reported by the call that fails, and warnings are about details of graphs.
    const auto level = severity <= ORT_LOGGING_LEVEL_VERBOSE   ? SOTTO_LOG_TRACE
                       : severity <= ORT_LOGGING_LEVEL_WARNING ? SOTTO_LOG_DEBUG
                       : severity <= ORT_LOGGING_LEVEL_ERROR   ? SOTTO_LOG_INFO
                                                               : SOTTO_LOG_ERROR;
    Log::all().write(level, message == nullptr ? "" : std::string("onnxruntime: ") + message);
}

// The allocator of all sessions; see SessionMemory.
struct Allocator : OrtAllocator {
    const OrtMemoryInfo* info = nullptr;

    explicit Allocator(const OrtMemoryInfo* where) : OrtAllocator{}, info(where) {
        version = kApiVersion;
        Alloc = [](OrtAllocator*, std::size_t bytes) { return SessionMemory::allocate(bytes); };
        Free = [](OrtAllocator*, void* block) { SessionMemory::free(block); };
        Info = [](const OrtAllocator* self) { return static_cast<const Allocator*>(self)->info; };
    }
};

} // namespace

Runtime::Runtime(const OrtApi& api, std::string version) : api_(&api), version_(std::move(version)) {
    check(
        api.CreateEnvWithCustomLogger(write_log, nullptr, ORT_LOGGING_LEVEL_WARNING, "sotto", &env_),
        "start ONNX Runtime"
    );
    check(api.DisableTelemetryEvents(env_), "start ONNX Runtime");
    OrtMemoryInfo* where = nullptr;
    check(api.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &where), "start ONNX Runtime");
    OrtStatus* failed = api.RegisterAllocator(env_, new Allocator(where)); // both as long as the process
    counts_memory_ = failed == nullptr; // false if the host has registered an allocator in the same library
    api.ReleaseStatus(failed);
}

const Runtime& Runtime::open(const std::string& path) {
    static std::mutex mutex;
    static const Runtime* opened = nullptr; // guarded by `mutex`, never destroyed
    static auto& from = *new std::string(); // what it was asked for
    const std::lock_guard lock(mutex);
    if (opened != nullptr) {
        if (!path.empty() && path != from) {
            Log::all().write(
                SOTTO_LOG_WARN,
                "options.library is ignored: the process uses ONNX Runtime " + opened->version_ + " already"
            );
        }
        return *opened;
    }
    auto found = search_for(path);
    if (found.api == nullptr) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "ONNX Runtime was not found: " + std::string(kWayOut) + ". Tried " + found.tried
        );
    }
    opened = new Runtime(*found.api, found.version);
    from = path;
    Log::all().write(SOTTO_LOG_INFO, "uses ONNX Runtime " + found.version);
    return *opened;
}

void Runtime::check(OrtStatus* status, const char* what) const {
    if (status == nullptr) {
        return;
    }
    const Owned<OrtStatus> owned(status, {api_->ReleaseStatus});
    const std::string message = api_->GetErrorMessage(status);
    const auto code = api_->GetErrorCode(status);
    if (message.find("bad_alloc") != std::string::npos ||
        message.find("Failed to allocate") != std::string::npos) {
        throw std::bad_alloc();
    }
    const bool model = code == ORT_INVALID_PROTOBUF || code == ORT_INVALID_GRAPH || code == ORT_NO_MODEL ||
                       code == ORT_NOT_IMPLEMENTED || code == ORT_INVALID_ARGUMENT || code == ORT_FAIL;
    throw Error(
        model ? SOTTO_ERROR_MODEL : SOTTO_ERROR_INFERENCE,
        std::string("cannot ") + what + ": ONNX Runtime " + version_ + " says: " + message
    );
}

} // namespace sotto::onnx
