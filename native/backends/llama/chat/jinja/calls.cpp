// Charges calls of llama.cpp's Jinja functions to the render budget if they cost more than one render
// step. Rejects calls that exceed a limit or would terminate the process.
#include "chat/jinja/calls.hpp"

#include "chat/jinja/limits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>
#include <string_view>

namespace sotto::llama {
namespace {

using jinja::value;
using Args = std::vector<value>;

constexpr std::size_t kValueBytes = 320; // including the shared_ptr control block
constexpr std::int64_t kMaxIndex = std::int64_t{1} << 40;
constexpr std::int64_t kMaxIndent = 64;

bool is_text(const value& value) {
    return value && jinja::is_val<jinja::value_string>(value);
}

bool is_list(const value& value) {
    return value && jinja::is_val<jinja::value_array>(value);
}

bool is_container(const value& value) {
    return value && (is_list(value) || jinja::is_val<jinja::value_object>(value) || value->val_func);
}

std::size_t size_of(const value& text) {
    return is_text(text) ? text->val_str.length() : 0;
}

// Returns the value of an argument by name or position; null if it is absent.
value argument(const Args& args, const char* name, std::size_t position) {
    for (const auto& arg : args) {
        if (const auto* named = jinja::cast_val<jinja::value_kwarg>(arg);
            named != nullptr && named->key == name) {
            return named->val;
        }
    }
    const bool there = position < args.size() && !jinja::is_val<jinja::value_kwarg>(args[position]);
    return there ? args[position] : nullptr;
}

std::int64_t whole(const value& number, std::int64_t otherwise) {
    return number && jinja::is_val<jinja::value_int>(number) ? number->val_int : otherwise;
}

std::size_t product(std::size_t a, std::size_t b) {
    return b != 0 && a > SIZE_MAX / 2 / b ? SIZE_MAX / 2 : a * b;
}

void charge_bytes(RenderLimits& limits, std::size_t count) {
    limits.steps(count / kBytesPerStep);
}

// Charges steps and bytes for `count` new values.
void charge_values(RenderLimits& limits, std::size_t count) {
    limits.steps(count / kItemsPerStep);
    limits.bytes(product(count, kValueBytes));
}

void check_range(RenderLimits& limits, const Args& args) {
    const auto first = whole(args.empty() ? nullptr : args[0], 0);
    const auto start = args.size() > 1 ? first : 0;
    const auto stop = args.size() > 1 ? whole(args[1], 0) : first;
    const auto step = args.size() > 2 ? whole(args[2], 1) : 1;
    for (const auto number : {start, stop, step}) {
        if (number > kMaxIndex || number < -kMaxIndex) {
            limits.exceed("it makes a range of " + std::to_string(number));
        }
    }
    if (step != 0 && (stop - start) / step > 0) {
        charge_values(limits, static_cast<std::size_t>((stop - start) / step));
    }
}

void check_indices(RenderLimits& limits, const Args& args) {
    for (const auto& arg : args) {
        const auto number = whole(arg, 0);
        if (number > kMaxIndex || number < -kMaxIndex) {
            limits.exceed("it takes a slice of " + std::to_string(number));
        }
    }
}

std::size_t occurrences(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = 0; !what.empty() && (at = text.find(what, at)) != std::string::npos;) {
        at += what.size();
        ++count;
    }
    return count;
}

// Charges split() and replace(), which move the rest of the text at each occurrence.
void check_pieces(RenderLimits& limits, const std::string& name, const value& self, const Args& args) {
    if (!is_text(self)) {
        return;
    }
    const auto text = self->as_string().str();
    const auto what = argument(args, "", 0);
    const auto sought = is_text(what) ? what->as_string().str() : std::string(" ");
    charge_bytes(limits, product(text.size(), sought.size()));
    const auto count = sought.empty() ? text.size() + 1 : occurrences(text, sought);
    charge_bytes(limits, sought.empty() ? text.size() : product(count, text.size()));
    if (name == "replace") {
        const auto with = args.size() > 1 ? size_of(args[1]) : 0;
        limits.text(text.size() + product(count, with));
    } else {
        charge_values(limits, count);
    }
}

void check_indent(RenderLimits& limits, const value& self, const Args& args) {
    const auto width = argument(args, "width", 0);
    const auto by = whole(width, 4);
    if (by < 0 || by > kMaxIndent) {
        limits.exceed(
            "it indents by " + std::to_string(by) + ": expected 0 to " + std::to_string(kMaxIndent)
        );
    }
    const auto each = is_text(width) ? size_of(width) : static_cast<std::size_t>(by);
    const auto lines = is_text(self) ? occurrences(self->as_string().str(), "\n") + 1 : 0;
    limits.text(size_of(self) + product(lines, each));
}

void check_join(RenderLimits& limits, const value& self, const Args& args) {
    if (is_list(self)) {
        const auto extent = limits.walk(self);
        const auto delimiter = argument(args, "d", 0);
        limits.text(extent.bytes + product(self->val_arr.size(), 16 + size_of(delimiter)));
    }
}

// Rejects a format() whose result may be too long: format() copies each argument into the text.
void check_format(RenderLimits& limits, const value& self, const Args& args) {
    auto length = size_of(self);
    for (const auto& arg : args) {
        const auto extent = limits.walk(arg);
        length += extent.bytes + product(extent.values, 32); // maximum length of a formatted number
    }
    limits.text(length);
}

void check_json(RenderLimits& limits, const value& self, const Args& args) {
    const auto indent = whole(argument(args, "indent", 1), -1);
    if (indent > kMaxIndent) {
        limits.exceed(
            "it indents by " + std::to_string(indent) + ": expected 0 to " + std::to_string(kMaxIndent)
        );
    }
    std::size_t separators = 0;
    if (const auto list = argument(args, "separators", 2); is_list(list)) {
        for (const auto& separator : list->val_arr) {
            separators += size_of(separator);
        }
    }
    const auto extent = self ? limits.walk(self) : RenderLimits::Extent();
    const auto spaces = product(static_cast<std::size_t>(std::max<std::int64_t>(0, indent)), 8);
    limits.text(extent.bytes + product(extent.values, 8 + separators + spaces));
}

// Rejects values of different types: llama.cpp treats all values but texts and numbers as equal,
// which is not a strict weak ordering and breaks std::sort.
void check_sort(RenderLimits& limits, const value& self, const value& attribute, bool by_value) {
    if (!self) {
        return;
    }
    std::set<int> kinds;
    std::size_t bytes = 0;
    const auto see = [&](const value& key) {
        const bool number = jinja::is_val<jinja::value_int>(key) || jinja::is_val<jinja::value_float>(key);
        if (number && std::isnan(key->val_flt)) {
            throw std::runtime_error("cannot sort what is not a number");
        }
        kinds.insert(is_text(key) ? 0 : number ? 1 : 2);
        bytes += size_of(key);
    };
    for (const auto& item : self->val_arr) {
        value key = item;
        if (attribute) {
            key = jinja::mk_val<jinja::value_undefined>();
            if (jinja::is_val<jinja::value_object>(item) || is_list(item)) {
                value none = key;
                key = item->at(attribute, none);
            }
        }
        see(key);
    }
    for (const auto& [key, item] : self->val_obj) {
        see(by_value ? item : key);
    }
    if (kinds.size() > 1) {
        throw std::runtime_error("cannot sort values of different types");
    }
    const auto count = self->val_arr.size() + self->val_obj.size();
    const std::size_t passes = 2 * std::bit_width(count);
    charge_bytes(limits, product(bytes, passes));
    limits.steps(product(count, passes) / kItemsPerStep);
}

void check_divisor(const value& divisor) {
    if (divisor && (whole(divisor, 1) == 0 || whole(divisor, 1) == -1)) {
        throw std::runtime_error("cannot divide by " + std::to_string(divisor->val_int));
    }
}

void check_search(RenderLimits& limits, const value& needle, const value& haystack) {
    if (!haystack) {
        return;
    }
    if (is_container(needle)) { // comparing or hashing a container walks its whole contents
        limits.walk(needle);
        limits.walk(haystack);
    }
    std::size_t bytes = size_of(haystack);
    for (const auto& item : haystack->val_arr) {
        bytes += size_of(item);
    }
    const auto items = haystack->val_arr.size();
    limits.steps(items / kItemsPerStep);
    const auto length = std::max<std::size_t>(1, size_of(needle));
    charge_bytes(limits, is_text(haystack) ? product(bytes, length) : bytes + product(items, length));
}

// Charges selectattr() and similar filters, which apply a test to each item.
void check_select(RenderLimits& limits, const value& self, const Args& args) {
    for (std::size_t i = 0; i < args.size(); ++i) {
        const auto test = is_text(args[i]) ? args[i]->as_string().str() : "";
        const auto operand = i + 1 < args.size() ? args[i + 1] : nullptr;
        if (test == "divisibleby") {
            check_divisor(operand);
        } else if (test == "in" && operand && self) {
            const auto extent = limits.walk(self);
            check_search(limits, nullptr, operand);
            const auto each = operand->val_arr.size() + size_of(operand) / 64 + 1;
            limits.steps(product(extent.values, each) / kItemsPerStep);
        } else if (operand && self) {
            charge_bytes(limits, product(self->val_arr.size(), size_of(operand)));
        }
    }
}

void check_time(const Args& args) {
#ifdef _WIN32 // on Windows, strftime() terminates the process on an unknown conversion
    constexpr std::string_view kKnown = "aAbBcCdDeFgGhHIjmMnprRStTuUVwWxXyYzZ%";
    const auto format = !args.empty() && is_text(args[0]) ? args[0]->as_string().str() : "";
    for (std::size_t at = format.find('%'); at != std::string::npos; at = format.find('%', at + 2)) {
        if (at + 1 >= format.size() || kKnown.find(format[at + 1]) == std::string_view::npos) {
            throw std::runtime_error("strftime_now: unknown conversion in '" + format + "'");
        }
    }
#else
    (void)args;
#endif
}

// Charges dict() and namespace(): dict() searches the existing entries for each new entry.
void check_object(RenderLimits& limits, const Args& args) {
    for (const auto& arg : args) {
        const auto count = arg->val_arr.size() + arg->val_obj.size();
        charge_values(limits, count);
        limits.steps(product(count, count) / (4 * kItemsPerStep));
        for (const auto& item : arg->val_arr) {
            limits.walk(item); // a key and its value; the key is hashed
        }
    }
}

bool walks_nothing(std::string_view name) {
    constexpr std::array<std::string_view, 19> kShallow = {
        "append", "default", "dict",       "first",      "get",       "items", "keys",
        "last",   "length",  "list",       "map",        "namespace", "pop",   "reverse",
        "slice",  "values",  "selectattr", "rejectattr", "count",
    };
    return std::find(kShallow.begin(), kShallow.end(), name) != kShallow.end();
}

// Charges a method or filter: both copy lists, and convert other values to text.
void charge_method(RenderLimits& limits, const std::string& name, const value& self, const Args& args) {
    const auto count = self->val_arr.size() + self->val_obj.size();
    if (name == "items") {
        charge_values(limits, count);
    } else if (name != "get" && name != "append" && name != "first" && name != "last" && name != "length") {
        limits.steps(count / kItemsPerStep);
    }
    if (walks_nothing(name)) {
        return;
    }
    for (const auto& arg : args) {
        if (is_container(arg)) {
            limits.walk(arg);
        }
    }
    if (is_container(self)) {
        limits.walk(self);
    }
}

} // namespace

