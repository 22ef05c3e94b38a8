// How tests steer the double of a graphics card that a module was built with.
#pragma once

// From now on what it does at `where` ("init" or "synchronize"; "": nowhere) fails with what CUDA says then,
// and its driver says whether the card is lost.
extern "C" __attribute__((visibility("default"))) void
sotto_double_card(const char* where, const char* what, int lost);
