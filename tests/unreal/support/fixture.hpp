// What the tests of the plugin share: the project's folders, characters and figures of the process.
#pragma once

#include <filesystem>
#include <string>

#include "CoreMinimal.h"
#include "Engine/World.h"
#include "GameFramework/Actor.h"
#include "SottoSheet.h"
#include "SottoSubsystem.h"
#include "UObject/UObjectGlobals.h"
#include "drive.h"
#include "listener.h"

#define DOCTEST_CONFIG_NO_EXCEPTIONS_BUT_WITH_ALL_ASSERTS
#include <doctest/doctest.h>

namespace doctest {
template <>
struct StringMaker<FString> {
    static String convert(const FString& text) { return TCHAR_TO_UTF8(*text); }
};
template <>
struct StringMaker<ESottoStatus> {
    static String convert(ESottoStatus status) { return std::to_string(static_cast<int>(status)).c_str(); }
};
} // namespace doctest

namespace fixture {

/** The folder of the library that was built. */
std::filesystem::path library();
/** Writes a file into Content/ or Saved/ of the project and returns its path. */
std::filesystem::path write(const std::string& name, const std::string& text);
/** Starts the project anew: default settings, no log lines. */
void reset();

/** A character of the house model, with everything that it said. */
struct Character {
    /** Spawns an actor at `x` whose component answers from a sheet with a price for stew. */
    Character(UWorld& world, const FString& name, double x = 0);

    USottoCharacterComponent* component;
    UTestListener* listener;
    AActor* actor;
};

USottoSheet* sheet(UObject* outer, const FString& name);
/** Gives an actor a character that has a sheet, and the conversation that is the default. */
USottoCharacterComponent* component_of(AActor* actor, const FString& name);
int threads();
/** Returns the processor time that other programs have used since the system started, in seconds. */
double other_cpu_s();
FString text(const std::string& utf8);
std::string utf8(const FString& text);
USottoSubsystem& subsystem(DoublePlay& play);
/** Asks a character, and waits for its answer, which must not fail. */
void answer(const Character& one, const FString& question);
/** Returns the messages of a conversation as JSON. */
std::string read(DoublePlay& play, const FString& conversation);
bool has(const std::string& text, const std::string& part);
/**
 * Has the plugin use a library whose only backend is the scripted one, with one model as the project's.
 *
 * `script` is the model's JSON: see tests/native/scripted_backend.cpp.
 */
class Scripted {
public:
    explicit Scripted(const std::string& script);
    ~Scripted();
    Scripted(const Scripted&) = delete;
    Scripted& operator=(const Scripted&) = delete;
};

} // namespace fixture
