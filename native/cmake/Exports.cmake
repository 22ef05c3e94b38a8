# Exported symbols of our shared libraries, and their compiler requirements.
include_guard(GLOBAL)

# sotto_exports(<target> <version script>): exports only the names in the script. On platforms other than ELF,
# exports the functions that are marked SOTTO_API or SOTTO_EXPORT. tests/abi/symbols.py checks the exports of
# all platforms.
function(sotto_exports target script)
    if(CMAKE_SYSTEM_NAME MATCHES "^(Linux|Android)$")
        target_link_options(${target} PRIVATE -Wl,--version-script=${script} -Wl,-Bsymbolic)
        set_target_properties(${target} PROPERTIES LINK_DEPENDS ${script})
        if(SOTTO_SANITIZE STREQUAL "") # the program links a sanitizer's runtime
            target_link_options(${target} PRIVATE -Wl,--no-undefined)
        endif()
    endif()
    if(SOTTO_SANITIZE STREQUAL "" AND NOT APPLE AND (MINGW OR NOT WIN32))
        target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc) # a host's may differ
        if(NOT WIN32) # operator new is ours, not the C++ library's
            target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/platform/new_linux.cpp)
        endif()
    endif()
endfunction()
