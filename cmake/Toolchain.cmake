# SPDX-License-Identifier: Apache-2.0
# Compiler and linker settings that hold for every target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Precompiled headers hit the cache only with these sloppiness settings and without the
  # timestamp that clang writes into them (-fno-pch-timestamp below).
  set(_ccache ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${_ccache})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${_ccache})
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# Sanitizers are slow enough.
if(CSI_NATIVE_SANITIZE)
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
else()
  set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
endif()

add_compile_options(
  "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>"
  -fno-omit-frame-pointer
  -ffunction-sections -fdata-sections
  "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
add_link_options(-fuse-ld=lld -Wl,--gc-sections -Wl,--as-needed)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_link_options(-Wl,-s -Wl,-O2 -Wl,--icf=safe)
endif()

if(CSI_NATIVE_SANITIZE)
  add_compile_options(-fsanitize=${CSI_NATIVE_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CSI_NATIVE_SANITIZE})
  if(CSI_NATIVE_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
endif()

include_directories("${CMAKE_SOURCE_DIR}")
