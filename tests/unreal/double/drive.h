// Double of Unreal: what the engine's main loop and its editor do, as tests need it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "Engine/GameInstance.h"

/** Where the double looks for the project and its plugins. */
struct DoubleFolders {
    std::filesystem::path project;
    std::filesystem::path plugins;
};
DoubleFolders& double_folders();

/** Starts the modules of a loading phase, in the order of the .uplugin. */
void double_load_modules(const std::filesystem::path& uplugin, const std::string& phase);

/** Runs one frame: tasks, begin, tickers, end; then sleeps until the frame is 2 ms long. */
void double_frame();

/** Runs frames until `done` returns true. Returns false after `seconds`. */
bool double_run_until(const std::function<bool()>& done, double seconds = 20);

/** A play-in-editor session: a game instance with its world. */
class DoublePlay {
public:
    DoublePlay();
    ~DoublePlay() { stop(); }
    DoublePlay(const DoublePlay&) = delete;
    DoublePlay& operator=(const DoublePlay&) = delete;

    UWorld& world() { return *game_->GetWorld(); }
    UGameInstance& game() { return *game_; }
    /** Ends play in the editor's order, and collects garbage. Returns the milliseconds before the collection.
     */
    double stop();

private:
    UGameInstance* game_;
};

/** The renderer's double. */
struct DoubleRhi {
    /** Creates a Vulkan device on the system's first physical device. Returns false without one. */
    static bool start_vulkan();
    /** Starts a renderer without a device. */
    static void start_null();
    static void stop();
    /** Extensions that modules asked for before the renderer was started. */
    static const std::vector<std::string>& extensions();
    /** True if a module asked for an extension after the renderer was started, which the engine refuses. */
    static bool asked_late();
};
