// Converts string formats that a grammar can enforce to patterns.
#include "grammar/schema/schema_parts.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

constexpr const char* kDate = "[1-9][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|"
                              "(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))";
constexpr const char* kUuid = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";

// One way to write a value of a string format, as a pattern.
struct Spelling {
    std::uint64_t length;
    std::string pattern;
};

std::vector<Spelling> times(std::uint64_t before, const std::string& prefix) {
    const std::string clock = prefix + "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]";
    const std::string part = "\\.[0-9]{3}";
    const std::string zone = "[+-]([01][0-9]|2[0-3]):[0-5][0-9]";
    return {
        {before + 9, clock + "Z"},
        {before + 13, clock + part + "Z"},
        {before + 14, clock + zone},
        {before + 18, clock + part + zone},
    };
}

std::vector<Spelling> spellings_of(const std::string& format) {
    if (format == "date") {
        return {{10, kDate}};
    }
    if (format == "uuid") {
        return {{36, kUuid}};
    }
    if (format == "time") {
        return times(0, "");
    }
    return times(11, std::string(kDate) + "T");
}

std::string pattern_of(const std::vector<Spelling>& spellings) {
    std::string all;
    for (const auto& [length, pattern] : spellings) {
        all += (all.empty() ? "" : "|") + pattern;
    }
    return "^(" + all + ")$";
}

bool known(const std::string& format) {
    return format == "date" || format == "time" || format == "date-time" || format == "uuid";
}

// Returns true if a schema allows strings. Formats apply to strings only; other types ignore formats.
bool may_be_string(const Schema& schema) {
    const auto type = schema.find("type");
    if (type == schema.end() || !type->is_array()) {
        return type == schema.end() || *type == "string";
    }
    return std::find(type->begin(), type->end(), "string") != type->end();
}

} // namespace

void check_format(const Schema& schema, const std::string& path) {
    const auto format = schema.find("format");
    if (format == schema.end() || !may_be_string(schema)) {
        return;
    }
    if (!known(format->get_ref<const std::string&>())) {
        unsupported_schema(
            below(path, "format"),
            *format,
            "\"date\", \"time\", \"date-time\" or \"uuid\"; write a \"pattern\", or remove the field"
        );
    }
    if (schema.contains("pattern")) {
        unsupported_schema(
            below(path, "format"), "not supported beside a \"pattern\"; write both as one \"pattern\""
        );
    }
}

std::string format_pattern(const std::string& format) {
    return pattern_of(spellings_of(format));
}

std::optional<Schema> formatted_string(const std::string& format, Length length, const std::string& path) {
    const auto all = spellings_of(format);
    auto fitting = all;
    std::erase_if(fitting, [&](const Spelling& one) {
        return one.length < length.least || one.length > length.most;
    });
    if (fitting.empty()) {
        return std::nullopt;
    }
    if (fitting.size() == all.size()) {
        return Schema{{"type", "string"}, {"format", format}};
    }
    return Schema{{"type", "string"}, {"pattern", json_pattern(pattern_of(fitting), {}, path)}};
}

} // namespace sotto::llama
