// Converts JSON schemas to grammars: rewrites schemas for llama.cpp's converter, and corrects its output.
#include "grammar/schema/schema_parts.hpp"

#include "grammar/grammar.hpp"

#include <json-schema-to-grammar.h>

#include <algorithm>

namespace sotto::llama {
namespace {

constexpr std::uint64_t kMaxItems = 1000;
constexpr std::uint64_t kMaxCharactersOfText = 2000; // llama.cpp treats a larger bound as unbounded
constexpr std::uint64_t kMaxRepetitions = 12'000;    // sum over all repetitions
constexpr std::uint64_t kFewTimes = 64;
constexpr std::size_t kMaxWritten = 5000;
constexpr std::size_t kMaxMembers = 256;
constexpr std::size_t kFewValues = 8; // fewer values of an enum are listed; more values share prefixes

// Rewrites schemas for the converter, using only keywords that the converter enforces.
class Writer {
public:
    Writer(const Schema& root, const std::string& path, const std::string& tag, SchemaUse use)
        : root_(root), path_(path), tag_(tag), use_(use), flattener_(root) {}

    HeldSchema held() {
        auto start = use_ == SchemaUse::Arguments ? written(flattener_.objects(root_, path_), path_)
                                                  : written(root_, path_);
        if (!start) {
            refuse_schema(path_, "no value matches this schema");
        }
        while (done_ < refs_.size()) {
            const auto ref = refs_[done_++];
            const auto place = place_of_ref(path_, ref);
            auto target = written(*find_ref(root_, ref), place);
            if (!target) {
                refuse_schema(place, "no value matches this schema");
            }
            document_[name_of_ref(ref)] = std::move(*target);
        }
        const auto endless = endless_of(document_);
        for (const auto& ref : refs_) {
            if (endless.contains(name_of_ref(ref))) {
                refuse_schema(
                    place_of_ref(path_, ref),
                    "every value contains another value of this schema; make that member optional, or allow "
                    "null"
                );
            }
        }
        for (const auto& [name, schema] : document_.items()) {
            (*start)[name] = schema; // `name` was generated, and is no keyword
        }
        return {std::move(*start), std::move(rules_), ""};
    }

private:
    // Returns the rewritten schema; nothing if `schema` allows no value.
    std::optional<Schema> written(const Schema& schema, const std::string& path) {
        auto made = written(flattener_.alternatives(schema, path), path);
        for (const char* note :
             // these notes are kept, because models read the schemas of tools
             {"title", "description", "default", "examples"}) {
            if (made && schema.is_object() && has(schema, note)) {
                (*made)[note] = schema[note];
            }
        }
        return made;
    }

    std::optional<Schema> written(const std::vector<Schema>& alternatives, const std::string& path) {
        if (++written_ > kMaxWritten) {
            unsupported_schema(path, "the schema becomes too large here; use \"$ref\" for repeated parts");
        }
        auto all = Schema::array();
        for (const auto& alternative : alternatives) {
            if (auto one = written_one(alternative, path)) {
                all.push_back(std::move(*one));
            }
        }
        if (all.size() < 2) {
            return all.empty() ? std::nullopt : std::optional(all[0]);
        }
        return Schema{{"anyOf", std::move(all)}};
    }

    std::optional<Schema> written_one(const Schema& alternative, const std::string& path) {
        if (alternative.empty()) {
            return alternative;
        }
        if (has(alternative, "$ref")) {
            return reference(alternative["$ref"]);
        }
        if (has(alternative, "enum")) {
            return values(alternative["enum"]);
        }
        const auto type = alternative["type"].get<std::string>();
        return type == "integer"  ? whole_number(alternative, path)
               : type == "number" ? number(alternative, path)
               : type == "string" ? string(alternative, path)
               : type == "array"  ? array(alternative, path)
               : type == "object" ? object(alternative, path)
                                  : std::optional(Schema{{"type", type}});
    }

    Schema reference(const std::string& ref) {
        const auto found = std::find(refs_.begin(), refs_.end(), ref);
        if (found == refs_.end()) {
            refs_.push_back(ref);
        }
        return {{"$ref", "#/" + name_of_ref(ref)}};
    }

    std::string name_of_ref(const std::string& ref) const {
        return tag_ + "d" + std::to_string(std::find(refs_.begin(), refs_.end(), ref) - refs_.begin()) + "x";
    }

    // Returns a schema that stands for a custom rule: mended_grammar() inserts the rule where the converter
    // has the "$ref". `meaning` is the schema that a reader sees.
    Schema rule(const std::string& content, const Schema& meaning) {
        const auto name = tag_ + "r" + std::to_string(rules_.size()) + "x";
        rules_["ref-" + name] = content;
        document_[name] = meaning;
        return {{"$ref", "#/" + name}};
    }

