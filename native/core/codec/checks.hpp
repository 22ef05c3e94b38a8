// The parts of the codec's reading half. Each throws Error that names the field by its path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/codec/codec.hpp"
#include "text/json_reader.hpp"

namespace sotto {

// An element of a list as a path has it.
std::string element(const std::string& list, std::size_t i);

// The fields of element `i` of the list at `path`, which must be an object.
Fields object_at(const Json& list, std::size_t i, const std::string& path);

// The model that a body names; one that needs none may name none.
std::string read_model(const Fields& body, bool needed);
// What `body`, whose text that is, says of a session, and with which messages it goes on.
InSession read_in_session(const Fields& body, std::string_view text, const std::atomic<bool>* cancelled);
void check_message_list(const Fields& body, bool may_be_empty);
// `in_session`: the messages were read, and others came before them.
void check_messages(const Fields& body, bool in_session);
void check_tools(const Fields& body);
AdaptersAsked read_adapters(const Fields& body);
void check_sampling(const Fields& body);
// Returns the field that says what form an answer has; empty if none does.
std::string check_form(const Fields& body);
void check_template_kwargs(const Fields& body);

// Throws Error(SOTTO_ERROR_ARGUMENT) for a field that is an edit or two from a known one, which it names.
// Returns the other fields that the operation ignores, at most 16.
std::vector<std::string> check_names(sotto_op op, const Json& body);

// Throws for a field that the operation reads and whose value its row of native/request/fields.toml does not
// allow.
void check_values(sotto_op op, const Fields& body);

} // namespace sotto
