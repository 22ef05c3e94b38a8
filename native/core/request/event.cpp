#include "core/request/event.hpp"

#include "core/request/paced_queue.hpp"

namespace sotto {

Event::Event() = default;
Event::~Event() = default;

} // namespace sotto
