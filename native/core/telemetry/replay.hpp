// Replays a recording, to check that the engine would decide the same again.
#pragma once

#include <string>

namespace sotto {

// Feeds the inputs in a recording to a new scheduler, cost model and duty controller, and compares the
// resulting decisions with the recorded ones. Needs no model, no threads and no real time. Returns a JSON
// object:
//
//     file, streams, models, frames, seconds: what the recording contains
//     version: of the library that made the recording
//     decisions, same: number of decisions compared, and of those that did not differ
//     first_difference: null, or {line, what, recorded, replayed}
//     cut: true if the last line is incomplete, as after a crash; the other lines were replayed
//
// Throws Error(SOTTO_ERROR_NOT_FOUND) if the file cannot be opened, and Error(SOTTO_ERROR_ARGUMENT), which
// names the line, if it is not a regular file or not a recording.
std::string replay(const std::string& path);

} // namespace sotto
