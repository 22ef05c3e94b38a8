// The parts of the codec's reading half. Each throws Error that names the field by its path.
#pragma once

#include <string>

#include "text/json_reader.hpp"

namespace sotto {

// An element of a list as a path has it.
std::string element(const std::string& list, std::size_t i);

// The fields of element `i` of the list at `path`, which must be an object.
Fields object_at(const Json& list, std::size_t i, const std::string& path);

void check_messages(const Fields& body);
void check_tools(const Fields& body);
void check_sampling(const Fields& body);
// Returns the field that says what form an answer has; empty if none does.
std::string check_form(const Fields& body);
void check_thinking(const Fields& body);

} // namespace sotto
