// Windows has no fork(): these functions do nothing.
#include "runtime/forked.hpp"

namespace sotto::llama {

void survive_forks() {}

bool was_forked() noexcept {
    return false;
}

} // namespace sotto::llama
