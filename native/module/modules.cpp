#include "module/modules.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <utility>

#include "base/attempt.hpp"
#include "base/error.hpp"
#include "base/path.hpp"
#include "device/device_spec.hpp"
#include "platform/cpu.hpp"
#include "platform/dynlib.hpp"
#include "platform/process.hpp"
#include "text/utf8_stream.hpp"

namespace sotto {
namespace {

constexpr std::string_view kPrefix = "sotto_";
// libraries in the same folder that are not modules
constexpr std::string_view kPlugins[] = {"sotto_godot", "sotto_unity"};
// device kinds that have modules of their own
constexpr std::string_view kKinds[] = {"cuda", "metal", "vulkan"};

// The parts of a module's file name: sotto_BACKEND-TIER.so, or sotto_BACKEND_KIND-TIER.so for devices of that
// kind.
struct Named {
    std::string backend; // includes the kind
    std::string kind;
    int rank = 0;  // the highest usable rank wins
    int level = 0; // required x86-64 level; 0: not stated
};

// Returns the device kind at the end of a backend's name; empty: none.
std::string kind_of(std::string_view backend) {
    const auto line = backend.rfind('_');
    const auto last = line == std::string_view::npos ? std::string_view() : backend.substr(line + 1);
    return std::find(std::begin(kKinds), std::end(kKinds), last) == std::end(kKinds) ? "" : std::string(last);
}

// Returns the device kind of a device's name; empty: none of kKinds.
std::string kind_of_device(std::string_view device) {
    const auto spec = parse_device(device);
    return spec ? kind_of("_" + spec->kind) : std::string();
}

// Returns the device kind to look for: the backend name's own kind, otherwise the device's.
std::string kind_meant(std::string_view backend, std::string_view device) {
    const auto own = kind_of(backend);
    return own.empty() ? kind_of_device(device) : own;
}

// Returns a file name without suffix, and without the prefix `lib` that Android requires of libraries in a
// package.
std::string name_of(const std::filesystem::path& path) {
    const auto stem = utf8_of(path.stem());
    return stem.rfind("lib", 0) == 0 ? stem.substr(3) : stem;
}

Named read_name(const std::filesystem::path& path) {
    const auto stem = name_of(path);
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

// Module files that this process has opened. Failures are not cached: memory or a file descriptor may be
// available later.
struct Libraries {
    std::mutex mutex; // guards the members below; held while an entry function runs
    std::map<std::filesystem::path, void*> opened;
};

Libraries& libraries() {
    // per process: a thread that a forked child lacks may hold the parent's lock
    static PerProcess<Libraries> all;
    return all.get();
}

// Returns true if the cause of a failure may be temporary.
bool is_passing(const std::error_code& failed) {
    return failed == std::errc::too_many_files_open || failed == std::errc::too_many_files_open_in_system ||
           failed == std::errc::not_enough_memory || failed == std::errc::resource_unavailable_try_again;
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder, std::error_code& failed) {
    auto files = libraries_in(folder, failed);
    std::erase_if(files, [](const auto& path) {
        const auto name = name_of(path);
        return name.rfind(kPrefix, 0) != 0 ||
               std::find(std::begin(kPlugins), std::end(kPlugins), name) != std::end(kPlugins);
    });
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
        const auto left = read_name(a);
        const auto right = read_name(b);
        return left.backend != right.backend ? left.backend < right.backend : left.rank > right.rank;
    });
    return files;
}

std::filesystem::path whole_path(const std::filesystem::path& folder) {
    std::error_code failed;
    auto whole = std::filesystem::absolute(folder, failed);
    return failed ? folder : whole;
}

} // namespace

bool is_for_devices(std::string_view backend) {
    return !kind_of(backend).empty();
}

// The host interface that an engine lends to a backend; the backend's log lines go to the engine's log.
struct Modules::Lent {
    Lent(const Log& log, Waker& waker) : log_(&log), waker_(&waker) {}

    // SOTTO_LOG_TRACE: lines are filtered when they arrive, because the log level may change at any time.
    const sotto_backend_host host = {sizeof(sotto_backend_host), SOTTO_LOG_TRACE, write, this, wake};

