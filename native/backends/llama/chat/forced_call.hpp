// Forces an answer to be a tool call, for requests with a "tool_choice" that requires one.
#pragma once

#include "runtime/fence.hpp"

#include <chat.h>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace sotto::llama {

// Changes `how`, the format of an answer that must be a call: removes the text before a call, which the
// grammars of most templates allow without a limit. If the template has no format for calls, sets a generic
// one: a JSON object with the tool's name and arguments.
void force_call(common_chat_params& how, const common_chat_templates_inputs& inputs);

// Returns about the shortest call of each tool: its names, and empty values of required arguments.
std::vector<std::string> shortest_calls(const nlohmann::ordered_json& tools);

// Lists the tools in the system message of `messages`, for templates that do not show tools to the model.
void show_tools(nlohmann::ordered_json& messages, const common_chat_templates_inputs& inputs);

} // namespace sotto::llama
