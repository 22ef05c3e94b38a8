#include "core/settings.hpp"

#include <cstring>

#include "base/attempt.hpp"
#include "platform/thread.hpp"

namespace sotto {

void Hooks::thread_started(const std::string& role) const noexcept {
    const auto body = [&] {
        const auto name = thread_name + "-" + role;
        set_thread_name(name);
        const HookGate::Use use(&outlives->gate);
        if (threads.started != nullptr && use) {
            threads.started(threads.self, {name.data(), name.size()});
        }
    };
    attempt(body, [](sotto_status, const char*) {}); // outside of any request: nothing would catch it
}

Zone::Zone(const Hooks& hooks, const char* name) : hooks_(hooks) {
    const HookGate::Use use(&hooks_.outlives->gate);
    if (hooks_.profiler && use) {
        hooks_.profiler->zone_begin(hooks_.profiler->self, {name, std::strlen(name)});
        begun_ = true;
    }
}

Zone::~Zone() {
    const HookGate::Use use(&hooks_.outlives->gate);
    if (begun_ && use) {
        hooks_.profiler->zone_end(hooks_.profiler->self);
    }
}

} // namespace sotto
