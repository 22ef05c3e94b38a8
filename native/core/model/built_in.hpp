// Models that come with the library, and the backend of a model that names none.
#pragma once

#include <string>

namespace sotto {

// Returns the file of a built-in model such as "sotto/house", in the library's folder; empty: `id` is none.
std::string built_in_file(const std::string& id);

// Returns the backend of a model for which the host names none; empty: the default backend.
std::string backend_for(const std::string& id, const std::string& path);

} // namespace sotto
