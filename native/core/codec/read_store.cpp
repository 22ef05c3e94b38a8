// Reads the JSON of sotto/store.h.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "core/codec/store_body.hpp"
#include "store/filter.hpp"
#include "text/json_reader.hpp"

namespace sotto {
namespace {

constexpr std::int64_t kMaxTime = 1LL << 52;
constexpr double kMaxNumber = 1e6;
constexpr std::size_t kMaxDim = 16384;
constexpr std::int64_t kMaxPage = 10'000;
constexpr double kMaxHalfLife = 1e12; // seconds

using Names = std::initializer_list<const char*>;

constexpr const char* kFilterNames[] = {"namespace", "key_contains", "where"};

// Refuses fields that are in neither list.
void require_known(const Json& object, const Fields& fields, Names names, bool filter = false) {
    for (const auto& [key, value] : object.items()) {
        const auto is_key = [&key = key](const char* name) { return key == name; };
        bool known = std::any_of(names.begin(), names.end(), is_key);
        known = known || (filter && std::any_of(std::begin(kFilterNames), std::end(kFilterNames), is_key));
        if (!known) {
            std::string all;
            for (const auto* name : names) {
                all.append(all.empty() ? "" : ", ").append(name);
            }
            throw Error(
                SOTTO_ERROR_ARGUMENT,
                "unknown field '" + fields.path(excerpt(Json(key)).c_str()) + "': expected " + all +
                    (filter ? ", namespace, key_contains, where" : "")
            );
        }
    }
}

Json object_of(std::string_view text, std::string_view name) {
    return text.empty() ? Json::object() : parse_object(text, name);
}

std::optional<std::string> string_of(const Fields& fields, const char* key) {
    const Json* found = fields.find(key);
    if (found == nullptr) {
        return std::nullopt;
    }
    if (!found->is_string()) {
        fields.refuse(key, *found, "a string");
    }
    return found->get<std::string>();
}

float number_at(const Fields& fields, const char* key, const Json& list, std::size_t index) {
    const Json& value = list[index];
    const double number = value.is_number() ? value.get<double>() : std::nan("");
    const auto narrow = static_cast<float>(number);
    if (!std::isfinite(number) || !std::isfinite(narrow)) {
        fields.refuse((key + ("[" + std::to_string(index) + "]")).c_str(), value, "a finite number");
    }
    return narrow;
}

// Returns the numbers of an embedding, or nothing if the field is absent.
std::optional<std::vector<float>> embedding_of(const Fields& fields, const char* key) {
    const Json* found = fields.find(key);
    if (found == nullptr) {
        return std::nullopt;
    }
    if (!found->is_array() || found->empty() || found->size() > kMaxDim) {
        fields.refuse(key, *found, "an array of numbers, one for each dimension of the store");
    }
    std::vector<float> values(found->size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = number_at(fields, key, *found, i);
    }
    if (std::all_of(values.begin(), values.end(), [](float value) { return value == 0.0F; })) {
        throw invalid_argument(
            fields.path(key),
            "[0, ...]",
            "a vector that is not zero: a zero vector has no direction to compare"
        );
    }
    return values;
}

std::optional<std::string> metadata_of(const Fields& fields) {
    const Json* found = fields.find("metadata");
    if (found == nullptr) {
        return std::nullopt;
    }
    if (!found->is_object()) {
        fields.refuse("metadata", *found, "a JSON object");
    }
    return to_text(*found);
}

store::Entry entry_of(const Json& object, const std::string& path) {
    if (!object.is_object()) {
        throw invalid_argument(path, excerpt(object), "a JSON object with the fields of an entry");
    }
    const Fields fields(object, path);
    require_known(
        object,
        fields,
        {"id",
         "namespace",
         "key",
         "value",
         "embedding",
         "priority",
         "importance",
         "created_ms",
         "accessed_ms",
         "metadata"}
    );
    store::Entry entry;
    entry.id = string_of(fields, "id").value_or("");
    entry.space = string_of(fields, "namespace").value_or("");
    const auto key = string_of(fields, "key");
    const auto value = string_of(fields, "value");
    if (!key && !value) {
        fields.require("value", "a string, or a field key");
    }
    entry.key = key.value_or("");
    entry.value = value.value_or("");
    entry.embedding = embedding_of(fields, "embedding").value_or(std::vector<float>());
    entry.priority = fields.number("priority", -kMaxNumber, kMaxNumber).value_or(entry.priority);
    entry.importance = fields.number("importance", 0, 1).value_or(entry.importance);
    entry.created_ms = fields.integer("created_ms", -kMaxTime, kMaxTime).value_or(0);
    entry.accessed_ms = fields.integer("accessed_ms", -kMaxTime, kMaxTime).value_or(0);
    entry.metadata = metadata_of(fields).value_or(entry.metadata);
    return entry;
}

store::Scalar scalar_of(const Json& value, const std::string& path) {
    if (value.is_null()) {
        return nullptr;
    }
    if (value.is_boolean()) {
        return value.get<bool>();
    }
    if (value.is_number()) {
        return value.get<double>();
    }
    if (value.is_string()) {
        return value.get<std::string>();
    }
    throw invalid_argument(
        path, excerpt(value), "a string, number, boolean or null, or an object such as {\"gte\": 1}"
    );
}

constexpr std::pair<const char*, store::Comparison> kComparisons[] = {
    {"eq", store::Comparison::equal},
    {"ne", store::Comparison::not_equal},
    {"lt", store::Comparison::less},
    {"lte", store::Comparison::less_equal},
    {"gt", store::Comparison::greater},
    {"gte", store::Comparison::greater_equal},
    {"in", store::Comparison::in},
};

bool is_order(store::Comparison comparison) {
    return comparison != store::Comparison::equal && comparison != store::Comparison::not_equal &&
           comparison != store::Comparison::in;
}

store::Condition condition_of(
    const std::string& field, const std::string& word, const Json& operand, const std::string& path
) {
    const auto* found = std::find_if(std::begin(kComparisons), std::end(kComparisons), [&](const auto& one) {
        return word == one.first;
    });
    if (found == std::end(kComparisons)) {
        throw invalid_argument(path, excerpt(Json(word)), "eq, ne, lt, lte, gt, gte or in");
    }
    store::Condition condition{store::metadata_path(field), found->second, {}};
    const auto where = path + "." + word;
    if (condition.comparison == store::Comparison::in) {
        constexpr std::size_t kMaxList = 1000;
        if (!operand.is_array() || operand.size() > kMaxList) {
            throw invalid_argument(where, excerpt(operand), "an array of at most 1000 values");
        }
        for (const auto& one : operand) {
            condition.operands.push_back(scalar_of(one, where));
        }
        return condition;
    }
    condition.operands.push_back(scalar_of(operand, where));
    if (is_order(condition.comparison) && !operand.is_number() && !operand.is_string()) {
        throw invalid_argument(where, excerpt(operand), "a number or a string");
    }
    return condition;
}

std::vector<store::Condition> where_of(const Fields& fields) {
    constexpr std::size_t kMaxConditions = 32;
    std::vector<store::Condition> all;
    const Json* found = fields.find("where");
    if (found == nullptr) {
        return all;
    }
    if (!found->is_object()) {
        fields.refuse("where", *found, "an object of metadata fields");
    }
    for (const auto& [field, value] : found->items()) {
        const auto path = fields.path("where") + "." + excerpt(Json(field));
        if (!value.is_object()) {
            all.push_back(condition_of(field, value.is_array() ? "in" : "eq", value, path));
            continue;
        }
        for (const auto& [word, operand] : value.items()) {
            all.push_back(condition_of(field, word, operand, path));
        }
    }
    if (all.size() > kMaxConditions) {
        throw invalid_argument(fields.path("where"), std::to_string(all.size()), "at most 32 conditions");
    }
    return all;
}

store::Filter filter_of(const Fields& fields) {
    store::Filter filter;
    filter.space = string_of(fields, "namespace");
    filter.key_contains = string_of(fields, "key_contains").value_or("");
    filter.where = where_of(fields);
    return filter;
}

store::Weights weights_of(const Fields& fields) {
    const Json* found = fields.find("weights");
    store::Weights weights;
    if (found == nullptr) {
        return weights;
    }
    if (!found->is_object()) {
        fields.refuse("weights", *found, "an object");
    }
    const Fields each(*found, fields.path("weights"));
    require_known(*found, each, {"relevance", "priority", "recency", "importance"});
    weights.relevance = each.number("relevance", 0, kMaxNumber).value_or(weights.relevance);
    weights.priority = each.number("priority", 0, kMaxNumber).value_or(weights.priority);
    weights.recency = each.number("recency", 0, kMaxNumber).value_or(weights.recency);
    weights.importance = each.number("importance", 0, kMaxNumber).value_or(weights.importance);
    return weights;
}

// Gives each entry its part of `vectors`.
void deal(std::span<const float> vectors, std::vector<store::Entry>& entries) {
    if (entries.empty() || vectors.size() % entries.size() != 0) {
        throw invalid_argument(
            "count",
            std::to_string(vectors.size()),
            "the same number of floats for each of " + std::to_string(entries.size()) + " entries"
        );
    }
    const auto dim = vectors.size() / entries.size();
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (!entries[i].embedding.empty()) {
            throw Error(
                SOTTO_ERROR_ARGUMENT,
                "invalid entries[" + std::to_string(i) + "].embedding: expected no such field with vectors"
            );
        }
        const auto part = vectors.subspan(i * dim, dim);
        entries[i].embedding.assign(part.begin(), part.end());
    }
}

// Parses the array of entries, or the object with it.
Json insertion_object(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && text[first] == '[') {
        std::string object = "{\"entries\":";
        object.append(text).append("}");
        return parse_object(object, "entries");
    }
    return parse_object(text, "entries");
}

} // namespace