void check_call(const std::string& name, const value& self, const Args& args) {
    auto* limits = RenderLimits::current();
    if (limits == nullptr) {
        return;
    }
    const bool method = self != nullptr;
    const auto& subject = method || args.empty() ? self : args[0]; // tojson(x) is called as a function
    if (method) {
        charge_method(*limits, name, self, args);
    }
    if (name == "range") {
        check_range(*limits, args);
    } else if (name == "slice") {
        check_indices(*limits, args);
    } else if (name == "split" || name == "rsplit" || name == "replace") {
        check_pieces(*limits, name, self, args);
    } else if (name == "indent") {
        check_indent(*limits, self, args);
    } else if (name == "join") {
        check_join(*limits, self, args);
    } else if (name == "format") {
        check_format(*limits, self, args);
    } else if (name == "tojson" || name == "safe" || name == "string") {
        check_json(*limits, subject, method || args.empty() ? args : Args(args.begin() + 1, args.end()));
    } else if (name == "sort") {
        check_sort(*limits, self, argument(args, "attribute", 2), false);
    } else if (name == "dictsort") {
        const auto by = argument(args, "by", 1);
        check_sort(*limits, self, nullptr, is_text(by) && by->as_string().str() == "value");
    } else if (name.starts_with("select") || name.starts_with("reject")) {
        check_select(*limits, self, args);
    } else if (name == "strip" || name == "lstrip" || name == "rstrip") {
        charge_bytes(*limits, product(size_of(self), args.empty() ? 0 : size_of(args[0])));
    } else if (name == "strftime_now") {
        check_time(args);
    } else if (name == "dict" || name == "namespace") {
        check_object(*limits, args);
    }
}

