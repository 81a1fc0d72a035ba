// SPDX-License-Identifier: Apache-2.0
#include "cmd/registrar/registration_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/oracle.h"
#include "test/unit/registrar/registrar_fixture.h"

namespace csinative::registrar {
namespace {

using ::pluginregistration::InfoRequest;
using ::pluginregistration::PluginInfo;
using ::pluginregistration::RegistrationStatus;
using ::pluginregistration::RegistrationStatusResponse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RegistrationStatus MakeStatus(bool registered, const std::string& error) {
  RegistrationStatus status;
  status.set_plugin_registered(registered);
  status.set_error(error);
  return status;
}

struct TextRow {
  const char* name;
  bool registered = false;
  std::string error;
  std::string text;
};
void PrintTo(const TextRow& row, std::ostream* out) { *out << row.name; }

class StatusTextTest : public ::testing::TestWithParam<TextRow> {};

TEST_P(StatusTextTest, IsGoTextForm) {
  EXPECT_EQ(StatusText(MakeStatus(GetParam().registered, GetParam().error)), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, StatusTextTest,
    ::testing::Values(TextRow{"D5_empty", false, "", ""},
                      TextRow{"registered", true, "", "plugin_registered:true"},
                      TextRow{"D3_both", true, "x", R"(plugin_registered:true error:"x")"},
                      TextRow{"D4_refused", false, "some reason", R"(error:"some reason")"},
                      TextRow{"D6_lines", false, "a\nb", R"(error:"a\nb")"},
                      TextRow{"quotes", false, "say \"no\" \\", R"(error:"say \"no\" \\")"},
                      TextRow{"tab_and_control", false, "\t\x01\x7f", R"(error:"\t\x01\x7f")"},
                      TextRow{"utf8", false, "d\xc3\xa9j\xc3\xa0", "error:\"d\xc3\xa9j\xc3\xa0\""}),
    [](const auto& info) { return std::string(info.param.name); });

class RegistrationServiceTest : public RegistrarFixture {
 protected:
  void SetUp() override {
    Serve("test.csi.drv");
    auto channel = Run(rpc::Connect(loop_, path_, {}));
    ASSERT_TRUE(channel.ok()) << channel.status().ToString();
    channel_ = *std::move(channel);
  }
  ~RegistrationServiceTest() override { channel_.reset(); }

  Status GetInfo(PluginInfo* info) { return Run(channel_->Call(kGetInfo, InfoRequest(), info)); }
  Status Notify(bool registered, const std::string& error) {
    RegistrationStatusResponse response;
    return Run(channel_->Call(kNotify, MakeStatus(registered, error), &response));
  }

  std::unique_ptr<rpc::Channel> channel_;
};

void ExpectInfo(const PluginInfo& info) {
  EXPECT_EQ(info.type(), "CSIPlugin");
  EXPECT_EQ(info.name(), "test.csi.drv");
  EXPECT_EQ(info.endpoint(), "/x");
  EXPECT_THAT(info.supported_versions(), ElementsAre("1.0.0"));
  EXPECT_EQ(info.ByteSizeLong(), 36u);
}

// D1 and 12.13, row 12.
TEST_F(RegistrationServiceTest, InfoIsTheSameBeforeAndAfterNotifications) {
  const oracle::Row row("registrar/12.13/12");
  PluginInfo info;
  ASSERT_TRUE(GetInfo(&info).ok());
  ExpectInfo(info);
  EXPECT_EQ(LastMessage(), R"("Received GetInfo call" request="")");
  ASSERT_TRUE(Notify(true, "").ok());
  ASSERT_TRUE(GetInfo(&info).ok());
  ExpectInfo(info);
}

// D3.
TEST_F(RegistrationServiceTest, SuccessIsOnlyLoggedAsOftenAsItIsTold) {
  EXPECT_TRUE(Notify(true, "").ok());
  EXPECT_EQ(LastMessage(),
            R"("Received NotifyRegistrationStatus call" status="plugin_registered:true")");
  EXPECT_TRUE(Notify(true, "odd").ok());
  EXPECT_EQ(
      LastMessage(),
      R"("Received NotifyRegistrationStatus call" status="plugin_registered:true error:\"odd\"")");
  EXPECT_EQ(refusals_, 0);
}

// D4.
TEST_F(RegistrationServiceTest, RefusalIsLoggedTwiceAndEndsTheProcess) {
  EXPECT_TRUE(Notify(false, "some reason").ok());
  EXPECT_THAT(Logged(), HasSubstr(R"(status="error:\"some reason\"")"));
  EXPECT_EQ(LastMessage(),
            "\"Registration process failed with error, restarting registration container\" "
            "err=\"some reason\"");
  EXPECT_EQ(refusals_, 1);
}

// D5.
TEST_F(RegistrationServiceTest, EmptyMessageIsARefusalWithAnEmptyReason) {
  EXPECT_TRUE(Notify(false, "").ok());
  EXPECT_THAT(Logged(), HasSubstr(R"("Received NotifyRegistrationStatus call" status="")"));
  EXPECT_THAT(LastMessage(), HasSubstr(R"(err="")"));
  EXPECT_EQ(refusals_, 1);
}

// D6.
TEST_F(RegistrationServiceTest, ReasonOfSeveralLinesIsABlock) {
  EXPECT_TRUE(Notify(false, "first\nsecond").ok());
  EXPECT_THAT(LastMessage(), HasSubstr("err=<\n\tfirst\n\tsecond\n >"));
}

// D7.
TEST_F(RegistrationServiceTest, OtherMethodsAndServicesAreUnimplemented) {
  PluginInfo unused;
  for (const auto& [method, text] : std::initializer_list<std::pair<const char*, const char*>>{
           {"/pluginregistration.Registration/Nope",
            "unknown method Nope for service pluginregistration.Registration"},
           {"/grpc.health.v1.Health/Check", "unknown service grpc.health.v1.Health"},
           {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            "unknown service grpc.reflection.v1.ServerReflection"}}) {
    EXPECT_EQ(Run(channel_->Call(method, InfoRequest(), &unused)).message(),
              StrCat("rpc error: code = Unimplemented desc = ", text));
  }
}

async::Task<void> AskOften(async::EventLoop* loop, std::string path, int* answers) {
  auto channel = co_await rpc::Connect(*loop, path, {});
  if (!channel.ok()) co_return;
  for (int i = 0; i < 40; ++i) {
    PluginInfo info;
    const Status status =
        co_await (*channel)->Call("/pluginregistration.Registration/GetInfo", InfoRequest(), &info);
    if (status.ok() && info.name() == "test.csi.drv") ++*answers;
  }
}

// D8.
TEST_F(RegistrationServiceTest, ManyClientsAtOnceAreAllAnswered) {
  int answers = 0;
  async::Scope scope(loop_);
  for (int i = 0; i < 10; ++i) scope.Spawn(AskOften(&loop_, path_, &answers));
  Run(scope.Join());
  EXPECT_EQ(answers, 400);
}

}  // namespace
}  // namespace csinative::registrar
