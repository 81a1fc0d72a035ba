// SPDX-License-Identifier: Apache-2.0
#include "test/support/unlimited_client.h"

#include <utility>

namespace csinative::testing {

std::unique_ptr<kube::Client> NewUnlimitedClient(async::EventLoop& loop, Random& random,
                                                 kube::ApiTransport& transport) {
  kube::ClientOptions options;
  options.user_agent = "test";
  options.qps = -1;
  auto client = kube::Client::Create(loop, random, transport, log::Logger(), options);
  return *std::move(client);
}

}  // namespace csinative::testing
