# SPDX-License-Identifier: Apache-2.0
# The project's own target functions: one library, test or executable a call.

set(CSI_NATIVE_WARNINGS
  -Wall -Wextra -Wpedantic -Werror
  -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Wunused
  -Wextra-semi -Wrange-loop-analysis -Wthread-safety
  # Designated initialisers leave fields out on purpose: options have defaults.
  -Wno-missing-designated-field-initializers -Wno-missing-field-initializers)

# Precompiled headers for the expensive third-party includes. A target asks for one by name
# (PCH protobuf | grpc | cpprest | asio); all users of one share it.
function(_csi_pch_target name)
  cmake_parse_arguments(A "" "" "DEPS;HEADERS" ${ARGN})
  file(WRITE "${CMAKE_BINARY_DIR}/pch/${name}.cc.in" "// Carries the precompiled header ${name}.\n")
  configure_file("${CMAKE_BINARY_DIR}/pch/${name}.cc.in" "${CMAKE_BINARY_DIR}/pch/${name}.cc" COPYONLY)
  add_library(csi_pch_${name} OBJECT "${CMAKE_BINARY_DIR}/pch/${name}.cc")
  target_link_libraries(csi_pch_${name} PRIVATE ${A_DEPS})
  target_compile_options(csi_pch_${name} PRIVATE ${CSI_NATIVE_WARNINGS})
  target_precompile_headers(csi_pch_${name} PRIVATE ${A_HEADERS})
endfunction()

_csi_pch_target(protobuf DEPS csi::protobuf
  HEADERS <string> <vector> <memory> <map> <google/protobuf/message.h>
          <google/protobuf/descriptor.h> <google/protobuf/repeated_field.h>)
_csi_pch_target(grpc DEPS csi::grpc
  HEADERS <string> <vector> <memory> <map> <grpcpp/grpcpp.h> <grpcpp/generic/generic_stub.h>
          <grpcpp/generic/async_generic_service.h> <google/protobuf/message.h>)
_csi_pch_target(cpprest DEPS csi::cpprest csi::asio
  HEADERS <string> <vector> <memory> <map> <cpprest/http_client.h>)
_csi_pch_target(asio DEPS csi::asio
  HEADERS <string> <vector> <memory> <map> <boost/asio.hpp> <boost/asio/ssl.hpp>
          <boost/beast/core.hpp> <boost/beast/http.hpp>)

# For executables: CMake compiles them with -fPIE, precompiled headers and libraries with -fPIC, and
# clang refuses the mix.
function(_csi_use_pch target name)
  target_precompile_headers(${target} REUSE_FROM csi_pch_${name})
  target_compile_options(${target} PRIVATE -fPIC)
endfunction()

# csi_library(NAME target SOURCES ... [PUBLIC deps] [PRIVATE deps] [PCH name])
function(csi_library)
  cmake_parse_arguments(A "" "NAME;PCH" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${A_NAME} STATIC ${A_SOURCES})
  target_compile_options(${A_NAME} PRIVATE ${CSI_NATIVE_WARNINGS})
  target_link_libraries(${A_NAME} PUBLIC ${A_PUBLIC} PRIVATE ${A_PRIVATE})
  if(A_PCH)
    target_precompile_headers(${A_NAME} REUSE_FROM csi_pch_${A_PCH})
  endif()
endfunction()

# csi_executable(NAME binary SOURCES ... DEPS ... [PCH name]) ends in bin/<binary>.
function(csi_executable)
  cmake_parse_arguments(A "" "NAME;PCH" "SOURCES;DEPS" ${ARGN})
  add_executable(${A_NAME} ${A_SOURCES})
  target_compile_options(${A_NAME} PRIVATE ${CSI_NATIVE_WARNINGS})
  target_link_libraries(${A_NAME} PRIVATE ${A_DEPS})
  if(A_PCH)
    _csi_use_pch(${A_NAME} ${A_PCH})
  endif()