    // Detaches the host interface from the log of an engine that is being destroyed, and keeps the interface
    // until the process ends: a backend without `release` may keep logging.
    static void leave(std::unique_ptr<Lent> lent) noexcept {
        {
            const std::lock_guard lock(lent->mutex_);
            lent->log_ = nullptr;
            lent->waker_ = nullptr;
        }
        Lent* last = lent.release();
        last->before_ = kept_.load();
        while (!kept_.compare_exchange_weak(last->before_, last)) {
        }
    }

private:
    static void SOTTO_CALL write(void* context, sotto_log_level level, sotto_str message) {
        auto& self = *static_cast<Lent*>(context);
        const std::lock_guard lock(self.mutex_);
        if (self.log_ == nullptr) {
            return;
        }
        const auto line = view_of(message);
        if (is_utf8(line)) {
            self.log_->write(level, line);
            return;
        }
        attempt(
            [&] { self.log_->write(level, well_formed_utf8(line)); },
            [&](sotto_status, const char* why) { self.log_->write(level, why); }
        );
    }

    static void SOTTO_CALL wake(void* context) {
        auto& self = *static_cast<Lent*>(context);
        const std::lock_guard lock(self.mutex_);
        if (self.waker_ != nullptr) {
            self.waker_->wake();
        }
    }

    std::mutex mutex_; // guards log_ and waker_, and keeps both alive while they are used
    const Log* log_;
    Waker* waker_;
    Lent* before_ = nullptr;
    static std::atomic<Lent*> kept_; // list of detached interfaces, for leak checkers
};

std::atomic<Modules::Lent*> Modules::Lent::kept_{nullptr};

Modules::Modules(const std::filesystem::path& folder, const Log& log)
    : folder_(folder.empty() ? library_folder() : whole_path(folder)), log_(log) {}

Modules::~Modules() {
    for (const auto& backend : own_) {
        backend->release();
    }
    for (auto& one : opened_) {
        if (!one.backend->release()) {
            Lent::leave(std::move(one.lent));
        }
    }
}

void Modules::add(const sotto_backend& table) {
    auto backend = std::make_unique<Backend>(table);
    const std::lock_guard lock(mutex_);
    for (const auto& other : own_) {
        if (other->name() == backend->name()) {
            throw Error(
                SOTTO_ERROR_STATE,
                "backend '" + backend->name() + "' is already registered: choose another backend->name"
            );
        }
    }
    own_.push_back(std::move(backend));
}

// Opens a module and adds its backend to opened_. Returns false on failure, with the reason in `failed`.
bool Modules::open(const std::filesystem::path& path, PassedOver& failed) {
    const NoFork whole; // fork() waits until the module has registered its fork handlers
    auto& all = libraries();
    const std::lock_guard lock(all.mutex);
    auto& library = all.opened[path];
    if (library == nullptr) {
        std::error_code reason;
        library = open_library(path, failed.why, reason);
        failed.lasts = false;
        failed.lacks = is_passing(reason);
    }
    if (library == nullptr) {
        return false;
    }
    failed.lasts = true;
    const auto enter = reinterpret_cast<sotto_module_v1_fn>(find_symbol(library, SOTTO_MODULE_SYMBOL));
    if (enter == nullptr) {
        failed.why = "it exports no " SOTTO_MODULE_SYMBOL;
        return false;
    }
    opened_.reserve(opened_.size() + 1); // reserved first, so that an entered module is always released
    auto lent = std::make_unique<Lent>(log_, waker_);
    sotto_backend table{};
    table.struct_size = sizeof table;
    sotto_str reason{};
    if (const auto status = enter(&lent->host, &table, &reason); status < 0) {
        failed.why = reason_of(reason);
        failed.lacks = status == SOTTO_ERROR_MEMORY;
        failed.lasts = !failed.lacks;
        return false;
    }
    try {
        auto backend = std::make_unique<Backend>(table);
        opened_.push_back({std::move(lent), std::move(backend)});
        return true;
    } catch (const Error& error) {
        failed.why = error.what();
    } catch (const std::bad_alloc&) {
        failed.why = "out of host memory";
        failed.lacks = true;
        failed.lasts = false;
    }
    if (table.release != nullptr) {
        table.release(table.self);
    }
    return false;
}

bool Modules::is_passed_over(const std::string& path) const noexcept {
    const auto found = passed_over_.find(path);
    return found != passed_over_.end() && found->second.lasts;
}

bool Modules::has_opened(std::string_view backend) const noexcept {
    return std::any_of(opened_.begin(), opened_.end(), [&](const auto& other) {
        return other.backend->name() == backend;
    });
}

