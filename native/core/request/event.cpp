#include "core/request/event.hpp"

#include "core/request/release.hpp"

namespace sotto {

Event::Event() = default;
Event::~Event() = default;

} // namespace sotto
