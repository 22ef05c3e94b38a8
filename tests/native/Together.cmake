# Compiles tests together: see CMakeLists.txt.
set(SOTTO_TESTS_TOGETHER OFF)
if(SOTTO_UNITY AND NOT CMAKE_CROSSCOMPILING)
    set(SOTTO_TESTS_TOGETHER ON)
endif()

# sotto_compile_tests_together(<target> <source>...) adds sources of this folder to a target and compiles them 12 at a
# time.
#
# Each is included into a namespace of its own, so that what several define by one name stays apart; what they include
# is included before, at global scope. CMake's unity builds would name the namespaces by the sources' absolute paths,
# and ccache would then find no object of another checkout.
function(sotto_compile_tests_together target)
    if(NOT SOTTO_TESTS_TOGETHER)
        target_sources(${target} PRIVATE ${ARGN})
        return()
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    foreach(source ${ARGN})
        get_target_property(count ${target} SOTTO_TESTS)
        if(NOT count)
            set(count 0)
        endif()
        math(EXPR batch "${count} / 12")
        math(EXPR place "${count} % 12")
        if(place EQUAL 0)
            sotto_add_batch(${target} ${batch})
        endif()
        file(STRINGS ${source} includes REGEX "^#include ")
        get_filename_component(name ${source} NAME_WE)
        set_property(TARGET ${target} APPEND PROPERTY SOTTO_INCLUDES_${batch} ${includes})
        set_property(
            TARGET ${target} APPEND_STRING PROPERTY SOTTO_SOURCES_${batch}
            "\nnamespace in_${name} {\n#include \"${source}\"\n}\n"
        )
        math(EXPR count "${count} + 1")
        set_target_properties(${target} PROPERTIES SOTTO_TESTS ${count})
    endforeach()
endfunction()

# Adds the translation unit that includes a batch, which is written when all its sources are known.
function(sotto_add_batch target batch)
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/${target}_${batch}.cpp)
    set(includes $<REMOVE_DUPLICATES:$<TARGET_PROPERTY:${target},SOTTO_INCLUDES_${batch}>>)
    file(
        GENERATE OUTPUT ${unit}
        CONTENT "$<JOIN:${includes},\n>\n$<TARGET_PROPERTY:${target},SOTTO_SOURCES_${batch}>"
    )
    target_sources(${target} PRIVATE ${unit})
endfunction()
