// SPDX-License-Identifier: Apache-2.0
//
// ApiHandler in virtual time, with a writer that records what a client would see.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/async/scope.h"
#include "lib/async/virtual_loop.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/api_handler.h"
#include "test/support/apiserver/recording_writer.h"

namespace csinative::apiserver {

class HandlerTest : public ::testing::Test {
 protected:
  explicit HandlerTest(ApiOptions options = {})
      : api_(loop_, *random_, std::move(options)), scope_(loop_) {
    api_.tokens().Add("t", {"admin", {"system:masters"}, ""});
  }
  ~HandlerTest() override { loop_.Discard(); }

  using Exchange = std::shared_ptr<RecordingWriter>;

  // Starts the request and runs what is ready.
  Exchange Start(std::string method, std::string target, std::string body = "",
                 std::string content_type = "application/json", std::string accept = "") {
    http::ServerRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    if (!token_.empty()) request.headers.Set("Authorization", "Bearer " + token_);
    if (!request.body.empty()) request.headers.Set("Content-Type", std::move(content_type));
    if (!accept.empty()) request.headers.Set("Accept", std::move(accept));
    auto writer = std::make_shared<RecordingWriter>();
    scope_.Spawn(Run(this, std::move(request), writer));
    scheduler_.Settle();
    return writer;
  }
  // "code body" of a request that ends at once.
  std::string Do(std::string method, std::string target, std::string body = "",
                 std::string content_type = "application/json") {
    Exchange exchange =
        Start(std::move(method), std::move(target), std::move(body), std::move(content_type));
    EXPECT_TRUE(exchange->ended);
    return StrCat(exchange->status, " ", exchange->body);
  }
  static int Code(const std::string& answer) { return std::stoi(answer); }
  void CreateConfigMap(std::string_view name, std::string_view label = "x") {
    EXPECT_EQ(Code(Do("POST", "/api/v1/namespaces/default/configmaps",
                      StrCat(R"({"metadata":{"name":")", name, R"(","labels":{"l":")", label,
                             R"("}}})"))),
              201);
  }

  static async::Task<void> Run(HandlerTest* test, http::ServerRequest request, Exchange writer) {
    co_await test->api_.Handle(std::move(request), writer.get());
    writer->ended = true;
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<Random> random_ = NewSeededRandom(1);
  ApiHandler api_;
  std::string token_ = "t";
  async::Scope scope_;
};

}  // namespace csinative::apiserver
