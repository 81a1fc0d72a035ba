// SPDX-License-Identifier: Apache-2.0
//
// Keeps the leading csi-attacher writing: attachments that are deleted as soon as they are
// attached, and made again as soon as they are gone. Loop only.
#pragma once

#include <string>

#include "lib/async/task.h"
#include "test/support/apiserver/api_handler.h"

namespace csinative::failovers {

class Load {
 public:
  // `token` is an administrator's. Borrowed: the API.
  Load(apiserver::ApiHandler& api, std::string token) : api_(api), token_(std::move(token)) {}

  // The objects that attachments refer to.
  Status Prepare(const std::string& volume_handle);
  // Until cancelled.
  async::Task<void> Run();

 private:
  async::Task<void> Turn(std::string name);

  apiserver::ApiHandler& api_;
  const std::string token_;
};

}  // namespace csinative::failovers