    Schema values(const Schema& all) {
        if (all.size() < kFewValues) {
            return {{"enum", all}};
        }
        std::vector<std::string> texts;
        for (const auto& value : all) {
            texts.push_back(text_of(value));
        }
        return rule(one_of_rule(texts), {{"enum", all}});
    }

    std::optional<Schema> whole_number(const Schema& schema, const std::string& path) {
        const auto bounds = bounds_of(schema);
        check_far(bounds, path);
        const auto found = whole_bounds(bounds);
        if (!found) {
            return std::nullopt;
        }
        if (has(schema, "multipleOf") && schema["multipleOf"] != 1) {
            const auto all = multiples(schema["multipleOf"], *found, path);
            return all.empty() ? std::nullopt : std::optional(values(all));
        }
        if (!bounds.least && !bounds.most) {
            return Schema{{"type", "integer"}};
        }
        // Always state both bounds: with only one, llama.cpp's rule allows values out of range.
        return Schema{{"type", "integer"}, {"minimum", found->least}, {"maximum", found->most}};
    }

    std::optional<Schema> number(const Schema& schema, const std::string& path) {
        if (has(schema, "multipleOf")) {
            if (schema["multipleOf"] == 1) {
                return whole_number(schema, path);
            }
            unsupported_schema(
                below(path, "multipleOf"), "not supported in a \"number\"; use an \"integer\""
            );
        }
        const auto bounds = bounds_of(schema);
        if (!bounds.least && !bounds.most) {
            return Schema{{"type", "number"}};
        }
        check_far(bounds, path);
        const auto content = number_rule(bounds);
        auto meaning = schema;
        meaning.erase("type"); // with "type", the converter would use its own rule
        meaning.erase("inferred");
        return content.empty() ? std::nullopt : std::optional(rule(content, meaning));
    }

    std::optional<Schema> string(const Schema& schema, const std::string& path) {
        Length length{schema.value("minLength", std::uint64_t{0}), schema.value("maxLength", UINT64_MAX)};
        if (length.least > length.most) {
            return std::nullopt;
        }
        if (length.least > kMaxCharactersOfText) {
            unsupported_schema(
                below(path, "minLength"), length.least, "at most " + std::to_string(kMaxCharactersOfText)
            );
        }
        if (has(schema, "pattern")) {
            return Schema{
                {"type", "string"},
                {"pattern", json_pattern(schema["pattern"], length, below(path, "pattern"))}
            };
        }
        if (has(schema, "format")) {
            return formatted_string(schema["format"], length, below(path, "format"));
        }
        Schema made = {{"type", "string"}};
        if (length.least > 0 || length.most != UINT64_MAX) {
            made["minLength"] = length.least;
        }
        if (length.most != UINT64_MAX) {
            made["maxLength"] = end_of(length.least, length.most, kMaxCharactersOfText);
        }
        return made;
    }

    // Returns the maximum count of a repetition. Each count takes a rule, and the total number of rules is
    // limited, so later repetitions may get a lower maximum than the schema states.
    std::uint64_t end_of(std::uint64_t least, std::uint64_t most, std::uint64_t limit) {
        const auto share = std::max(kFewTimes, times_left_ / 4);
        const auto end = std::max(least, std::min({most, limit, share}));
        times_left_ -= std::min(times_left_, end);
        return end;
    }

    std::optional<Schema> array(const Schema& schema, const std::string& path) {
        const auto least = schema.value("minItems", std::uint64_t{0});
        auto most = schema.value("maxItems", UINT64_MAX);
        if (least > most) {
            return std::nullopt;
        }
        if (least > kMaxItems) {
            unsupported_schema(below(path, "minItems"), least, "at most " + std::to_string(kMaxItems));
        }
        if (schema.value("uniqueItems", false) && most > 1) {
            unsupported_schema(
                below(path, "uniqueItems"),
                "not supported; remove the field, or use an object with one member per item"
            );
        }
        const auto every = has(schema, "items") ? schema["items"] : Schema(true);
        if (has(schema, "prefixItems")) {
            return tuple(schema["prefixItems"], every, least, most, path);
        }
        auto item = written(every, below(path, "items"));
        if (!item || most == 0) {
            return least > 0 ? std::nullopt : std::optional(values(Schema::array({Schema::array()})));
        }
        Schema made = {{"type", "array"}, {"items", std::move(*item)}};
        if (least > 0) {
            made["minItems"] = least;
        }
        if (most != UINT64_MAX) {
            made["maxItems"] = end_of(least, most, kMaxItems);
        }
        return made;
    }