StoreInsertion read_store_insertion(std::string_view text, std::span<const float> vectors) {
    const Json object = insertion_object(text);
    const Fields fields(object, "");
    require_known(object, fields, {"entries", "replace"});
    const Json& list = fields.require("entries", "an array of entries");
    if (!list.is_array()) {
        fields.refuse("entries", list, "an array of entries");
    }
    StoreInsertion insertion;
    insertion.replace = fields.boolean("replace").value_or(false);
    insertion.entries.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        insertion.entries.push_back(entry_of(list[i], "entries[" + std::to_string(i) + "]"));
    }
    if (!vectors.empty()) {
        deal(vectors, insertion.entries);
    }
    return insertion;
}

store::EntryChange read_store_change(std::string_view text) {
    const Json object = object_of(text, "changes");
    const Fields fields(object, "");
    require_known(
        object,
        fields,
        {"namespace", "key", "value", "embedding", "priority", "importance", "accessed_ms", "metadata"}
    );
    store::EntryChange change;
    change.space = string_of(fields, "namespace");
    change.key = string_of(fields, "key");
    change.value = string_of(fields, "value");
    change.embedding = embedding_of(fields, "embedding");
    if (const auto given = object.find("embedding"); given != object.end() && given->is_null()) {
        change.embedding.emplace();
    }
    change.priority = fields.number("priority", -kMaxNumber, kMaxNumber);
    change.importance = fields.number("importance", 0, 1);
    change.accessed_ms = fields.integer("accessed_ms", -kMaxTime, kMaxTime);
    change.metadata = metadata_of(fields);
    return change;
}

