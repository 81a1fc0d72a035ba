# SPDX-License-Identifier: Apache-2.0
# Every third-party package, each as one csi::<name> interface target.

find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(cpprestsdk REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS system)
find_package(yaml-cpp REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)

add_library(csi_dep_protobuf INTERFACE)
add_library(csi::protobuf ALIAS csi_dep_protobuf)
add_library(csi_dep_grpc INTERFACE)
add_library(csi::grpc ALIAS csi_dep_grpc)

if(CSI_NATIVE_STATIC_GRPC)
  # CSI is plain gRPC on unix sockets, so the TLS half of gRPC is dead weight. One group, because
  # the archives refer to each other; unused sections are collected by the linker.
  function(_csi_static out name)
    find_library(_lib_${name} NAMES lib${name}.a REQUIRED)
    set(${out} ${_lib_${name}} PARENT_SCOPE)
  endfunction()
  _csi_static(_protobuf_a protobuf)
  _csi_static(_zlib_a z)
  target_link_libraries(csi_dep_protobuf INTERFACE ${_protobuf_a} ${_zlib_a} Threads::Threads)

  set(_grpc_archives "")
  foreach(_name grpc++_unsecure grpc_unsecure gpr address_sorting upb cares re2)
    _csi_static(_a ${_name})
    list(APPEND _grpc_archives ${_a})
  endforeach()
  get_filename_component(_libdir "${_protobuf_a}" DIRECTORY)
  file(GLOB _absl_archives "${_libdir}/libabsl_*.a")
  target_link_libraries(csi_dep_grpc INTERFACE
    -Wl,--start-group ${_grpc_archives} ${_absl_archives} -Wl,--end-group
    csi::protobuf Threads::Threads ${CMAKE_DL_LIBS})
else()
  target_link_libraries(csi_dep_protobuf INTERFACE protobuf::libprotobuf)
  target_link_libraries(csi_dep_grpc INTERFACE gRPC::grpc++_unsecure csi::protobuf)
endif()

# The package's own target forgets OpenSSL.
add_library(csi_dep_cpprest INTERFACE)
add_library(csi::cpprest ALIAS csi_dep_cpprest)
target_link_libraries(csi_dep_cpprest INTERFACE
  cpprestsdk::cpprest OpenSSL::SSL OpenSSL::Crypto Boost::system Threads::Threads)

add_library(csi_dep_asio INTERFACE)
add_library(csi::asio ALIAS csi_dep_asio)
target_link_libraries(csi_dep_asio INTERFACE
  Boost::headers OpenSSL::SSL OpenSSL::Crypto Threads::Threads)
target_compile_definitions(csi_dep_asio INTERFACE BOOST_ASIO_NO_DEPRECATED BOOST_BEAST_USE_STD_STRING_VIEW)

add_library(csi_dep_yaml INTERFACE)
add_library(csi::yaml ALIAS csi_dep_yaml)
target_link_libraries(csi_dep_yaml INTERFACE yaml-cpp)

# The archive: little of it is used.
find_library(ZSTD_LIBRARY NAMES libzstd.a zstd REQUIRED)
add_library(csi_dep_zstd INTERFACE)
add_library(csi::zstd ALIAS csi_dep_zstd)
target_link_libraries(csi_dep_zstd INTERFACE ${ZSTD_LIBRARY})

# Takes the place of malloc in programs of the tests. Nothing names its symbols.
find_library(MIMALLOC_LIBRARY mimalloc REQUIRED)
add_library(csi_dep_mimalloc INTERFACE)
add_library(csi::mimalloc ALIAS csi_dep_mimalloc)
target_link_options(csi_dep_mimalloc INTERFACE "LINKER:--no-as-needed,${MIMALLOC_LIBRARY},--as-needed")

add_library(csi_dep_gtest INTERFACE)
add_library(csi::gtest ALIAS csi_dep_gtest)
target_link_libraries(csi_dep_gtest INTERFACE GTest::gmock GTest::gtest GTest::gtest_main)

# RapidJSON 1.1.0 assigns to a const member in a function that nobody calls, which clang 19 refuses,
# and adds to a null pointer and counts the leading zeros of zero (JSON "0e72"), which
# UndefinedBehaviorSanitizer reports. And each document begins with 64 KiB, whose release makes malloc
# tidy up the whole heap. A copy of the headers mends these.
find_path(RAPIDJSON_INCLUDE_DIR rapidjson/document.h REQUIRED)
set(_rapidjson "${CMAKE_BINARY_DIR}/rapidjson")
if(NOT EXISTS "${_rapidjson}/mended-4")
  file(COPY "${RAPIDJSON_INCLUDE_DIR}/rapidjson" DESTINATION "${_rapidjson}")
  function(_mend file from to)
    file(READ "${_rapidjson}/rapidjson/${file}" _text)
    string(REPLACE "${from}" "${to}" _text "${_text}")
    file(WRITE "${_rapidjson}/rapidjson/${file}" "${_text}")
  endfunction()
  _mend(document.h "operator=(const GenericStringRef& rhs) { s = rhs.s; length = rhs.length; }"
    "operator=(const GenericStringRef& rhs) = delete;")
  _mend(internal/stack.h "stackTop_ + sizeof(T) * count > stackEnd_"
    "sizeof(T) * count > static_cast<size_t>(stackEnd_ - stackTop_)")
  _mend(internal/stack.h "stackTop_ + sizeof(T) * count <= stackEnd_"
    "sizeof(T) * count <= static_cast<size_t>(stackEnd_ - stackTop_)")
  _mend(internal/diyfp.h "int s = __builtin_clzll(f);" "int s = f == 0 ? 0 : __builtin_clzll(f);")
  _mend(allocators.h "kDefaultChunkCapacity = 64 * 1024" "kDefaultChunkCapacity = 4 * 1024")
  file(TOUCH "${_rapidjson}/mended-4")
endif()
add_library(csi_dep_rapidjson INTERFACE)
add_library(csi::rapidjson ALIAS csi_dep_rapidjson)
target_include_directories(csi_dep_rapidjson SYSTEM INTERFACE "${_rapidjson}")
