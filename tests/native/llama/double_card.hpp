// Controls the fake GPU of a module.
#pragma once

// Makes the call `where` ("init" or "synchronize"; "": none) fail with CUDA's error text `what` from now on.
// `lost`: whether its driver reports the GPU as lost.
extern "C" __attribute__((visibility("default"))) void
sotto_double_card(const char* where, const char* what, int lost);
