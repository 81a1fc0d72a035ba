// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/calls.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "lib/async/run.h"
#include "test/support/fake_channel.h"

namespace csinative::csi {
namespace {

TEST(CallTest, RequestDecidesOnMethodAndAnswer) {
  async::VirtualScheduler scheduler;
  async::VirtualLoop loop(scheduler);
  testing::FakeChannel channel;
  channel.Handle<::csi::v1::CreateVolumeRequest, ::csi::v1::CreateVolumeResponse>(
      "/csi.v1.Controller/CreateVolume",
      [](::csi::v1::CreateVolumeRequest request,
         ::csi::v1::CreateVolumeResponse* response) -> async::Task<Status> {
        response->mutable_volume()->set_volume_id("id of " + request.name());
        co_return Status();
      });
  ::csi::v1::CreateVolumeRequest request;
  request.set_name("a");
  auto created = async::RunTask(scheduler, loop, Call(channel, request));
  ASSERT_TRUE(created.ok());
  EXPECT_EQ(created->volume().volume_id(), "id of a");
  auto failed = async::RunTask(scheduler, loop, Call(channel, ::csi::v1::ProbeRequest()));
  EXPECT_EQ(failed.status().code(), Code::kUnimplemented);
}

// The names are made from the words in the table; the published services are the judge.
template <typename Request>
void ExpectDeclared() {
  const std::string path = MethodOf<Request>::kName;
  const auto* file = Request::descriptor()->file();
  const size_t slash = path.rfind('/');
  const auto* service =
      file->FindServiceByName(path.substr(sizeof("/csi.v1.") - 1, slash - sizeof("/csi.v1.") + 1));
  ASSERT_NE(service, nullptr) << path;
  const auto* method = service->FindMethodByName(path.substr(slash + 1));
  ASSERT_NE(method, nullptr) << path;
  EXPECT_EQ(method->input_type(), Request::descriptor());
  EXPECT_EQ(method->output_type(), MethodOf<Request>::Response::descriptor());
}

TEST(CallTest, MethodsAreThoseOfTheServices) {
  ExpectDeclared<::csi::v1::ProbeRequest>();
  ExpectDeclared<::csi::v1::CreateVolumeRequest>();
  ExpectDeclared<::csi::v1::ControllerModifyVolumeRequest>();
  ExpectDeclared<::csi::v1::GetSnapshotRequest>();
  ExpectDeclared<::csi::v1::CreateVolumeGroupSnapshotRequest>();
  ExpectDeclared<::csi::v1::GroupControllerGetCapabilitiesRequest>();
  ExpectDeclared<::csi::v1::NodeGetInfoRequest>();
  ExpectDeclared<::csi::v1::NodePublishVolumeRequest>();
}

}  // namespace
}  // namespace csinative::csi