void Modules::open_those_for(std::string_view kind) {
    if (settled_.find(kind) != settled_.end()) {
        return;
    }
    std::error_code unread;
    const auto files = files_in(folder_, unread);
    unread_ = unread ? unread.message() : "";
    lacks_ = is_passing(unread);
    bool settled = !unread;
    for (const auto& path : files) {
        const auto named = read_name(path);
        // Skips modules for another device kind, lower CPU tiers of a backend that is open (files are sorted
        // from the highest tier down), and modules that have failed permanently.
        if (named.kind != kind || has_opened(named.backend) || is_passed_over(utf8_of(path))) {
            continue;
        }
        PassedOver failed{utf8_of(path), {}};
        if (named.level > x86_64_level()) {
            const int level = x86_64_level();
            failed.why =
                "this processor is " + (level > 0 ? "x86-64-v" + std::to_string(level) : "no x86-64");
        } else if (open(path, failed)) {
            passed_over_.erase(failed.path);
            log_.info("uses " + failed.path);
            continue;
        }
        log_.info("passes over " + failed.path + ": " + failed.why);
        settled = settled && failed.lasts;
        passed_over_.insert_or_assign(failed.path, failed);
    }
    if (settled) {
        settled_.emplace(kind);
    }
}

const Backend* Modules::look(std::string_view name, std::string_view kind) {
    for (const auto& backend : own_) {
        if (backend->name() == name) {
            return backend.get();
        }
    }
    const bool plain = kind_of(name).empty();
    const auto whole = std::string(name) + (plain && !kind.empty() ? "_" + std::string(kind) : "");
    open_those_for(kind);
    for (const auto& one : opened_) {
        const auto& called = one.backend->name();
        const bool by_name = one.backend->uses(SOTTO_BACKEND_BY_NAME);
        if (kind_of(called) == kind && (name.empty() ? !by_name : called == whole)) {
            return one.backend.get();
        }
    }
    return nullptr;
}

// Returns the backend for the CPU of a SOTTO_BACKEND_BY_NAME backend that has no module for devices of
// `kind`; null: it has one, or there is no such backend.
const Backend* Modules::look_on_cpu(std::string_view name, std::string_view kind) {
    if (name.empty() || kind.empty() || !kind_of(name).empty() || !unread_.empty()) {
        return nullptr;
    }
    const auto for_devices = std::string(name) + "_" + std::string(kind);
    const bool has_failed = std::ranges::any_of(passed_over_, [&](const auto& one) {
        return read_name(native_path(one.first)).backend == for_devices;
    });
    const Backend* const found = has_failed ? nullptr : look(name, "");
    return found != nullptr && found->uses(SOTTO_BACKEND_BY_NAME) ? found : nullptr;
}

bool Modules::has_hosts() const noexcept {
    const std::lock_guard lock(mutex_);
    return !own_.empty();
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
    if (const Backend* found = look_on_cpu(name, kind)) {
        return *found;
    }
    std::string why = name.empty() ? "no backend" : "no backend '" + std::string(name) + "'";
    why += kind.empty() ? "" : " for device '" + std::string(device) + "'";
    why += " was found in " + utf8_of(folder_);
    why += unread_.empty() ? "" : ", which cannot be read: " + unread_;
    bool lacks = lacks_;
    for (const auto& [path, passed] : passed_over_) {
        why += "; " + utf8_of(native_path(path).filename()) + " was passed over: " + passed.why;
        lacks = lacks || passed.lacks;
    }
    if (passed_over_.empty() && unread_.empty() && own_.empty()) {
        why += "; copy the module files (sotto_" + std::string(name.empty() ? "llama" : name) + "*) there";
    }
    for (const auto& backend : own_) {
        why += "; the added backend '" + backend->name() + "' opens models that name it";
    }
    throw Error(lacks ? SOTTO_ERROR_MEMORY : SOTTO_ERROR_UNSUPPORTED, why);
}

const Backend& Modules::find_quantizer() {
    const auto quantizes = [](const Backend& backend) { return backend.table().quantize != nullptr; };
    {
        const std::lock_guard lock(mutex_);
        for (const auto& backend : own_) {
            if (quantizes(*backend)) {
                return *backend;
            }
        }
        open_those_for("");
        for (const auto& one : opened_) {
            if (quantizes(*one.backend)) {
                return *one.backend;
            }
        }
    }
    return find("");
}

void Modules::list(std::vector<const Backend*>& backends, std::vector<PassedOver>& passed_over) {
    const std::lock_guard lock(mutex_);
    open_those_for("");
    std::for_each(std::begin(kKinds), std::end(kKinds), [&](auto kind) { open_those_for(kind); });
    for (const auto& backend : own_) {
        backends.push_back(backend.get());
    }
    for (const auto& one : opened_) {
        backends.push_back(one.backend.get());
    }
    for (const auto& [path, passed] : passed_over_) {
        passed_over.push_back(passed);
    }
}

} // namespace sotto
