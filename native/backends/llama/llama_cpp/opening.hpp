// Allocation during the construction of llama.cpp's static objects, which happens inside dlopen().
#pragma once

namespace sotto::llama {

// Until this is called, a failed allocation is retried for up to 5 seconds: an exception from a static
// object's constructor cannot be caught and would terminate the process.
void end_opening() noexcept;

} // namespace sotto::llama
