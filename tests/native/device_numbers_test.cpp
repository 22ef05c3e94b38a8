// Devices by number.
#include <doctest/doctest.h>

#include "core/model/device_numbers.hpp"

using sotto::DeviceNumbers;

TEST_CASE("no number is given twice, and a device that went counts as lost") {
    DeviceNumbers numbers;
    const auto own = numbers.own();
    CHECK(own != 0);
    CHECK(numbers.shared() == 0);
    numbers.attach();
    const auto first = numbers.shared();
    CHECK(first != own);
    CHECK(numbers.usable() == first);
    CHECK_FALSE(numbers.is_lost(first));
    numbers.detach();
    CHECK(numbers.shared() == 0);
    CHECK(numbers.is_lost(first));
    numbers.attach();
    CHECK(numbers.shared() != first);
    CHECK(numbers.own() == own);
    CHECK_FALSE(numbers.is_lost(0)); // the processor
}

TEST_CASE("a card that was lost is shared until it has left") {
    DeviceNumbers numbers;
    numbers.attach();
    const auto card = numbers.shared();
    CHECK(numbers.lose(card));
    CHECK(numbers.shared() == card);
    CHECK(numbers.usable() == 0);
    CHECK(numbers.is_lost(card));
    CHECK_FALSE(numbers.is_lost(numbers.own()));
}

TEST_CASE("the engine's own device that was lost may be used again once a card came") {
    DeviceNumbers numbers;
    const auto own = numbers.own();
    CHECK_FALSE(numbers.lose(own));
    CHECK(numbers.own() == 0);
    CHECK(numbers.is_lost(own));
    numbers.attach();
    CHECK(numbers.own() != 0);
    CHECK(numbers.own() != own);
}
