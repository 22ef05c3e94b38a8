#include "core/settings.hpp"

#include <cstring>

#include "platform/thread.hpp"

namespace sotto {

void Hooks::thread_started(const std::string& role) const {
    const auto name = thread_name + "-" + role;
    set_thread_name(name);
    if (threads.started != nullptr) {
        threads.started(threads.self, {name.data(), name.size()});
    }
}

Zone::Zone(const Hooks& hooks, const char* name) : hooks_(hooks) {
    if (hooks_.profiler) {
        hooks_.profiler->zone_begin(hooks_.profiler->self, {name, std::strlen(name)});
    }
}

Zone::~Zone() {
    if (hooks_.profiler) {
        hooks_.profiler->zone_end(hooks_.profiler->self);
    }
}

} // namespace sotto
