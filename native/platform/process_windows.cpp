#include "platform/process.hpp"

namespace sotto {

unsigned process_generation() noexcept {
    return 0;
}

} // namespace sotto
