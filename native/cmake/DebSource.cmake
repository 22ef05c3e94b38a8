# Downloads a Debian package of headers with apt, verifies its hash and unpacks it once; never installs it.

# sotto_deb_source(<package> VERSION <v> POOL <folder of the archive> ARCH <arch> SHA256 <hash> RESULT <variable>)
# sets <variable> to the folder usr of the unpacked package.
function(sotto_deb_source package)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "VERSION;POOL;ARCH;SHA256;RESULT" "")
    set(stem ${package}_${arg_VERSION}_${arg_ARCH})
    sotto_cache_dir(cache)
    set(archive ${cache}/${stem}.deb)
    set(unpacked ${cache}/${stem})
    if(NOT IS_DIRECTORY ${unpacked})
        if(NOT EXISTS ${archive})
            sotto_deb_download(${arg_POOL}/${stem}.deb ${arg_SHA256} ${archive})
        endif()
        sotto_check_hash(${archive} ${arg_SHA256})
        sotto_deb_unpack(${archive} ${unpacked})
    endif()
    set(${arg_RESULT} ${unpacked}/usr PARENT_SCOPE)
endfunction()

# Downloads `file` to `archive` from the mirrors that this machine's apt uses.
function(sotto_deb_download file hash archive)
    execute_process(
        COMMAND apt-get indextargets --format "$(REPO_URI)"
        OUTPUT_VARIABLE archives
        ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE
    )
    string(REPLACE "\n" ";" archives "${archives}")
    list(REMOVE_DUPLICATES archives)
    set(story "")
    foreach(uri IN LISTS archives)
        string(RANDOM LENGTH 12 random)
        set(part ${archive}.${random})
        message(STATUS "fetching ${file}")
        execute_process(
            COMMAND /usr/lib/apt/apt-helper download-file ${uri}${file} ${part} SHA256:${hash}
            OUTPUT_VARIABLE said
            ERROR_VARIABLE said
        )
        if(EXISTS ${part})
            file(RENAME ${part} ${archive})
            return()
        endif()
        string(APPEND story "\n${said}")
    endforeach()
    if(story STREQUAL "")
        set(story "apt-get knows no archive")
    endif()
    message(FATAL_ERROR "cannot fetch ${file} to ${archive} (or put it there yourself): ${story}")
endfunction()

function(sotto_deb_unpack archive unpacked)
    string(RANDOM LENGTH 12 random)
    set(part ${unpacked}.${random})
    message(STATUS "unpacking ${archive}")
    execute_process(COMMAND dpkg-deb -x ${archive} ${part} ERROR_VARIABLE said)
    file(RENAME ${part} ${unpacked} RESULT failure)
    file(REMOVE_RECURSE ${part})
    if(NOT IS_DIRECTORY ${unpacked}/usr)
        message(FATAL_ERROR "cannot unpack ${archive} to ${unpacked}: ${said} ${failure}")
    endif()
endfunction()
