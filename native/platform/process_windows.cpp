#include "platform/process.hpp"

namespace sotto {

unsigned process_generation() noexcept {
    return 0;
}

NoFork::NoFork() noexcept = default;
NoFork::~NoFork() = default;

} // namespace sotto
