#include "sotto_library.hpp"

#include <cstring>
#include <mutex>
#include <string_view>

#include "immortal.hpp"
#include "system_library.hpp"

namespace sotto::unity {
namespace {

struct Found {
    std::mutex mutex; // guards the rest
    SottoLibrary library;
    bool is_complete = false;
};

template <typename Function>
bool resolve(void* library, const char* name, Function& function, Text& reason) {
    function = reinterpret_cast<Function>(find_function(library, name));
    if (function == nullptr) {
        reason.format("invalid Sotto library: expected a function '%s'; install the package again", name);
    }
    return function != nullptr;
}

// The length of "0.1" in "0.1.7". The C# package compares the same part.
int series_length(const char* version, std::size_t size) {
    const std::string_view text(version, size);
    const auto dot = text.find('.');
    const auto end = dot != text.npos ? text.find('.', dot + 1) : text.npos;
    return static_cast<int>(end != text.npos ? end : text.size());
}

bool has_our_series(const SottoLibrary& library, Text& reason) {
    const sotto_str found = library.version();
    const int ours = series_length(SOTTO_VERSION, std::strlen(SOTTO_VERSION));
    const int theirs = series_length(found.data, found.size);
    if (ours == theirs && std::memcmp(found.data, SOTTO_VERSION, static_cast<std::size_t>(ours)) == 0) {
        return true;
    }
    reason.format(
        "invalid Sotto library version '%.*s': expected %.*s.x, as sotto_unity; restart the Unity editor "
        "after an update, because it keeps the old library loaded",
        static_cast<int>(found.size),
        found.data,
        ours,
        SOTTO_VERSION
    );
    return false;
}

} // namespace

const SottoLibrary* SottoLibrary::find(Text& reason) {
    auto& kept = immortal<Found>();
    const std::lock_guard lock(kept.mutex);
    if (kept.is_complete) {
        return &kept.library;
    }
    void* opened = open_sotto(reason);
    if (opened == nullptr) {
        return nullptr;
    }
    SottoLibrary found;
    const bool complete = resolve(opened, "sotto_version", found.version, reason) &&
                          has_our_series(found, reason) &&
                          resolve(opened, "sotto_last_error", found.last_error, reason) &&
                          resolve(opened, "sotto_gpu_query_vulkan", found.query_vulkan, reason) &&
                          resolve(opened, "sotto_engine_attach_gpu", found.attach_gpu, reason) &&
                          resolve(opened, "sotto_engine_detach_gpu", found.detach_gpu, reason) &&
                          resolve(opened, "sotto_engine_stats", found.stats, reason);
    if (!complete) {
        return nullptr;
    }
    kept.library = found;
    kept.is_complete = true;
    return &kept.library;
}

} // namespace sotto::unity
