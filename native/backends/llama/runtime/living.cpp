#include "runtime/living.hpp"

#include "isa/isa_tier.hpp"

#include <atomic>

namespace sotto::llama {

// The buffers are not thread-local, because static TLS, which all modules and drivers of a process share, has
// room for 1 or 2 KiB only (see guard.cpp).
FixedText& thread_why() {
    constexpr unsigned kThreads = 256; // max threads whose reasons are valid at once; engines have fewer
    static constinit FixedText texts[kThreads] = {};
    static constinit std::atomic<unsigned> threads = 0;
    thread_local unsigned mine = 0; // index + 1; 0: not chosen yet
    if (mine == 0) {
        mine = threads.fetch_add(1, std::memory_order_relaxed) % kThreads + 1;
    }
    return texts[mine - 1];
}

void require_isa() {
    if (const char* missing = missing_isa_feature(); missing != nullptr) {
        const auto tier = std::string(kIsaTier.name);
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "this CPU lacks " + std::string(missing) + ", which tier " + tier + " needs"
        );
    }
}

} // namespace sotto::llama
