// SPDX-License-Identifier: Apache-2.0
//
// A directory of one test, removed with all it holds.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace csinative::rpc {

class TempDir {
 public:
  TempDir() {
    char pattern[] = "/tmp/rpc-test-XXXXXX";
    path_ = mkdtemp(pattern);
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string Address(const std::string& name) const { return "unix://" + path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace csinative::rpc
