// How tests steer the double of the CUDA driver. Found by dlsym in the library that was loaded.
#pragma once

// What happens, by name:
//   cards               how many there are (at most 4)
//   version             as cuDriverGetVersion, 13000
//   d3d12, vulkan       attributes 135 and 138 of every card but the first, which has neither; 2: not known
//   luids               whether cards have LUIDs, as on Windows
//   capability          compute capability of all cards, 89: 8.9
//   driver              release branch of the driver, as NVML reports it, 580; 0: unknown
//   enabled             what limit 8 says of a CiG context
//   per_queue           how many CiG contexts a queue may have at once
//   lost                every call fails but those that leave a context or destroy it
//   forgive             no call that was to fail fails any more
//   reset               all as at first, but for contexts and streams; 2: as on Windows, with LUIDs
extern "C" void sotto_double_set(const char* what, long value);

// From now on, the `ordinal`th call of that name fails, once. Name "*": the `ordinal`th of all.
extern "C" void sotto_double_fail(const char* call, long ordinal, int result);

// How things are, by name: contexts, streams, current (of the calling thread), depth (likewise), calls (all
// since the reset), failures (asked for, and had), misuses.
extern "C" long sotto_double_get(const char* what);

// The calls since the reset of that name.
extern "C" long sotto_double_calls(const char* call);

// What was done that may not be, a line each.
extern "C" const char* sotto_double_misuses();

// A context as a host would have it. `cig`: in a renderer's scheduling context. It isn't current anywhere.
extern "C" void* sotto_double_context(int card, int cig);
extern "C" void sotto_double_context_gone(void* context);
