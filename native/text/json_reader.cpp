#include "text/json_reader.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "text/utf8_stream.hpp"

namespace sotto {
namespace {

std::string brief(double value) {
    return Json(value).dump();
}

std::string range(const std::string& least, const std::string& most) {
    return "from " + least + " to " + most;
}

// Cuts what is too long, not in the middle of a character.
std::string cut(std::string text, std::size_t longest) {
    if (text.size() > longest) {
        while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0) == 0x80) {
            --longest;
        }
        text.erase(longest);
        text += "...";
    }
    return text;
}

// Why something is no JSON, without the name of the exception, and without bytes that are no UTF-8.
std::string reason(std::string_view what) {
    constexpr std::size_t kLongest = 200;
    if (const auto end = what.find("] "); end != std::string_view::npos) {
        what.remove_prefix(end + 2); // "[json.exception.parse_error.101] parse error at line ..."
    }
    std::string whole;
    Utf8Stream characters;
    characters.feed(what, whole);
    characters.finish(whole);
    return cut(std::move(whole), kLongest);
}

// Builds a value from the parser's events, in time that is linear in the text's length: nlohmann's own
// parser, where it asks whether to go on, looks through the whole array at the end of each object in it.
class Builder final : public nlohmann::json_sax<Json> {
public:
    Builder(std::string_view name, const std::atomic<bool>* cancelled) : name_(name), cancelled_(cancelled) {}

    Json take() { return std::move(whole_); }

    bool null() override { return add(nullptr) != nullptr; }
    bool boolean(bool value) override { return add(value) != nullptr; }
    bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
    bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
    bool number_float(number_float_t value, const string_t&) override { return add(value) != nullptr; }
    bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
    bool binary(binary_t&) override { return false; } // JSON text has none
    bool start_object(std::size_t) override { return open(Json::object()); }
    bool start_array(std::size_t) override { return open(Json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(string_t& name) override {
        check();
        member_ = &(*open_.back())[name];
        return true;
    }

    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
        throw Error( // also a number out of range
            SOTTO_ERROR_ARGUMENT, std::string(name_) + " is not JSON: " + reason(error.what())
        );
    }

private:
    void check() const {
        constexpr std::size_t kDeepest = 128; // whoever works on the value may recurse
        if (open_.size() > kDeepest) {
            throw Error(
                SOTTO_ERROR_ARGUMENT,
                std::string(name_) + " is nested deeper than " + std::to_string(kDeepest) + " levels"
            );
        }
        if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed)) {
            throw Error(SOTTO_ERROR_CANCELLED, "the request was cancelled");
        }
    }

    Json* add(Json value) {
        check();
        if (open_.empty()) {
            whole_ = std::move(value);
            return &whole_;
        }
        if (Json& into = *open_.back(); into.is_array()) {
            into.push_back(std::move(value));
            return &into.back();
        }
        *member_ = std::move(value); // of members of one name, the last
        return member_;
    }

    bool open(Json value) {
        open_.push_back(add(std::move(value)));
        return true;
    }

    bool close() {
        open_.pop_back();
        return true;
    }

    std::string_view name_;
    const std::atomic<bool>* cancelled_;
    Json whole_;
    std::vector<Json*> open_; // arrays and objects whose end is still to come
    Json* member_ = nullptr;  // of the last of them, which comes next
};

} // namespace

Json parse_object(std::string_view text, std::string_view name, const std::atomic<bool>* cancelled) {
    Builder builder(name, cancelled);
    Json::sax_parse(text, &builder);
    Json value = builder.take();
    if (!value.is_object()) {
        throw Error(
            SOTTO_ERROR_ARGUMENT, std::string(name) + " is " + excerpt(value) + "; it must be a JSON object"
        );
    }
    return value;
}

std::string to_text(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string excerpt(const Json& value, std::size_t longest) {
    if (value.is_object() || value.is_array()) {
        return std::string(value.empty() ? "an empty " : "a JSON ") + value.type_name();
    }
    return cut(to_text(value), longest);
}

const Json* Fields::find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
}

const Json& Fields::require(const char* key, const char* what) const {
    const Json* found = find(key);
    if (found == nullptr) {
        throw Error(SOTTO_ERROR_ARGUMENT, path(key) + " is missing; it must be " + what);
    }
    return *found;
}

std::optional<double> Fields::number(const char* key, double least, double most) const {
    const Json* found = find(key);
    if (found == nullptr) {
        return std::nullopt;
    }
    const bool fits = found->is_number() && std::isfinite(found->get<double>()) &&
                      found->get<double>() >= least && found->get<double>() <= most;
    if (!fits) {
        refuse(key, *found, "a number " + range(brief(least), brief(most)));
    }
    return found->get<double>();
}

std::optional<std::int64_t> Fields::integer(const char* key, std::int64_t least, std::int64_t most) const {
    const Json* found = find(key);
    if (found == nullptr) {
        return std::nullopt;
    }
    const bool huge = found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX;
    if (!found->is_number_integer() || huge || found->get<std::int64_t>() < least ||
        found->get<std::int64_t>() > most) {
        refuse(key, *found, "an integer " + range(std::to_string(least), std::to_string(most)));
    }
    return found->get<std::int64_t>();
}

std::optional<bool> Fields::boolean(const char* key) const {
    const Json* found = find(key);
    if (found == nullptr) {
        return std::nullopt;
    }
    if (!found->is_boolean()) {
        refuse(key, *found, "true or false");
    }
    return found->get<bool>();
}

void Fields::refuse(const char* key, const Json& value, const std::string& what) const {
    throw Error(SOTTO_ERROR_ARGUMENT, path(key) + " is " + excerpt(value) + "; it must be " + what);
}

} // namespace sotto