void check_test(const std::string& name, const value& self, const Args& args) {
    auto* limits = RenderLimits::current();
    if (limits == nullptr || args.empty()) {
        return;
    }
    if (name == "divisibleby") {
        check_divisor(args[0]);
    } else if (name == "in") {
        check_search(*limits, self, args[0]);
    } else {
        charge_bytes(*limits, size_of(self) + size_of(args[0]));
    }
}

void check_operator(const std::string& op, const value& left, const value& right) {
    auto* limits = RenderLimits::current();
    if (limits == nullptr) {
        return;
    }
    if (op == "*") {
        const auto times = std::max<std::int64_t>(0, is_text(left) ? whole(right, 0) : whole(left, 0));
        const auto parts = is_text(left)    ? left->val_str.parts.size()
                           : is_text(right) ? right->val_str.parts.size()
                                            : 0;
        const auto length = size_of(left) + size_of(right); // one of the operands is a number
        limits->text(product(std::max(length, parts), static_cast<std::size_t>(times)));
        return;
    }
    if (op == "in" || op == "not in") {
        check_search(*limits, left, right);
        return;
    }
    if (is_list(left) && is_list(right)) {
        limits->list(left->val_arr.size() + right->val_arr.size());
    }
    const bool compared = op == "==" || op == "!=";
    if (compared && !(is_container(left) && is_container(right))) {
        charge_bytes(*limits, size_of(left) + size_of(right));
        return;
    }
    const bool lists = is_list(left) && is_list(right) && op == "+";
    for (const auto& side : {left, right}) {
        if (lists) {
            limits->steps(side->val_arr.size() / kItemsPerStep);
        } else if (is_container(side)) {
            limits->walk(side);
        }
    }
}

} // namespace sotto::llama
