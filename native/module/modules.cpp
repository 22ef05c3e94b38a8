#include "module/modules.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/path.hpp"
#include "platform/cpu.hpp"
#include "platform/dynlib.hpp"

namespace sotto {
namespace {

constexpr std::string_view kPrefix = "sotto_";
constexpr std::string_view kKinds[] = {"cuda", "metal", "vulkan"}; // of devices that modules are made for

// Modules outlive engines, so their lines go to whichever engine was created last and still lives.
class ModuleLog {
public:
    void enter(const Log& log) {
        const std::lock_guard lock(mutex_);
        logs_.push_back(&log);
    }

    void leave(const Log& log) {
        const std::lock_guard lock(mutex_);
        logs_.erase(std::find(logs_.begin(), logs_.end(), &log));
    }

    void write(sotto_log_level level, std::string_view message) {
        const std::lock_guard lock(mutex_);
        (logs_.empty() ? fallback_ : *logs_.back()).write(level, message);
    }

private:
    std::mutex mutex_; // guards logs_, and keeps them alive while one is written to
    std::vector<const Log*> logs_;
    const Log fallback_;
};

ModuleLog& module_log() {
    static auto* log = new ModuleLog; // never destroyed: modules may write until the process ends
    return *log;
}

void SOTTO_CALL log_line(void* /*context*/, sotto_log_level level, sotto_str message) {
    module_log().write(level, view_of(message));
}

// What a file's name says: sotto_BACKEND-TIER.so, or sotto_BACKEND_KIND-TIER.so of devices of that kind.
struct Named {
    std::string backend; // with the kind
    std::string kind;
    int rank = 0;  // higher is better
    int level = 0; // the x86-64 level that it needs; 0: not said
};

// Of a backend's name: which of the kinds it ends on.
std::string kind_of(std::string_view backend) {
    const auto line = backend.rfind('_');
    const auto last = line == std::string_view::npos ? std::string_view() : backend.substr(line + 1);
    return std::find(std::begin(kKinds), std::end(kKinds), last) == std::end(kKinds) ? "" : std::string(last);
}

// Of a device's name, as "vulkan0" or "vulkan:<uuid>": which of the kinds it begins with.
std::string kind_of_device(std::string_view device) {
    return kind_of(
        "_" + std::string(device.substr(0, device.find_first_not_of("abcdefghijklmnopqrstuvwxyz")))
    );
}

// What is looked for: a backend's own kind, else the device's.
std::string kind_meant(std::string_view backend, std::string_view device) {
    const auto own = kind_of(backend);
    return own.empty() ? kind_of_device(device) : own;
}

Named read_name(const std::filesystem::path& path) {
    const auto stem = utf8_of(path.stem());
    const auto dash = stem.find('-');
    Named named{stem.substr(kPrefix.size(), dash == std::string::npos ? dash : dash - kPrefix.size()), {}};
    named.kind = kind_of(named.backend);
    const auto tier = dash == std::string::npos ? std::string() : stem.substr(dash + 1);
    constexpr std::string_view kLevels = "x86-64-v";
    if (tier == "native") {
        named.rank = 100;
    } else if (tier.rfind(kLevels, 0) == 0 && tier.size() == kLevels.size() + 1) {
        named.rank = named.level = tier.back() - '0';
    }
    return named;
}

std::unique_ptr<Backend> open_module(const std::filesystem::path& path, std::string& why) {
    void* library = open_library(path, why);
    if (library == nullptr) {
        return nullptr;
    }
    const auto enter = reinterpret_cast<sotto_module_v1_fn>(find_symbol(library, SOTTO_MODULE_SYMBOL));
    if (enter == nullptr) {
        why = "it exports no " SOTTO_MODULE_SYMBOL;
        return nullptr;
    }
    // Filtered when a line arrives: the level may change at any time.
    static const sotto_backend_host host = {sizeof(sotto_backend_host), SOTTO_LOG_TRACE, log_line, nullptr};
    sotto_backend table{};
    table.struct_size = sizeof table;
    sotto_str reason{};
    if (const auto status = enter(&host, &table, &reason); status < 0) {
        why = reason_of(reason);
        return nullptr;
    }
    try {
        return std::make_unique<Backend>(table);
    } catch (const Error& error) {
        why = error.what();
        return nullptr;
    }
}

// Opens each module once in the life of the process.
const Backend* opened_module(const std::filesystem::path& path, std::string& why) {
    struct Opened {
        std::unique_ptr<Backend> backend;
        std::string why;
    };
    static auto* mutex = new std::mutex;
    static auto* all = new std::map<std::filesystem::path, Opened>;
    const std::lock_guard lock(*mutex);
    auto [found, fresh] = all->try_emplace(path);
    if (fresh) {
        found->second.backend = open_module(path, found->second.why);
    }
    why = found->second.why;
    return found->second.backend.get();
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
    auto files = libraries_in(folder);
    std::erase_if(files, [](const auto& path) { return utf8_of(path.filename()).rfind(kPrefix, 0) != 0; });
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
        const auto left = read_name(a);
        const auto right = read_name(b);
        return left.backend != right.backend ? left.backend < right.backend : left.rank > right.rank;
    });
    return files;
}

} // namespace