StoreRemoval read_store_removal(std::string_view text) {
    const Json object = parse_object(text, "which");
    const Fields fields(object, "");
    StoreRemoval removal;
    const Json* ids = fields.find("ids");
    if (ids == nullptr) {
        require_known(object, fields, {"ids"}, true);
        removal.filter = filter_of(fields);
        return removal;
    }
    require_known(object, fields, {"ids"}); // both would not say which of the two counts
    removal.by_id = true;
    if (!ids->is_array()) {
        fields.refuse("ids", *ids, "an array of ids");
    }
    for (std::size_t i = 0; i < ids->size(); ++i) {
        const Json& id = (*ids)[i];
        if (!id.is_string()) {
            fields.refuse(("ids[" + std::to_string(i) + "]").c_str(), id, "a string");
        }
        removal.ids.push_back(id.get<std::string>());
    }
    return removal;
}

store::Filter read_store_filter(std::string_view text) {
    const Json object = object_of(text, "filter");
    const Fields fields(object, "");
    require_known(object, fields, {"namespace", "key_contains", "where"});
    return filter_of(fields);
}

store::ListOptions read_store_list(std::string_view text) {
    const Json object = object_of(text, "options");
    const Fields fields(object, "");
    require_known(object, fields, {"limit", "after", "with_embedding"}, true);
    store::ListOptions options;
    options.filter = filter_of(fields);
    options.limit = static_cast<std::size_t>(fields.integer("limit", 1, kMaxPage).value_or(100));
    options.after = fields.integer("after", 0, INT64_MAX - 1).value_or(0);
    options.with_embedding = fields.boolean("with_embedding").value_or(false);
    return options;
}

bool read_store_with_embedding(std::string_view text) {
    const Json object = object_of(text, "options");
    const Fields fields(object, "");
    require_known(object, fields, {"with_embedding"});
    return fields.boolean("with_embedding").value_or(false);
}

store::StoreQuery read_store_query(std::string_view text, std::span<const float> vector) {
    const Json object = object_of(text, "query");
    const Fields fields(object, "");
    require_known(
        object,
        fields,
        {"embedding",
         "text",
         "limit",
         "candidates",
         "prefilter",
         "weights",
         "half_life_s",
         "now_ms",
         "touch",
         "with_embedding"},
        true
    );
    store::StoreQuery query;
    query.embedding = embedding_of(fields, "embedding").value_or(std::vector<float>());
    if (!vector.empty()) {
        if (!query.embedding.empty()) {
            throw Error(
                SOTTO_ERROR_ARGUMENT,
                "invalid embedding: expected no such field beside the vector of the call"
            );
        }
        query.embedding.assign(vector.begin(), vector.end());
    }
    query.text = string_of(fields, "text").value_or("");
    query.filter = filter_of(fields);
    query.limit = static_cast<std::size_t>(fields.integer("limit", 1, kMaxPage).value_or(10));
    query.candidates = static_cast<std::size_t>(fields.integer("candidates", 1, kMaxPage).value_or(0));
    query.prefilter = fields.boolean("prefilter").value_or(true);
    query.weights = weights_of(fields);
    query.half_life_s = fields.number("half_life_s", 1e-3, kMaxHalfLife).value_or(query.half_life_s);
    query.now_ms = fields.integer("now_ms", -kMaxTime, kMaxTime).value_or(0);
    query.touch = fields.boolean("touch").value_or(false);
    query.with_embedding = fields.boolean("with_embedding").value_or(false);
    return query;
}

} // namespace sotto