endfunction()

# csi_test(NAME binary LABEL unit|sim|integration SOURCES ... DEPS ... [PCH name] [TIMEOUT s])
# One binary a folder; ctest runs it as one test so that a run costs one process start.
function(csi_test)
  cmake_parse_arguments(A "" "NAME;PCH;LABEL;TIMEOUT" "SOURCES;DEPS" ${ARGN})
  add_executable(${A_NAME} ${A_SOURCES})
  target_compile_options(${A_NAME} PRIVATE ${CSI_NATIVE_WARNINGS})
  target_link_libraries(${A_NAME} PRIVATE ${A_DEPS} csi::gtest)
  if(A_LABEL STREQUAL "integration")
    target_link_libraries(${A_NAME} PRIVATE csi_cpprest_environment csi_http)
  endif()
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/test")
  if(A_PCH)
    _csi_use_pch(${A_NAME} ${A_PCH})
  endif()
  csi_test_again(NAME ${A_NAME} TEST ${A_NAME} LABEL ${A_LABEL} TIMEOUT ${A_TIMEOUT})
endfunction()

# csi_test_again(NAME name TEST binary LABEL ... [TIMEOUT s] [ARGUMENTS ...] [ENVIRONMENT NAME=value ...]):
# the same binary under other conditions.
function(csi_test_again)
  cmake_parse_arguments(A "" "NAME;TEST;LABEL;TIMEOUT" "ARGUMENTS;ENVIRONMENT" ${ARGN})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 120)
  endif()
  add_test(NAME ${A_NAME} COMMAND ${A_TEST} ${A_ARGUMENTS} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(${A_NAME} PROPERTIES LABELS "${A_LABEL}" TIMEOUT ${A_TIMEOUT}
    ENVIRONMENT "${A_ENVIRONMENT}")
endfunction()

# csi_proto(NAME target PROTOS files... [PUBLIC deps]): messages only. Services are called by
# method name through lib/rpc, so no stubs are generated.
function(csi_proto)
  cmake_parse_arguments(A "" "NAME" "PROTOS;PUBLIC" ${ARGN})
  set(_out "")
  foreach(_proto ${A_PROTOS})
    file(RELATIVE_PATH _rel "${CMAKE_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${_proto}")
    string(REGEX REPLACE "\\.proto$" "" _stem "${_rel}")
    set(_cc "${CMAKE_BINARY_DIR}/gen/${_stem}.pb.cc")
    set(_h "${CMAKE_BINARY_DIR}/gen/${_stem}.pb.h")
    add_custom_command(OUTPUT "${_cc}" "${_h}"
      COMMAND ${CMAKE_COMMAND} -E make_directory "${CMAKE_BINARY_DIR}/gen"
      COMMAND protobuf::protoc -I "${CMAKE_SOURCE_DIR}" --cpp_out "${CMAKE_BINARY_DIR}/gen" "${_rel}"
      WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
      DEPENDS "${CMAKE_SOURCE_DIR}/${_rel}"
      COMMENT "protoc ${_rel}" VERBATIM)
    list(APPEND _out "${_cc}" "${_h}")
  endforeach()
  add_library(${A_NAME} STATIC ${_out})
  # Generated code gains nothing from -O2 and is most of the build. No precompiled header either,
  # so that all build folders share the cached objects.
  target_compile_options(${A_NAME} PRIVATE -w $<$<CONFIG:Release>:-O1>)
  # Nor from AddressSanitizer, under which one such file takes five minutes.
  if(CSI_NATIVE_SANITIZE MATCHES "address")
    target_compile_options(${A_NAME} PRIVATE -fno-sanitize=all)
  endif()
  target_include_directories(${A_NAME} SYSTEM PUBLIC "${CMAKE_BINARY_DIR}/gen")
  target_link_libraries(${A_NAME} PUBLIC csi::protobuf ${A_PUBLIC})
endfunction()
