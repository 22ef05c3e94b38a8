// The backends an engine can choose from: its host's, and those in modules beside the library.
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

namespace sotto {

class Modules {
public:
    // A module that is not used, and why.
    struct PassedOver {
        std::string path;
        std::string why;
        bool lasts = true;  // else it is tried again: there was no memory, or it could not be opened
        bool lacks = false; // memory, or something else that the system has less of at times
    };

    // A relative folder is one of the folder that is current now, and stays it.
    Modules(const std::filesystem::path& folder, const Log& log);
    // Releases the backends, whose models are closed.
    ~Modules();
    Modules(const Modules&) = delete;
    Modules& operator=(const Modules&) = delete;

    // Takes a backend of the host's. Throws Error(SOTTO_ERROR_STATE) if its name is taken.
    void add(const sotto_backend& table);

    // Whether there are backends of the host's.
    bool has_hosts() const noexcept;

    // The backend of that name, the host's before a module's, or the first module's for an empty name; in the
    // module that is made for the device's kind: of "vulkan0" that is "vulkan", of "cpu" none. Opens the
    // modules that may be meant where that was not done yet, or failed for a reason that may have passed.
    // Throws Error: of SOTTO_ERROR_MEMORY where that is what was wanting, else of SOTTO_ERROR_UNSUPPORTED.
    const Backend& find(std::string_view name, std::string_view device = "cpu");

    // The same, or null.
    const Backend* look_for(std::string_view name, std::string_view device);

    // Every backend, and every module passed over. Opens the modules as find() does.
    void list(std::vector<const Backend*>& backends, std::vector<PassedOver>& passed_over);

private:
    struct Lent;
    // This engine's backend out of a module.
    struct Opened {
        std::unique_ptr<Lent> lent; // to the backend
        std::unique_ptr<Backend> backend;
    };

    // With mutex_ held. Those for devices of that kind alone, as they bring in drivers; "": those for none.
    void open_those_for(std::string_view kind);
    bool open(const std::filesystem::path& path, PassedOver& failed);
    bool is_passed_over(const std::string& path) const noexcept; // for good
    bool has_opened(std::string_view backend) const noexcept;
    const Backend* look(std::string_view name, std::string_view kind);

    const std::filesystem::path folder_;
    const Log& log_;
    mutable std::mutex mutex_; // guards what follows; backends themselves never change
    std::vector<std::unique_ptr<Backend>> own_;
    std::vector<Opened> opened_;
    std::map<std::string, PassedOver> passed_over_; // by path
    std::string unread_;                            // why the folder cannot be read; empty: it can
    bool lacks_ = false;                         // it could not, for want of what PassedOver::lacks is about
    std::set<std::string, std::less<>> settled_; // kinds of which nothing is left to try
};

// Whether a backend of that name is made for devices, as "llama_vulkan" is.
bool is_for_devices(std::string_view backend);

} // namespace sotto
