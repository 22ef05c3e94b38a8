// The backends an engine can choose from: its host's, and those in modules beside the library.
#pragma once

#include <filesystem>
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
    };

    Modules(std::filesystem::path folder, const Log& log);
    ~Modules();

    // Takes a backend of the host's. Throws Error(SOTTO_ERROR_STATE) if its name is taken.
    void add(const sotto_backend& table);

    // The backend of that name, or the first one for an empty name, in the module that is made for the
    // device's kind: of "vulkan0" that is "vulkan", of "cpu" none. Opens the modules that may be meant if
    // nobody did yet. Throws Error(SOTTO_ERROR_UNSUPPORTED).
    const Backend& find(std::string_view name, std::string_view device = "cpu");

    // The same, or null.
    const Backend* look_for(std::string_view name, std::string_view device);

    // Every backend, and every module passed over. Opens the modules if nobody did yet.
    void list(std::vector<const Backend*>& backends, std::vector<PassedOver>& passed_over);

private:
    // With mutex_ held. Those for devices of that kind alone, as they bring in drivers; "": those for none.
    void open_those_for(std::string_view kind);
    const Backend* look(std::string_view name, std::string_view kind); // with mutex_ held

    const std::filesystem::path folder_;
    const Log& log_;
    std::mutex mutex_; // guards what follows; backends themselves never change
    std::vector<std::unique_ptr<Backend>> own_;
    std::vector<const Backend*> opened_;
    std::vector<PassedOver> passed_over_;
    std::set<std::string> open_; // kinds
};

// Whether a backend of that name is made for devices, as "llama_vulkan" is.
bool is_for_devices(std::string_view backend);

} // namespace sotto
