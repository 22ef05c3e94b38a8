// Cost and safety checks before calls of functions of llama.cpp's Jinja engine.
#pragma once

#include <jinja/runtime.h>
#include <string>
#include <vector>

namespace sotto::llama {

// Charges the cost of a call. Throws if the call exceeds a limit or would terminate the process. `self`: the
// value that a method or filter is applied to; may be null.
void check_call(const std::string& name, const jinja::value& self, const std::vector<jinja::value>& args);

// Like check_call(), for `self is name(args)`.
void check_test(const std::string& name, const jinja::value& self, const std::vector<jinja::value>& args);

// Charges the cost of the expression `left op right`. Throws if it exceeds a limit or would terminate the
// process.
void check_operator(const std::string& op, const jinja::value& left, const jinja::value& right);

} // namespace sotto::llama
