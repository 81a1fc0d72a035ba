// SPDX-License-Identifier: Apache-2.0
//
// A reflector of nodes over a scripted transport in virtual time, and a sink that keeps names and
// versions.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apis/k8s.h"
#include "lib/async/scope.h"
#include "lib/async/virtual_loop.h"
#include "lib/base/strings.h"
#include "lib/kube/reflector.h"
#include "test/support/fake_api_transport.h"
#include "test/support/kube_wire.h"

namespace csinative::kube {

inline core::Node NodeAt(std::string name, std::string version) {
  core::Node node;
  node.mutable_metadata()->set_name(std::move(name));
  node.mutable_metadata()->set_resourceversion(std::move(version));
  return node;
}

// Keeps names and versions as a cache would.
class RecordingSink final : public ReflectorSink {
 public:
  void BeginReplace() override { staged.emplace(); }
  Result<std::string> Stage(WatchEventType type, const EncodedObject& object) override {
    if (++staged_calls == fail_stage_at) return UnknownError("the sink is full");
    return Change(type, object, *staged);
  }
  async::Task<void> CommitReplace() override {
    current = *staged;
    staged.reset();
    ++replaces;
    co_return;
  }
  void AbandonReplace() override { staged.reset(); }
  Result<std::string> Apply(WatchEventType type, const EncodedObject& object) override {
    return Change(type, object, current);
  }

  std::map<std::string, std::string> current;  // name to version
  std::optional<std::map<std::string, std::string>> staged;
  int replaces = 0;
  int staged_calls = 0;
  int fail_stage_at = 0;  // 0: never

 private:
  static Result<std::string> Change(WatchEventType type, const EncodedObject& object,
                                    std::map<std::string, std::string>& state) {
    core::Node node;
    CSI_RETURN_IF_ERROR(DecodeObject(object, UnknownFields::kDrop, &node));
    const meta::ObjectMeta& metadata = node.metadata();
    if (type == WatchEventType::kDeleted) {
      state.erase(metadata.name());
    } else {
      state[metadata.name()] = metadata.resourceversion();
    }
    return metadata.resourceversion();
  }
};

class ReflectorFixture : public ::testing::Test {
 protected:
  ~ReflectorFixture() override {
    if (!reflector_) return;
    scope_.Cancel();
    scheduler_.Settle();
    EXPECT_TRUE(scope_.empty()) << "the reflector did not stop";
  }

  void Start(ReflectorOptions options = {}, int verbosity = 0,
             ClientOptions client_options = {.qps = -1}) {
    const log::Logger log = log::NewLogger(output_);
    log.backend()->SetVerbosity(verbosity);
    client_ = *Client::Create(loop_, *random_, transport_, log, std::move(client_options));
    reflector_.emplace(loop_, *random_, *client_, log, ResourceOf<core::Node>(), sink_,
                       std::move(options));
    scope_.Spawn(reflector_->Run());
    scheduler_.Settle();
  }
  void StartWithLists(ReflectorOptions options = {}, int verbosity = 0) {
    options.watch_list = false;
    Start(std::move(options), verbosity);
  }

  // The requests, with timeouts checked and taken out.
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (ApiRequest request : transport_.requests()) {
      std::string short_form;
      std::string timeout;
      for (const auto& [key, value] : request.query) {
        if (key == "timeoutSeconds") {
          const int limit = std::stoi(value);
          EXPECT_TRUE(limit >= 300 && limit < 600) << limit;
        } else if (key != "timeout") {
          short_form += StrCat(short_form.empty() ? "" : "&", key, "=", value);
        }
      }
      EXPECT_EQ(request.method, "GET");
      EXPECT_EQ(request.path, "/api/v1/nodes");
      lines.push_back(short_form);
    }
    return lines;
  }
  void Send(testing::FakeStream& stream, std::string bytes) {
    stream.Send(std::move(bytes));
    scheduler_.Settle();
  }
  testing::FakeStream AnswerWatchList(std::vector<core::Node> nodes, std::string version) {
    testing::FakeStream stream = transport_.AnswerStream();
    std::string bytes;
    for (const core::Node& node : nodes) bytes += testing::Frame("ADDED", node);
    stream.Send(bytes + testing::BookmarkFrame<core::Node>(std::move(version), "true"));
    return stream;
  }

  const std::string kWatchList =
      "allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&"
      "watch=true";
  static std::string WatchListAt(std::string version) {
    return StrCat("allowWatchBookmarks=true&resourceVersion=", version,
                  "&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&watch=true");
  }
  static std::string WatchAt(std::string version) {
    return StrCat("allowWatchBookmarks=true&resourceVersion=", version, "&watch=true");
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<Random> random_ = NewSeededRandom(1);
  std::shared_ptr<log::CollectingOutput> output_ = std::make_shared<log::CollectingOutput>();
  testing::FakeApiTransport transport_{loop_};
  RecordingSink sink_;
  std::unique_ptr<Client> client_;
  std::optional<Reflector> reflector_;
  async::Scope scope_{loop_};
};

}  // namespace csinative::kube
