// Repeats the decisions of a recording.
#pragma once

#include <string>

namespace sotto {

// Feeds a recording's inputs to a scheduler and its learned models, and compares the resulting decisions with
// the recorded ones. Needs no model, no threads and no real time. Returns a JSON object:
//
//     file, version of the library that recorded it, decisions, same, streams, models, frames, seconds,
//     first_difference: null, or {line, recorded, replayed}
//     cut: true if the last line is incomplete, as after a crash; the others were replayed
//
// Throws Error(SOTTO_ERROR_NOT_FOUND) if the file cannot be opened, and Error(SOTTO_ERROR_ARGUMENT), which
// names the line, if it is not a regular file or not a recording.
std::string replay(const std::string& path);

} // namespace sotto
