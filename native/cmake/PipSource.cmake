# Downloads a source distribution from the Python package index with pip, verifies its hash and unpacks it once.

# sotto_pip_source(<package> VERSION <v> SHA256 <hash> FOLDER <folder in the archive> [AS <name>] RESULT <variable>)
# unpacks only FOLDER, and sets <variable> to its path. AS: name of the folder in the cache, needed for another FOLDER of
# the same package.
function(sotto_pip_source package)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "VERSION;SHA256;FOLDER;AS;RESULT" "")
    string(REPLACE "-" "_" name ${package})
    set(stem ${name}-${arg_VERSION})
    sotto_cache_dir(cache)
    set(archive ${cache}/${stem}.tar.gz)
    set(unpacked ${cache}/${stem})
    if(DEFINED arg_AS)
        set(unpacked ${cache}/${arg_AS})
    endif()
    if(NOT IS_DIRECTORY ${unpacked})
        if(NOT EXISTS ${archive})
            sotto_pip_download(${package}==${arg_VERSION} ${archive})
        endif()
        sotto_check_hash(${archive} ${arg_SHA256})
        sotto_unpack(${archive} ${stem} ${arg_FOLDER} ${unpacked})
    endif()
    set(${arg_RESULT} ${unpacked}/${arg_FOLDER} PARENT_SCOPE)
endfunction()

function(sotto_cache_dir result)
    if(NOT "$ENV{SOTTO_CACHE}" STREQUAL "")
        set(dir "$ENV{SOTTO_CACHE}")
    elseif(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
        set(dir "$ENV{XDG_CACHE_HOME}/sotto")
    elseif(NOT "$ENV{HOME}" STREQUAL "")
        set(dir "$ENV{HOME}/.cache/sotto")
    elseif(NOT "$ENV{LOCALAPPDATA}" STREQUAL "")
        set(dir "$ENV{LOCALAPPDATA}/sotto")
    else()
        set(dir "${CMAKE_BINARY_DIR}/cache")
    endif()
    file(TO_CMAKE_PATH "${dir}/deps" dir)
    file(MAKE_DIRECTORY ${dir})
    set(${result} ${dir} PARENT_SCOPE)
endfunction()

# Fails if the SHA-256 of `archive` is not `expected`, and keeps the file for inspection.
function(sotto_check_hash archive expected)
    file(SHA256 ${archive} actual)
    if(NOT actual STREQUAL expected)
        message(FATAL_ERROR "${archive} has SHA-256 ${actual}, not ${expected}: delete it and configure again")
    endif()
endfunction()

# Unpacks to a temporary folder and renames it, because concurrent builds may share the cache.
function(sotto_unpack archive stem folder unpacked)
    string(RANDOM LENGTH 12 random)
    set(part ${unpacked}.${random})
    message(STATUS "unpacking ${archive}")
    file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${part} PATTERNS ${stem}/${folder})
    file(RENAME ${part}/${stem} ${unpacked} RESULT failure)
    file(REMOVE_RECURSE ${part})
    if(NOT IS_DIRECTORY ${unpacked}/${folder})
        message(FATAL_ERROR "cannot unpack ${archive} to ${unpacked}: ${failure}")
    endif()
endfunction()

# Downloads with the first pip that works. A build that pip or uv isolates has no pip on its own Python's
# path, so PYTHONPATH is unset, and uv may provide one.
function(sotto_pip_download requirement archive)
    find_package(Python3 QUIET COMPONENTS Interpreter)
    set(tries "${Python3_EXECUTABLE} -m pip" "python3 -m pip" "python -m pip" pip3 pip "uv tool run pip")
    set(story "")
    set(failures 0)
    foreach(try IN LISTS tries)
        separate_arguments(pip NATIVE_COMMAND "${try}")
        sotto_pip_works("${pip}" works)
        if(works AND NOT failures EQUAL 2) # after two failures, a third has the same cause
            math(EXPR failures "${failures} + 1")
            sotto_run_pip("${pip}" ${requirement} ${archive} said)
            if(EXISTS ${archive})
                return()
            endif()
            string(APPEND story "\n${try}:\n${said}")
        endif()
    endforeach()
    if(story STREQUAL "")
        set(story "no pip found: install pip for the Python on PATH, or uv")
    endif()
    message(FATAL_ERROR "cannot fetch ${requirement} to ${archive} (or put it there yourself): ${story}")
endfunction()

function(sotto_pip_works pip result)
    execute_process(
        COMMAND ${CMAKE_COMMAND} -E env --unset=PYTHONPATH ${pip} --version
        RESULT_VARIABLE status
        OUTPUT_QUIET ERROR_QUIET
    )
    if(status EQUAL 0)
        set(${result} TRUE PARENT_SCOPE)
    else()
        set(${result} FALSE PARENT_SCOPE)
    endif()
endfunction()

# Downloads with pip. To read a source distribution's metadata, pip installs its build requirements in an
# isolated environment, so that the caller's environment needs none.
function(sotto_run_pip pip requirement archive output)
    string(REGEX REPLACE "==.*" "" package ${requirement})
    string(RANDOM LENGTH 12 random)
    set(part ${archive}.${random})
    message(STATUS "fetching ${requirement}")
    execute_process(
        COMMAND
            ${CMAKE_COMMAND} -E env --unset=PYTHONPATH ${pip} download --quiet --disable-pip-version-check
            --no-deps --no-binary ${package} --dest ${part} ${requirement}
        OUTPUT_VARIABLE said
        ERROR_VARIABLE said
    )
    file(GLOB found ${part}/*.tar.gz)
    if(found)
        file(RENAME ${found} ${archive})
    endif()
    file(REMOVE_RECURSE ${part})
    set(${output} "${said}" PARENT_SCOPE)
endfunction()
