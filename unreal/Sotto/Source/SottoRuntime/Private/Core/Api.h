#pragma once

#include <string>
#include <string_view>

#include <sotto/sotto.h>

// The functions of the library that the plugin calls.
#define SOTTO_CORE_FUNCTIONS(X)                                                                              \
    X(sotto_version)                                                                                         \
    X(sotto_last_error)                                                                                      \
    X(sotto_engine_create)                                                                                   \
    X(sotto_engine_destroy)                                                                                  \
    X(sotto_engine_set_mode)                                                                                 \
    X(sotto_engine_set_vram_budget)                                                                          \
    X(sotto_engine_set_target_tps)                                                                           \
    X(sotto_engine_attach_gpu)                                                                               \
    X(sotto_engine_detach_gpu)                                                                               \
    X(sotto_engine_describe)                                                                                 \
    X(sotto_engine_next_event)                                                                               \
    X(sotto_engine_wait_request_event)                                                                       \
    X(sotto_engine_frame_begin)                                                                              \
    X(sotto_engine_frame_end)                                                                                \
    X(sotto_engine_submit)                                                                                   \
    X(sotto_engine_cancel)                                                                                   \
    X(sotto_engine_set_request_tps)                                                                          \
    X(sotto_engine_load_model)                                                                               \
    X(sotto_engine_open_session)                                                                             \
    X(sotto_engine_set_session_system)                                                                       \
    X(sotto_engine_rewind_session)                                                                           \
    X(sotto_engine_close_session)                                                                            \
    X(sotto_engine_read_session)                                                                             \
    X(sotto_engine_say)                                                                                      \
    X(sotto_engine_save_game)                                                                                \
    X(sotto_engine_restore_game)                                                                             \
    X(sotto_engine_stats)                                                                                    \
    X(sotto_guard_create)                                                                                    \
    X(sotto_guard_destroy)                                                                                   \
    X(sotto_guard_check)                                                                                     \
    X(sotto_guard_open_stream)                                                                               \
    X(sotto_guard_stream_feed)                                                                               \
    X(sotto_guard_stream_finish)                                                                             \
    X(sotto_guard_stream_verdict)                                                                            \
    X(sotto_guard_stream_close)                                                                              \
    X(sotto_store_open)                                                                                      \
    X(sotto_store_close)                                                                                     \
    X(sotto_store_insert)                                                                                    \
    X(sotto_store_update)                                                                                    \
    X(sotto_store_remove)                                                                                    \
    X(sotto_store_count)                                                                                     \
    X(sotto_store_list)                                                                                      \
    X(sotto_store_query)                                                                                     \
    X(sotto_index_create)                                                                                    \
    X(sotto_index_destroy)                                                                                   \
    X(sotto_index_insert)                                                                                    \
    X(sotto_index_remove)                                                                                    \
    X(sotto_index_build)                                                                                     \
    X(sotto_index_get_info)                                                                                  \
    X(sotto_index_save)                                                                                      \
    X(sotto_index_load)                                                                                      \
    X(sotto_index_search)                                                                                    \
    X(sotto_json_quote)                                                                                      \
    X(sotto_json_field)

namespace SottoCore
{

/** Looks up an exported function by name. Returns null if the library does not export it. */
using FResolve = void* (*)(void* Context, const char* Name);

/**
 * The library's functions, resolved at run time.
 *
 * Nothing links against the library, so that a missing library leaves the plugin inert, on every platform.
 */
struct FApi
{
#define SOTTO_CORE_MEMBER(Name) decltype(&::Name) Name = nullptr;
    SOTTO_CORE_FUNCTIONS(SOTTO_CORE_MEMBER)
#undef SOTTO_CORE_MEMBER

    /** Resolves all functions and compares the version. Returns false and sets `Reason` on failure. */
    bool Load(FResolve Resolve, void* Context, std::string& Reason);

    /** Forgets the functions, before the library is freed. */
    void Unload() { *this = FApi(); }

    /** Returns true if all functions are resolved. */
    bool IsLoaded() const { return sotto_json_field != nullptr; }
};

/** Returns true if a library of version `Found` works with headers of version `Wanted`: same major.minor. */
bool IsCompatible(std::string_view Found, std::string_view Wanted);

/** Returns a view of text that the library returned. */
inline std::string_view View(sotto_str Text)
{
    return Text.size == 0 ? std::string_view() : std::string_view(Text.data, Text.size);
}

/** Returns a sotto_str of text that outlives the call that it is passed to. */
inline sotto_str Str(std::string_view Text)
{
    return {Text.data(), Text.size()};
}

} // namespace SottoCore
