// Memory for llama.cpp's static objects, whose constructors run inside dlopen().
#pragma once

namespace sotto::llama {

// Until this is called, an allocation that fails waits up to 5 seconds for memory: an exception from a static
// object's constructor could not be caught, and would end the process.
void end_opening() noexcept;

} // namespace sotto::llama
