// Reads JSON whose members keep their order, for the engine and for backends.
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

// Builds a value from the parser's events, in time that is linear in the text's length: nlohmann's own parser
// looks through all members of an object before it adds another. Of members of one name, the last stays.
template <typename Poll>
class OrderedBuilder : public nlohmann::json_sax<nlohmann::ordered_json> {
    using Ordered = nlohmann::ordered_json;

public:
    explicit OrderedBuilder(Poll poll) : poll_(std::move(poll)) {}

    Ordered take() { return std::move(whole_); }

    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(value); }
    bool number_unsigned(number_unsigned_t value) override { return add(value); }
    bool number_float(number_float_t value, const string_t&) override { return add(value); }
    bool string(string_t& value) override { return add(std::move(value)); }
    bool binary(binary_t&) override { return false; } // JSON text has none
    bool start_object(std::size_t) override { return open(true); }
    bool start_array(std::size_t) override { return open(false); }

    bool key(string_t& name) override {
        open_.back().name = std::move(name);
        return true;
    }

    bool end_object() override {
        auto done = std::move(open_.back());
        open_.pop_back();
        Ordered::object_t object;
        object.reserve(done.members.size()); // where it grows, it copies
        for (auto& [name, value] : done.members) {
            object.emplace_back(std::move(name), std::move(value));
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
    // An object or array whose end is still to come.
    struct Open {
        bool is_object = false;
        std::string name; // of the member that comes next
        std::vector<std::pair<std::string, Ordered>> members;
        std::unordered_map<std::string, std::size_t> places; // of the members, where there are many
        Ordered::array_t elements;
    };

    bool open(bool is_object) {
        open_.emplace_back().is_object = is_object;
        return true;
    }

    bool add(Ordered value) {
        poll_();
        if (open_.empty()) {
            whole_ = std::move(value);
        } else if (auto& into = open_.back(); into.is_object) {
            place_of(into) = std::move(value);
        } else {
            into.elements.push_back(std::move(value));
        }
        return true;
    }

    static Ordered& place_of(Open& into) {
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
    Ordered whole_;
};

// What `text` says. Throws std::invalid_argument for what is no JSON, and what `poll` throws, which is called
// for each value.
template <typename Poll>
nlohmann::ordered_json read_ordered(std::string_view text, Poll poll) {
    OrderedBuilder builder(std::move(poll));
    nlohmann::ordered_json::sax_parse(text, &builder);
    return builder.take();
}

} // namespace sotto
