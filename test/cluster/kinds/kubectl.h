// SPDX-License-Identifier: Apache-2.0
//
// kubectl as the other writer, and as the reader whose answers count. One call at a time. Loop
// only; the program itself runs beside the loop.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/async/blocking.h"
#include "lib/base/result.h"
#include "test/support/child_process.h"

namespace csinative::kinds {

class Kubectl {
 public:
  // Borrowed: the executor outlives all calls.
  Kubectl(async::BlockingExecutor& executor, std::string program, std::string kubeconfig)
      : executor_(executor), program_(std::move(program)), kubeconfig_(std::move(kubeconfig)) {}

  // What it prints. `document` not empty: a file with it is the value of --filename. kUnknown with
  // what it says when it fails.
  async::Task<Result<std::string>> Run(std::vector<std::string> arguments,
                                       std::string document = "");

 private:
  async::BlockingExecutor& executor_;
  const std::string program_;
  const std::string kubeconfig_;
  test::TempDir folder_;
  int calls_ = 0;
};

// A List of these objects, each JSON text.
std::string ListOf(const std::vector<std::string>& objects);

}  // namespace csinative::kinds
