// JSON parser. Shared by the engine and the backends.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace sotto {

// Builds a nlohmann::json or ordered_json from SAX events, in time linear in the text's length. nlohmann's
// own parser takes quadratic time: for each new member of an ordered object, it searches all earlier members,
// and with a callback it searches the whole array at the end of each object in an array. The last of several
// members with the same name wins.
template <typename Value, typename Poll>
class ValueBuilder : public nlohmann::json_sax<Value> {
    using Sax = nlohmann::json_sax<Value>;

public:
    explicit ValueBuilder(Poll poll) : poll_(std::move(poll)) {}

    Value take() { return std::move(whole_); }

    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(typename Sax::number_integer_t value) override { return add(value); }
    bool number_unsigned(typename Sax::number_unsigned_t value) override { return add(value); }
    bool number_float(typename Sax::number_float_t value, const typename Sax::string_t&) override {
        return add(value);
    }
    bool string(typename Sax::string_t& value) override { return add(std::move(value)); }
    bool binary(typename Sax::binary_t&) override { return false; } // JSON text has no binary values
    bool start_object(std::size_t) override { return open(true); }
    bool start_array(std::size_t) override { return open(false); }

    bool key(typename Sax::string_t& name) override {
        open_.back().name = std::move(name);
        return true;
    }

    bool end_object() override {
        auto done = std::move(open_.back());
        open_.pop_back();
        typename Value::object_t object;
        // an ordered object stores its members in a vector, which copies them when it grows
        if constexpr (requires { object.reserve(0); }) {
            object.reserve(done.members.size());
        }
        for (auto& [name, value] : done.members) {
            if constexpr (requires { object.reserve(0); }) {
                object.emplace_back(std::move(name), std::move(value));
            } else {
                object.emplace(std::move(name), std::move(value));
            }
        }
        return add(std::move(object));
    }

    bool end_array() override {
        auto done = std::move(open_.back());
        open_.pop_back();
        return add(std::move(done.elements));
    }

    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
        throw std::invalid_argument(error.what());
    }

private:
    // An object or array whose end has not been parsed yet.
    struct Open {
        bool is_object = false;
        std::string name; // name of the next member
        std::vector<std::pair<std::string, Value>> members;
        // member name to index in `members`; only used for large objects
        std::unordered_map<std::string, std::size_t> places;
        typename Value::array_t elements;
    };

    bool open(bool is_object) {
        poll_(open_.size());
        open_.emplace_back().is_object = is_object;
        return true;
    }

    bool add(Value value) {
        poll_(open_.size());
        if (open_.empty()) {
            whole_ = std::move(value);
        } else if (auto& into = open_.back(); into.is_object) {
            place_of(into) = std::move(value);
        } else {
            into.elements.push_back(std::move(value));
        }
        return true;
    }

    static Value& place_of(Open& into) {
        constexpr std::size_t kFew = 16;
        auto& members = into.members;
        if (members.size() == kFew && into.places.empty()) {
            for (std::size_t i = 0; i < kFew; ++i) {
                into.places.emplace(members[i].first, i);
            }
        }
        if (members.size() >= kFew) {
            const auto [found, is_new] = into.places.emplace(into.name, members.size());
            if (!is_new) {
                return members[found->second].second;
            }
        } else {
            for (auto& [name, value] : members) {
                if (name == into.name) {
                    return value;
                }
            }
        }
        return members.emplace_back(std::move(into.name), nullptr).second;
    }

    Poll poll_;
    std::vector<Open> open_;
    Value whole_;
};

// Parses `text`. Throws std::invalid_argument for malformed JSON, and whatever `poll` throws. `poll` is
// called for each value with its nesting depth.
template <typename Value, typename Poll>
Value read_json(std::string_view text, Poll poll) {
    ValueBuilder<Value, Poll> builder(std::move(poll));
    Value::sax_parse(text, &builder);
    return builder.take();
}

} // namespace sotto
