# Whether tests are compiled together: see CMakeLists.txt.
set(SOTTO_TESTS_TOGETHER OFF)
if(SOTTO_UNITY AND NOT CMAKE_CROSSCOMPILING)
    set(SOTTO_TESTS_TOGETHER ON)
endif()

# sotto_compile_tests_together(<target> <source>...) adds sources to a target and compiles them 12 at a time.
#
# Each is included into a namespace of its own, so that what several define by one name stays apart; what they include
# is included before, at global scope.
function(sotto_compile_tests_together target)
    target_sources(${target} PRIVATE ${ARGN})
    if(NOT SOTTO_TESTS_TOGETHER)
        return()
    endif()
    set(header ${CMAKE_CURRENT_BINARY_DIR}/${target}_includes.hpp)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
    set(includes)
    foreach(source ${ARGN})
        file(STRINGS ${source} lines REGEX "^#include ")
        list(APPEND includes ${lines})
    endforeach()
    get_target_property(before ${target} SOTTO_TEST_INCLUDES)
    if(before)
        list(APPEND includes ${before})
    else()
        target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
        set_target_properties(
            ${target} PROPERTIES
            UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12 UNITY_BUILD_UNIQUE_ID SOTTO_FILE
            UNITY_BUILD_CODE_BEFORE_INCLUDE "#include \"${target}_includes.hpp\"\nnamespace SOTTO_FILE {"
            UNITY_BUILD_CODE_AFTER_INCLUDE "}"
        )
    endif()
    list(REMOVE_DUPLICATES includes)
    list(SORT includes)
    set_target_properties(${target} PROPERTIES SOTTO_TEST_INCLUDES "${includes}")
    list(JOIN includes "\n" text)
    file(CONFIGURE OUTPUT ${header} CONTENT "#pragma once\n${text}\n" @ONLY)
endfunction()