bool is_for_devices(std::string_view backend) {
    return !kind_of(backend).empty();
}

Modules::Modules(std::filesystem::path folder, const Log& log)
    : folder_(folder.empty() ? library_folder() : std::move(folder)), log_(log) {
    module_log().enter(log_);
}

Modules::~Modules() {
    module_log().leave(log_);
}

void Modules::add(const sotto_backend& table) {
    auto backend = std::make_unique<Backend>(table);
    const std::lock_guard lock(mutex_);
    for (const auto& other : own_) {
        if (other->name() == backend->name()) {
            throw Error(SOTTO_ERROR_STATE, "backend->name is \"" + backend->name() + "\"; it is taken");
        }
    }
    own_.push_back(std::move(backend));
}

void Modules::open_those_for(std::string_view kind) {
    if (!open_.emplace(kind).second) {
        return;
    }
    for (const auto& path : files_in(folder_)) {
        const auto named = read_name(path);
        if (named.kind != kind) {
            continue;
        }
        const auto same = [&](const Backend* other) { return other->name() == named.backend; };
        std::string why;
        if (std::any_of(opened_.begin(), opened_.end(), same)) {
            continue; // a better tier of it is in use
        }
        if (named.level > x86_64_level()) {
            const int level = x86_64_level();
            why = "this processor is " + (level > 0 ? "x86-64-v" + std::to_string(level) : "no x86-64");
        } else if (const Backend* backend = opened_module(path, why)) {
            opened_.push_back(backend);
            log_.info("uses " + utf8_of(path));
            continue;
        }
        log_.info("passes over " + utf8_of(path) + ": " + why);
        passed_over_.push_back({utf8_of(path), why});
    }
}

const Backend* Modules::look(std::string_view name, std::string_view kind) {
    for (const auto& backend : own_) {
        if (name.empty() || backend->name() == name) {
            return backend.get();
        }
    }
    const bool plain = kind_of(name).empty();
    const auto whole = std::string(name) + (plain && !kind.empty() ? "_" + std::string(kind) : "");
    open_those_for(kind);
    for (const Backend* backend : opened_) {
        if (kind_of(backend->name()) == kind && (name.empty() || backend->name() == whole)) {
            return backend;
        }
    }
    return nullptr;
}

const Backend* Modules::look_for(std::string_view name, std::string_view device) {
    const std::lock_guard lock(mutex_);
    return look(name, kind_meant(name, device));
}

const Backend& Modules::find(std::string_view name, std::string_view device) {
    const std::lock_guard lock(mutex_);
    const auto kind = kind_meant(name, device);
    if (const Backend* found = look(name, kind)) {
        return *found;
    }
    std::string why =
        name.empty() ? "there is no backend" : "there is no backend \"" + std::string(name) + "\"";
    why += kind.empty() ? "" : " for the device \"" + std::string(device) + "\"";
    why += " in " + utf8_of(folder_);
    for (const auto& passed : passed_over_) {
        why += "; " + utf8_of(native_path(passed.path).filename()) + " was passed over: " + passed.why;
    }
    throw Error(SOTTO_ERROR_UNSUPPORTED, why);
}

void Modules::list(std::vector<const Backend*>& backends, std::vector<PassedOver>& passed_over) {
    const std::lock_guard lock(mutex_);
    open_those_for("");
    std::for_each(std::begin(kKinds), std::end(kKinds), [&](auto kind) { open_those_for(kind); });
    for (const auto& backend : own_) {
        backends.push_back(backend.get());
    }
    backends.insert(backends.end(), opened_.begin(), opened_.end());
    passed_over = passed_over_;
}

} // namespace sotto