    // Rewrites a tuple to a fixed number of items: all of `first` that `most` permits, and at least `least`.
    std::optional<Schema> tuple(
        const Schema& first,
        const Schema& every,
        std::uint64_t least,
        std::uint64_t most,
        const std::string& path
    ) {
        auto items = Schema::array();
        for (std::size_t i = 0;
             i < std::max<std::uint64_t>(std::min<std::uint64_t>(first.size(), most), least);
             ++i) {
            auto item = i < first.size() ? written(first[i], below(below(path, "prefixItems"), i))
                                         : written(every, below(path, "items"));
            if (!item && i < least) {
                return std::nullopt;
            }
            if (!item) {
                break;
            }
            items.push_back(std::move(*item));
        }
        if (items.empty()) {
            return values(Schema::array({Schema::array()}));
        }
        return Schema{{"type", "array"}, {"prefixItems", std::move(items)}};
    }

    std::optional<Schema> object(const Schema& schema, const std::string& path) {
        auto members = schema.value("properties", Schema::object());
        const bool asked_one_by_one = use_ == SchemaUse::Arguments && path == path_ && !members.empty();
        const bool closed = has(schema, "additionalProperties") ? schema["additionalProperties"] == false
                                                                : has(schema, "properties");
        const auto others = schema.value("additionalProperties", Schema(true));
        auto required = Schema::array();
        for (const auto& name : schema.value("required", Schema::array())) {
            if (std::find(required.begin(), required.end(), name) == required.end()) {
                required.push_back(name);
            }
            if (!members.contains(name.get_ref<const std::string&>())) {
                members[name.get_ref<const std::string&>()] = others;
            }
        }
        if (members.size() > kMaxMembers) {
            unsupported_schema(
                path,
                std::to_string(members.size()) + " members; at most " + std::to_string(kMaxMembers) +
                    " are supported"
            );
        }
        auto made = Schema::object();
        std::vector<std::string> names;
        for (const auto& [name, member] : members.items()) {
            auto one = written(member, below(below(path, "properties"), name));
            names.push_back(name);
            if (one) {
                made[name] = std::move(*one);
            } else if (std::find(required.begin(), required.end(), name) != required.end()) {
                return std::nullopt;
            }
        }
        auto other =
            closed || asked_one_by_one ? std::nullopt : written(others, below(path, "additionalProperties"));
        check_counts(schema, made, required, other.has_value(), path);
        Schema whole = {{"type", "object"}, {"properties", made}, {"required", required}};
        whole["additionalProperties"] = other ? std::move(*other) : Schema(false);
        if (!other || names.empty()) {
            return whole;
        }
        if (made.contains("*")) {
            unsupported_schema(
                below(below(path, "properties"), "*"),
                "a member \"*\" is not supported beside unnamed ones; set \"additionalProperties\" to false"
            );
        }
        // Stores the object under a name of its own, by which mended_grammar() finds the converter's rule for
        // additional keys.
        const auto name = tag_ + "o" + std::to_string(rules_.size()) + "x";
        rules_["ref-" + name + "-additional-k"] = other_key_rule(names);
        document_[name] = std::move(whole);
        return Schema{{"$ref", "#/" + name}};
    }

    const Schema& root_;
    const std::string& path_;
    const std::string& tag_;
    const SchemaUse use_;
    Flattener flattener_;
    Schema document_ = Schema::object();
    std::vector<std::string> refs_; // a reference is named by its index
    std::size_t done_ = 0;          // number of references whose targets are written
    std::size_t written_ = 0;       // number of schemas written
    std::uint64_t times_left_ = kMaxRepetitions;
    SchemaRules rules_;
};

std::string grammar_of(const HeldSchema& held, const std::string& path) {
    const auto document = common_chat_schema_from_json(common_json::parse(text_of(held.schema)));
    const auto grammar = build_grammar([&](const common_grammar_builder& builder) {
        // The prefix "s" keeps rules of members from having the same name as another rule.
        builder.add_rule("root", builder.add_schema("s", *document.root));
    });
    const auto mended = mended_grammar(grammar, held.rules);
    try {
        check_grammar(mended, path);
    } catch (const Error& error) {
        if (error.status() != SOTTO_ERROR_ARGUMENT) {
            throw; // cancelled, or out of memory
        }
        unsupported_schema(
            path,
            "the grammar of this schema is too large or too ambiguous; use fewer alternatives, members and "
            "repetitions (" +
                std::string(error.what()) + ")"
        );
    }
    return mended;
}

} // namespace

HeldSchema held_schema(const Json& schema, const std::string& path, const std::string& tag, SchemaUse use) {
    check_schema(schema, path);
    auto held = Writer(schema, path, tag, use).held();
    held.grammar = grammar_of(held, path);
    return held;
}

} // namespace sotto::llama
