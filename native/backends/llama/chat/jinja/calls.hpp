// What is checked before a function of llama.cpp's Jinja is called.
#pragma once

#include <jinja/runtime.h>
#include <string>
#include <vector>

namespace sotto::llama {

// Charges what the call will take, and throws where that is too much or where it would end the process.
// `self`: of a method or filter; may be none.
void check_call(const std::string& name, const jinja::value& self, const std::vector<jinja::value>& args);

// The same for `self is name(args)`.
void check_test(const std::string& name, const jinja::value& self, const std::vector<jinja::value>& args);

// The same for `left op right`.
void check_operator(const std::string& op, const jinja::value& left, const jinja::value& right);

} // namespace sotto::llama
