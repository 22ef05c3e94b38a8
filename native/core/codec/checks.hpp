// Shared parts of the request parser. Each check throws an Error that names the field by its path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/codec/codec.hpp"
#include "text/json_reader.hpp"

namespace sotto {

// Returns the path of a list element: "list[i]".
std::string element(const std::string& list, std::size_t i);

// Returns the fields of element `i` of the list at `path`. Throws if the element is not an object.
Fields object_at(const Json& list, std::size_t i, const std::string& path);

// Returns the model that a body names. Throws if `needed` and the body names none.
std::string read_model(const Fields& body, bool needed);
// Returns the session that `body` names, and the messages that `body` adds to the session. `text` is the text
// of `body`.
InSession read_in_session(const Fields& body, std::string_view text, const std::atomic<bool>* cancelled);
// As read_in_session(), for a completion, whose prompt is an array of tokens.
InSession
read_tokens_in_session(const Fields& body, std::string_view text, const std::atomic<bool>* cancelled);
// Returns the tokens in the array `key`. Throws unless it is an array of tokens.
std::vector<std::int32_t> read_tokens(const Fields& body, const char* key);
// Checks that the required field `key` is an array of tokens.
void check_tokens(const Fields& body, const char* key, bool may_be_empty);
// Checks the list of content parts at `path`: texts, images and sounds.
void check_parts(const Json& parts, const std::string& path);
// Checks a message that a file stores. `text`: JSON.
void check_stored_message(std::string_view text);
void check_message_list(const Fields& body, bool may_be_empty);
// `in_session`: the messages continue those of a session.
void check_messages(const Fields& body, bool in_session);
void check_tools(const Fields& body);
AdaptersAsked read_adapters(const Fields& body);
void check_sampling(const Fields& body);
// Returns the name of the field that constrains the answer's format; empty: no such field.
std::string check_form(const Fields& body);
void check_template_kwargs(const Fields& body);
void require_text(const Fields& body, const char* key, bool may_be_empty);
// Checks that `guardrails` of SOTTO_OP_CHECK is an object and its text is not too large.
void check_guardrails(const Fields& body);
// Checks the body of an operation with data; see has_data().
void check_data(sotto_op op, const Fields& body);
// Checks the body of an image operation; see is_about_images().
void check_image(sotto_op op, const Fields& body);

// Throws Error(SOTTO_ERROR_ARGUMENT) for an unknown field within an edit distance of one or two of a known
// field, and suggests the known field. Returns the other fields that the operation ignores, at most 16.
std::vector<std::string> check_names(sotto_op op, const Json& body);

// Throws for a field that the operation reads and whose value violates its row in native/request/fields.toml.
void check_values(sotto_op op, const Fields& body);

} // namespace sotto
