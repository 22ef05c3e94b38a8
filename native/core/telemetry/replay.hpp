// Takes the decisions of a recording again.
#pragma once

#include <string>

namespace sotto {

// Tells a scheduler, and what is learned beside it, what a recording says that an engine's were told, and
// compares what they then decide. Needs no model, no threads and no time. Returns a JSON object:
//
//     file, version of the library that recorded it, decisions, same, streams, models, frames, seconds,
//     first_difference: null, or {line, recorded, replayed}
//     cut: true if the last line is not whole, as after a crash; the others were replayed
//
// Throws Error(SOTTO_ERROR_NOT_FOUND) if the file cannot be opened, and Error(SOTTO_ERROR_ARGUMENT) if it is
// not a regular file, or not a recording: then it names the line.
std::string replay(const std::string& path);

} // namespace sotto
