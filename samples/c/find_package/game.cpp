// A character in C++: the same as game.c, with sotto.hpp.
#include <cstdio>
#include <iostream>

#include <sotto/sotto.hpp>

int main() try {
    sotto::Engine engine;
    engine.wait(engine.load_model("sotto/house", {}, SOTTO_REQUEST_PRIVATE)); // on a loading screen
    sotto::Session mara(
        engine,
        "mara",
        {"sotto/house", "Name: Mara\nRole: ferrywoman\nPlace: the landing\nPrices:\n- a ferry ride: 3 copper"}
    );
    const auto answer =
        mara.say("How much is a ferry ride?", sotto::Turn().max_tokens(48).field("temperature", "0"));
    for (bool done = false; !done;) {
        const sotto::Frame frame(engine, 16'666'667);
        for (const auto& event : engine.events()) {
            std::cout << event.text();
            if (event.status < 0) {
                throw sotto::Error(event.status, event.error());
            }
            done = done || (event.done() && event.request == answer);
        }
    }
    std::cout << std::endl;
} catch (const sotto::Error& error) {
    std::cerr << error.what() << std::endl;
    return 1;
}
