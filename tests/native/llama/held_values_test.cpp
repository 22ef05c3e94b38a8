// Values that a render holds on to: without a template.
#include "chat/jinja/held_values.hpp"

#include <doctest/doctest.h>
#include <jinja/runtime.h>
#include <string>

using namespace sotto::llama;

namespace {

jinja::value list_of(jinja::value item) {
    auto list = jinja::mk_val<jinja::value_array>();
    list->val_arr.push_back(std::move(item));
    return list;
}

} // namespace

TEST_CASE("texts that nothing else holds are not counted") {
    LiveTexts texts;
    const jinja::value held = jinja::mk_val<jinja::value_string>(std::string(1 << 20, 'a'));
    texts.add(held, 1 << 20);
    CHECK(!texts.due());
    for (int i = 0; i < 20; ++i) {
        texts.add(jinja::mk_val<jinja::value_string>(std::string(1 << 20, 'b')), 1 << 20);
        texts.add(held, 1 << 20); // counted once
    }
    CHECK(texts.due());
    const auto bytes = texts.sweep();
    CHECK(bytes >= 1 << 20);
    CHECK(bytes < 2 << 20);
    CHECK(!texts.due());
}

TEST_CASE("a long chain of containers is destroyed without recursion, and a cycle is broken") {
    KeptContainers kept;
    auto chain = list_of(jinja::mk_val<jinja::value_none>());
    for (int i = 0; i < 300'000; ++i) {
        kept.keep(chain);
        chain = list_of(std::move(chain));
    }
    std::weak_ptr<jinja::value_t> watched;
    {
        KeptContainers round;
        auto cycle = list_of(jinja::mk_val<jinja::value_none>());
        cycle->val_arr.push_back(cycle);
        watched = cycle;
        round.keep(cycle);
    }
    CHECK(watched.expired());
}
