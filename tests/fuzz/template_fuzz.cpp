// Fuzzes chat templates: each is rendered, or refused with a reason, within a time limit.
//
// Each input is used as a template, and as choices from which a template is generated.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "chat/chat.hpp"
#include "chat/jinja/limits.hpp"
#include "golden_vocabulary.hpp"

namespace {

using Json = nlohmann::ordered_json;

constexpr auto kLong = std::chrono::seconds(120); // under a sanitizer, on a busy machine; otherwise 5 s

constexpr const char* kPieces[] = {
    "{% for m in messages %}",
    "{% for i in range(99999) %}",
    "{% for k, v in ns.items() %}",
    "{% endfor %}",
    "{% if x %}",
    "{% elif messages|length > 1 %}",
    "{% else %}",
    "{% endif %}",
    "{% macro f(a, b=1) %}",
    "{% endmacro %}",
    "{% call f(1) %}",
    "{% endcall %}",
    "{{ caller() }}",
    "{% filter upper %}",
    "{% endfilter %}",
    "{% set x %}",
    "{% endset %}",
    "{% set x = [x, x] %}",
    "{% set x = 'ab' * 99999 %}",
    "{% set ns = namespace(x=[], s='a') %}",
    "{% set ns.s = ns.s + ns.s %}",
    "{% set ns.x = (ns.x, ns) %}",
    "{% set ns.f = ns.items %}",
    "{% set x, y = (1, [2]) %}",
    "{{ f(f) }}",
    "{{ x.append(x) }}",
    "{{ ns.x.append(ns) }}",
    "{{ x|tojson(indent=40) }}",
    "{{ x }}",
    "{{ ns|string }}",
    "{{ x|join('a' * 999) }}",
    "{{ x|sort(attribute='role') }}",
    "{{ ns|dictsort }}",
    "{{ 'a b'|replace('', 'c' * 999)|indent(60) }}",
    "{{ ('a ' * 99999).split(' ')|length }}",
    "{{ range(-5, 99999, 7)|select('divisibleby', 0)|list }}",
    "{{ 7 is divisibleby(0) }}",
    "{{ x == [x] }}",
    "{{ (x, x) in {(x, 1): 2} }}",
    "{{ messages[-1:9:-1]|map(attribute='content')|join }}",
    "{{ 1 % 0 }}",
    "{{ m.content.strip('a') ~ loop.index }}",
    "{{ 9223372036854775807 + 1 }}",
    "{{ 'x' if x else y.z[0] }}",
    "{{ not x and -1 or +2 }}",
    "{{ x|selectattr('role', 'in', 'user')|list }}",
    "{{ raise_exception('no') }}",
    "{{ strftime_now('%Y') }}",
    "{{ dict(x=1, **2) }}",
    "{{ {'a': x, 1: ns}|items }}",
    "{% break %}",
    "{% continue %}",
    "{{ messages.pop() }}",
    "{{ m.role }}: {{ m.content }}\n",
    "{# c #}",
    "text ",
    "{{ ",
    " }}",
    "{%- ",
    " -%}",
    "(",
    ")",
    "[",
    "]",
};

const golden::Vocabulary& vocabulary() {
    static const auto& one = *new golden::Vocabulary(golden::Vocabulary::of_template("{{ messages }}"));
    return one;
}

void render(const std::string& source) {
    static const sotto::llama::Constraints constraints(vocabulary().vocab());
    static const Json body = Json::parse(R"({"messages": [
        {"role": "system", "content": "You keep the gate."}, {"role": "user", "content": "Open it!"},
        {"role": "assistant", "content": "No."}, {"role": "user", "content": "Please."}
    ]})");
    const auto begun = std::chrono::steady_clock::now();
    try {
        const sotto::llama::RenderLimits limits({}); // for everything, as during a load
        const sotto::llama::Chat chat(vocabulary().model(), vocabulary().tokenizer(), constraints, source);
        chat.prompt(body);
    } catch (const std::exception& error) {
        if (*error.what() == '\0') {
            std::abort(); // a refusal has a reason
        }
    }
    if (std::chrono::steady_clock::now() - begun > kLong) {
        std::cerr << "took too long: " << source << "\n";
        std::abort();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    render(std::string(reinterpret_cast<const char*>(data), size));
    std::string made;
    for (std::size_t i = 0; i < size && i < 60; ++i) {
        made += kPieces[data[i] % std::size(kPieces)];
    }
    render(made);
    return 0;
}
