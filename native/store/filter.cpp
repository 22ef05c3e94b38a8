#include "store/filter.hpp"

#include "base/error.hpp"

namespace sotto::store {
namespace {

const char* operator_of(Comparison comparison) noexcept {
    switch (comparison) {
    case Comparison::not_equal:
        return "<>";
    case Comparison::less:
        return "<";
    case Comparison::less_equal:
        return "<=";
    case Comparison::greater:
        return ">";
    case Comparison::greater_equal:
        return ">=";
    default:
        return "=";
    }
}

// Compares the value at a path with one operand. The type is compared as well: SQLite reads true as 1.
std::string comparison_sql(Comparison comparison, const Scalar& operand) {
    const std::string type = "json_type(metadata, ?)";
    const std::string value = "json_extract(metadata, ?)";
    const std::string sign = operator_of(comparison);
    if (std::holds_alternative<std::nullptr_t>(operand)) {
        return "(ifnull(" + type + ", 'null') " + sign + " 'null')";
    }
    if (std::holds_alternative<bool>(operand)) {
        const std::string word = std::get<bool>(operand) ? "'true'" : "'false'";
        return "(ifnull(" + type + ", '') " + sign + " " + word + ")";
    }
    const std::string types = std::holds_alternative<double>(operand) ? "('integer', 'real')" : "('text')";
    const std::string same = "(ifnull(" + type + ", '') IN " + types + " AND " + value;
    if (comparison == Comparison::not_equal) {
        return "NOT " + same + " = ?)";
    }
    return same + " " + sign + " ?)";
}

std::string condition_sql(const Condition& condition) {
    const auto each = condition.comparison == Comparison::in ? Comparison::equal : condition.comparison;
    std::string sql;
    for (const auto& operand : condition.operands) {
        sql += (sql.empty() ? "(" : " OR ") + comparison_sql(each, operand);
    }
    return sql.empty() ? "0" : sql + ")"; // a value is in no empty list
}

void bind_operand(Run& run, const std::string& path, const Scalar& operand) {
    run.bind(path); // of the type
    if (const auto* number = std::get_if<double>(&operand)) {
        run.bind(path).bind(*number);
    } else if (const auto* text = std::get_if<std::string>(&operand)) {
        run.bind(path).bind(*text);
    }
}

} // namespace

std::string filter_sql(const Filter& filter) {
    std::string sql;
    const auto add = [&](const std::string& part) { sql += (sql.empty() ? "" : " AND ") + part; };
    if (filter.space) {
        add("space = ?");
    }
    if (!filter.key_contains.empty()) {
        add("sotto_contains(key, ?)");
    }
    for (const auto& condition : filter.where) {
        add(condition_sql(condition));
    }
    return sql.empty() ? "1" : sql;
}

void bind_filter(Run& run, const Filter& filter, const std::string& key) {
    if (filter.space) {
        run.bind(*filter.space);
    }
    if (!filter.key_contains.empty()) {
        run.bind(key);
    }
    for (const auto& condition : filter.where) {
        for (const auto& operand : condition.operands) {
            bind_operand(run, condition.path, operand);
        }
    }
}

std::string metadata_path(std::string_view field) {
    std::string path = "$";
    for (;;) {
        const auto dot = field.find('.');
        const auto name = field.substr(0, dot);
        if (name.empty() || name.find_first_of("\"\\") != std::string_view::npos) {
            throw invalid_argument(
                "where",
                field.substr(0, 100),
                "names of metadata fields, separated by dots, without quotation marks"
            );
        }
        path.append(".\"").append(name).append("\"");
        if (dot == std::string_view::npos) {
            return path;
        }
        field.remove_prefix(dot + 1);
    }
}

} // namespace sotto::store
