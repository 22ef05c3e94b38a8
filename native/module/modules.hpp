// The backends an engine can choose from: its host's, and those in modules beside the library.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
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

    // The backend of that name, or the first one for an empty name. Opens the modules if nobody did
    // yet. Throws Error(SOTTO_ERROR_UNSUPPORTED).
    const Backend& find(std::string_view name);

    // Every backend, and every module passed over. Opens the modules if nobody did yet.
    void list(std::vector<const Backend*>& backends, std::vector<PassedOver>& passed_over);

private:
    void open_once(); // mutex_ is held

    const std::filesystem::path folder_;
    const Log& log_;
    std::mutex mutex_; // guards what follows; backends themselves never change
    std::vector<std::unique_ptr<Backend>> own_;
    std::vector<const Backend*> opened_;
    std::vector<PassedOver> passed_over_;
    bool open_ = false;
};

} // namespace sotto
