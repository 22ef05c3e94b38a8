// Takes the decisions of a recording again.
#pragma once

#include <string>

namespace sotto {

// Tells a scheduler, and what is learned beside it, what a recording says that an engine's were told, and
// compares what they then decide. Needs no model, no threads and no time. Returns a JSON object:
//
//     file, version of the library that recorded it, decisions, same, streams, models, frames, seconds,
//     first_difference: null, or {line, recorded, replayed}
//
// Throws Error(SOTTO_ERROR_NOT_FOUND) where there is no such file, and Error(SOTTO_ERROR_ARGUMENT) that names
// the line where it is no recording, or one that breaks off in the middle of a line.
std::string replay(const std::string& path);

} // namespace sotto
