// SPDX-License-Identifier: Apache-2.0
//
// A registration service on a real socket, and its log.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cmd/registrar/registration_service.h"
#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/log/backend.h"
#include "lib/log/output.h"
#include "lib/rpc/channel.h"
#include "lib/rpc/server.h"
#include "test/support/child_process.h"

namespace csinative::registrar {

class RegistrarFixture : public ::testing::Test {
 protected:
  static constexpr char kGetInfo[] = "/pluginregistration.Registration/GetInfo";
  static constexpr char kNotify[] = "/pluginregistration.Registration/NotifyRegistrationStatus";

  RegistrarFixture() { backend_->SetVerbosity(5); }
  ~RegistrarFixture() override { StopServer(); }

  // Answers for `driver` at path_; refusals are counted.
  void Serve(const std::string& driver) {
    service_ = std::make_unique<RegistrationService>(RegistrationService::Config{
        .driver = driver, .endpoint = "/x", .log = log_, .on_refused = [this] { ++refusals_; }});
    server_ = rpc::NewServer(loop_);
    service_->Register(*server_);
    Start();
  }
  void Start() {
    const Status started = server_->Start("unix:" + path_);
    ASSERT_TRUE(started.ok()) << started.ToString();
  }
  void StopServer() {
    if (server_) async::RunTask(loop_, server_->Close());
    server_.reset();
  }

  template <typename T>
  T Run(async::Task<T> task) {
    return async::RunTask(loop_, std::move(task));
  }

  // All records so far, one a line.
  std::string Logged() const { return Join(output_->Records(), "\n"); }
  // Without "I1129 12:00:00.000000   1 file.cc:1] ".
  std::string LastMessage() const {
    const std::string last = output_->Last();
    return last.substr(std::min(last.find("] ") + 2, last.size()));
  }

  async::RealLoop loop_;
  std::shared_ptr<log::CollectingOutput> output_ = std::make_shared<log::CollectingOutput>();
  std::shared_ptr<log::Backend> backend_ = std::make_shared<log::Backend>(output_);
  log::Logger log_{backend_};
  test::TempDir dir_;
  const std::string path_ = dir_.path() + "/test.csi.drv-reg.sock";
  int refusals_ = 0;
  std::unique_ptr<RegistrationService> service_;
  std::unique_ptr<rpc::Server> server_;
};

}  // namespace csinative::registrar
