// SPDX-License-Identifier: Apache-2.0
//
// Keeps the gRPC library and its threads up between connections. They start with the first
// connection and end with the last one: several milliseconds of processor time and some hundred
// context switches, each time. While they are up they wake 120 times a minute. Loop only.
#pragma once

#include <memory>

namespace csinative::rpc {

class LibraryHold {
 public:
  LibraryHold();
  ~LibraryHold();
  LibraryHold(const LibraryHold&) = delete;
  LibraryHold& operator=(const LibraryHold&) = delete;

 private:
  std::shared_ptr<void> engine_;
};

}  // namespace csinative::rpc
