// Retries failed allocations while llama.cpp's static objects are constructed, which happens inside dlopen().
#pragma once

namespace sotto::llama {

// Ends the retries of failed allocations. Until this call, a failed allocation is retried for up to 5
// seconds: an exception from a static object's constructor cannot be caught and would terminate the process.
void end_opening() noexcept;

} // namespace sotto::llama
