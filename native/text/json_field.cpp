#include "text/json_field.hpp"

#include "text/ordered_json.hpp"

namespace sotto {
namespace {

using Json = nlohmann::json;

// A string that is still open where the JSON ends.
struct OpenString {
    std::size_t begin = std::string_view::npos; // offset of its opening quote; npos: no string is open
    std::size_t end = 0; // end of its last complete character, from the start of the JSON
};

bool is_high_surrogate(std::string_view escape) {
    constexpr std::string_view kSecond = "89abAB";
    return escape.size() >= 4 && (escape[2] == 'd' || escape[2] == 'D') &&
           kSecond.find(escape[3]) != std::string_view::npos;
}

// Returns the length in bytes of the first character or escape sequence of `rest`.
std::size_t length_of_first(std::string_view rest) {
    constexpr std::size_t kUnicodeEscape = 6; // \u00e9
    if (rest.front() == '\\') {
        const bool unicode = rest.size() > 1 && rest[1] == 'u';
        return unicode ? kUnicodeEscape * (is_high_surrogate(rest) ? 2 : 1) : 2;
    }
    const auto byte = static_cast<unsigned char>(rest.front());
    return byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
}

OpenString find_open_string(std::string_view json) {
    OpenString open;
    for (std::size_t i = 0; i < json.size();) {
        const bool inside = open.begin != std::string_view::npos;
        if (json[i] == '"') {
            open.begin = inside ? std::string_view::npos : i;
            open.end = ++i;
        } else if (inside) {
            i += length_of_first(json.substr(i));
            open.end = i <= json.size() ? i : open.end;
        } else {
            ++i;
        }
    }
    return open;
}

// SAX handler that stops after the field it looks for.
class FieldReader : public nlohmann::json_sax<Json> {
public:
    explicit FieldReader(std::string_view name) : name_(name) {}

    bool found() const noexcept { return found_; }
    std::string take() { return std::move(value_); }

    bool key(string_t& name) override {
        here_ = depth_ == 1 && name == name_;
        return true;
    }
    bool string(string_t& value) override {
        found_ = here_;
        value_ = here_ ? std::move(value) : std::string();
        return !found_;
    }
    bool start_object(std::size_t) override { return deeper(); }
    bool start_array(std::size_t) override { return ++depth_, depth_ > 1 && !here_; }
    bool end_object() override { return --depth_ > 0; }
    bool end_array() override { return --depth_ > 0; }
    bool null() override { return !here_; }
    bool boolean(bool) override { return !here_; }
    bool number_integer(number_integer_t) override { return !here_; }
    bool number_unsigned(number_unsigned_t) override { return !here_; }
    bool number_float(number_float_t, const string_t&) override { return !here_; }
    bool binary(binary_t&) override { return !here_; }
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
        return false;
    }

private:
    bool deeper() { return ++depth_, depth_ == 1 || !here_; }

    const std::string_view name_;
    int depth_ = 0;
    bool here_ = false; // the next value belongs to the field
    bool found_ = false;
    std::string value_;
};

// Returns a field whose value is not a string, as JSON; an empty Field if the field is absent or `json` is
// not a complete object.
Field other_value(std::string_view json, std::string_view name) {
    const auto object = try_parse_ordered(json);
    const auto found = object.is_object() ? object.find(std::string(name)) : object.end();
    if (!object.is_object() || found == object.end() || found->is_string() || found->is_null()) {
        return {};
    }
    return {to_text(*found), true};
}

} // namespace

Field read_field(std::string_view json, std::string_view name) {
    const auto open = find_open_string(json);
    FieldReader whole(name);
    Json::sax_parse(json.substr(0, open.begin), &whole);
    if (whole.found()) {
        return {whole.take(), true};
    }
    if (open.begin == std::string_view::npos) {
        return other_value(json, name);
    }
    FieldReader cut(name);
    Json::sax_parse(std::string(json.substr(0, open.end)) + '"', &cut);
    return {cut.take(), false};
}

} // namespace sotto
