#include "core/event.hpp"

#include "core/release.hpp"

namespace sotto {

Event::Event() = default;
Event::~Event() = default;

} // namespace sotto
