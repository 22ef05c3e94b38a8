# SQLite, from the amalgamation that the source distribution of sqlean.py carries. Include after PipSource.cmake.
#
# Sets SOTTO_SQLITE_DIR and defines the target sotto_sqlite (#include <sqlite3.h>).
#
# sqlean.py appends a function to the amalgamation, which is cut off here: what is compiled is SQLite's own file.

sotto_pip_source(
    sqlean-py
    VERSION 3.50.4.5
    SHA256 9764b565e7ab430ab6e9e43cb2816199c2b39926dffc93c212a52f0019278459
    FOLDER sqlite
    RESULT _sqlean
)
set(SOTTO_SQLITE_DIR ${_sqlean}/amalgamation)

# Writes SQLite's part of `source` to `target`, once; a temporary file, because concurrent builds may share the cache.
function(sotto_cut_sqlite source target sha256)
    if(EXISTS ${target})
        return()
    endif()
    set(end "/************************** End of sqlite3.c ******************************/\n")
    file(READ ${source} text)
    string(FIND "${text}" "${end}" at)
    string(LENGTH "${end}" length)
    math(EXPR size "${at} + ${length}")
    string(SUBSTRING "${text}" 0 ${size} text)
    string(RANDOM LENGTH 12 random)
    set(part ${target}.${random})
    file(WRITE ${part} "${text}")
    sotto_check_hash(${part} ${sha256})
    file(RENAME ${part} ${target})
endfunction()

file(COPY ${_sqlean}/sqlite3.h DESTINATION ${SOTTO_SQLITE_DIR})
sotto_cut_sqlite(
    ${_sqlean}/sqlite3.c ${SOTTO_SQLITE_DIR}/sqlite3.c e3f5d6901e7492af4a1fc8c4d745cae84c264942524c3fbfc02b82a5ca8818c8
)

add_library(sotto_sqlite STATIC ${SOTTO_SQLITE_DIR}/sqlite3.c)
target_include_directories(sotto_sqlite SYSTEM PUBLIC ${SOTTO_SQLITE_DIR})
target_compile_definitions(
    sotto_sqlite
    PRIVATE
        SQLITE_DEFAULT_FILE_PERMISSIONS=0600 # as all files that we write
        SQLITE_DEFAULT_MEMSTATUS=0
        SQLITE_DQS=0
        SQLITE_ENABLE_FTS5
        SQLITE_LIKE_DOESNT_MATCH_BLOBS
        SQLITE_MAX_EXPR_DEPTH=200
        SQLITE_MAX_WORKER_THREADS=0
        SQLITE_OMIT_DEPRECATED
        SQLITE_OMIT_LOAD_EXTENSION
        SQLITE_OMIT_PROGRESS_CALLBACK
        SQLITE_OMIT_SHARED_CACHE
        SQLITE_THREADSAFE=2 # each connection has a lock of ours
)
if(UNIX AND NOT ANDROID)
    target_link_libraries(sotto_sqlite PUBLIC m)
endif()
