// The backends available to an engine: the host's, and those in modules next to the library.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "module/backend.hpp"
#include "module/waker.hpp"

namespace sotto {

class Modules {
public:
    // A module that is not used, and the reason.
    struct PassedOver {
        std::string path;
        std::string why;
        // The failure is permanent. False: the failure is temporary (no memory, or the file could not be
        // opened), so the module is tried again
        bool lasts = true;
        bool lacks = false; // the cause is a shortage of memory or another system resource
    };

    // A relative folder is resolved against the current working directory once.
    Modules(const std::filesystem::path& folder, const Log& log);
    // Releases the backends. Their models must be closed.
    ~Modules();
    Modules(const Modules&) = delete;
    Modules& operator=(const Modules&) = delete;

    // Adds a backend of the host. Throws Error(SOTTO_ERROR_STATE) if its name is taken.
    void add(const sotto_backend& table);

    // Woken by the modules when streams that wait may continue.
    Waker& waker() noexcept { return waker_; }

    // Returns true if the host has added a backend.
    bool has_hosts() const noexcept;

    // Finds a backend by name, the host's before a module's; an empty name finds the first module's that is
    // not SOTTO_BACKEND_BY_NAME. Finds the module for the device's kind ("vulkan" for "vulkan0", none for
    // "cpu"); a SOTTO_BACKEND_BY_NAME backend without a module for that kind computes on the CPU. Opens the
    // candidate modules that were not opened yet, or whose failure may have been temporary. Throws Error:
    // SOTTO_ERROR_MEMORY if memory was short, otherwise SOTTO_ERROR_UNSUPPORTED.
    const Backend& find(std::string_view name, std::string_view device = "cpu");

    // Finds a backend that quantizes files, the host's before a module's; without one, the backend that
    // find("") finds. Opens modules as find() does for the CPU, and throws like find().
    const Backend& find_quantizer();

    // Like find(), but returns null instead of throwing.
    const Backend* look_for(std::string_view name, std::string_view device);

    // Lists all backends and all modules that are not used. Opens modules as find() does.
    void list(std::vector<const Backend*>& backends, std::vector<PassedOver>& passed_over);

private:
    struct Lent;
    // A backend that this engine has taken from a module.
    struct Opened {
        std::unique_ptr<Lent> lent; // host interface that the backend uses
        std::unique_ptr<Backend> backend;
    };

    // Opens the modules for devices of `kind`; empty: the modules for no particular kind. Leaves other
    // modules closed, because modules for devices load drivers. Requires mutex_.
    void open_those_for(std::string_view kind);
    bool open(const std::filesystem::path& path, PassedOver& failed);
    bool is_passed_over(const std::string& path) const noexcept; // true: the module failed permanently
    bool has_opened(std::string_view backend) const noexcept;
    const Backend* look(std::string_view name, std::string_view kind);
    const Backend* look_on_cpu(std::string_view name, std::string_view kind);

    const std::filesystem::path folder_;
    const Log& log_;
    Waker waker_;
    mutable std::mutex mutex_; // guards the members below; backends themselves never change
    std::vector<std::unique_ptr<Backend>> own_;
    std::vector<Opened> opened_;
    std::map<std::string, PassedOver> passed_over_; // keyed by path
    std::string unread_;                            // reason why the folder cannot be read, or empty
    bool lacks_ = false;                            // unread_ is due to a shortage, see PassedOver::lacks
    std::set<std::string, std::less<>> settled_;    // device kinds whose modules have all been tried
};

// Returns true if a backend is made for a device kind, as "llama_vulkan" is.
bool is_for_devices(std::string_view backend);

} // namespace sotto
