// SPDX-License-Identifier: Apache-2.0
//
// A client over a scripted transport in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apis/k8s.h"
#include "lib/async/run.h"
#include "lib/kube/client.h"
#include "test/support/fake_api_transport.h"
#include "test/support/kube_wire.h"

namespace csinative::kube {

class ClientFixture : public ::testing::Test {
 protected:
  ClientFixture() { Use({.qps = -1}); }

  void Use(ClientOptions options, int verbosity = 0) {
    const log::Logger log = log::NewLogger(output_);
    log.backend()->SetVerbosity(verbosity);
    client_ = *Client::Create(loop_, *random_, *transport_, log, std::move(options));
  }
  // A new script and an empty record.
  void Restart(ClientOptions options = {.qps = -1}) {
    client_.reset();
    transport_ = std::make_unique<testing::FakeApiTransport>(loop_);
    Use(std::move(options));
  }

  template <typename T>
  T Run(async::Task<T> task) {
    return async::RunTask(scheduler_, loop_, std::move(task));
  }
  static core::Node NodeNamed(const std::string& name = "n") {
    core::Node node;
    node.mutable_metadata()->set_name(name);
    return node;
  }
  Status Get() { return Run(client_->Get<core::Node>({"", "n"})).status(); }
  // A request of that verb about a node.
  Status Call(const std::string& verb) {
    if (verb == "GET") return Get();
    if (verb == "POST") return Run(client_->Create(NodeNamed())).status();
    if (verb == "PUT") return Run(client_->Update(NodeNamed())).status();
    if (verb == "PATCH") {
      return Run(client_->Patch<core::Node>({"", "n"}, PatchType::kMerge, "{}")).status();
    }
    return Run(client_->Delete<core::Node>({"", "n"}));
  }
  Result<std::unique_ptr<ApiStream>> Watch() {
    return Run(client_->OpenStream(&ResourceOf<core::Node>(), "", {{"watch", "true"}}));
  }
  size_t attempts() const { return transport_->requests().size(); }
  // Pauses between requests, in seconds.
  std::vector<double> Pauses() const {
    std::vector<double> pauses;
    const std::vector<MonotonicTime>& times = transport_->times();
    for (size_t i = 1; i < times.size(); ++i) {
      pauses.push_back(std::chrono::duration<double>(times[i] - times[i - 1]).count());
    }
    return pauses;
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<Random> random_ = NewSeededRandom(1);
  std::unique_ptr<testing::FakeApiTransport> transport_ =
      std::make_unique<testing::FakeApiTransport>(loop_);
  std::shared_ptr<log::CollectingOutput> output_ = std::make_shared<log::CollectingOutput>();
  std::unique_ptr<Client> client_;
};

}  // namespace csinative::kube
