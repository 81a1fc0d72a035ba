// SPDX-License-Identifier: Apache-2.0
//
// What code of ours relies on in the published CSI and registration contracts.
#include <gtest/gtest.h>

#include <string>

#include "proto/csi/v1/csi.pb.h"
#include "proto/pluginregistration/v1/api.pb.h"

namespace csinative {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FileDescriptor;

TEST(CsiProtoTest, SecretsCarryTheOptionWithItsPublishedNumber) {
  EXPECT_EQ(::csi::v1::csi_secret.number(), 1059);
  const Descriptor* request = ::csi::v1::CreateVolumeRequest::descriptor();
  EXPECT_TRUE(request->FindFieldByName("secrets")->options().GetExtension(::csi::v1::csi_secret));
  EXPECT_FALSE(
      request->FindFieldByName("parameters")->options().GetExtension(::csi::v1::csi_secret));
}

TEST(CsiProtoTest, EverySecretIsMarked) {
  const FileDescriptor* file = ::csi::v1::CreateVolumeRequest::descriptor()->file();
  int marked = 0;
  for (int i = 0; i < file->message_type_count(); ++i) {
    const auto* secrets = file->message_type(i)->FindFieldByName("secrets");
    if (!secrets) continue;
    EXPECT_TRUE(secrets->options().GetExtension(::csi::v1::csi_secret))
        << file->message_type(i)->name();
    ++marked;
  }
  EXPECT_EQ(marked, 19);
}

TEST(CsiProtoTest, ServicesAreKnownByDescriptor) {
  const FileDescriptor* file = ::csi::v1::CreateVolumeRequest::descriptor()->file();
  ASSERT_EQ(file->service_count(), 5);
  EXPECT_EQ(file->FindServiceByName("Controller")->method_count(), 15);
  EXPECT_EQ(file->FindServiceByName("Node")->method_count(), 8);
  EXPECT_EQ(file->FindServiceByName("Identity")->method_count(), 3);
  const auto* expand = file->FindServiceByName("Node")->FindMethodByName("NodeExpandVolume");
  EXPECT_EQ(expand->input_type(), ::csi::v1::NodeExpandVolumeRequest::descriptor());
  EXPECT_FALSE(expand->server_streaming());
  EXPECT_TRUE(file->FindServiceByName("SnapshotMetadata")
                  ->FindMethodByName("GetMetadataDelta")
                  ->server_streaming());
}

TEST(CsiProtoTest, WireNumbersAreThePublishedOnes) {
  ::csi::v1::NodeStageVolumeRequest request;
  request.set_volume_id("v");
  request.set_staging_target_path("p");
  EXPECT_EQ(request.SerializeAsString(), "\x0a\x01v\x1a\x01p");
  EXPECT_EQ(::csi::v1::ControllerServiceCapability_RPC_Type_MODIFY_VOLUME, 14);
}

TEST(RegistrationProtoTest, ServiceAndNumbers) {
  const FileDescriptor* file = ::pluginregistration::PluginInfo::descriptor()->file();
  EXPECT_EQ(file->FindServiceByName("Registration")->full_name(),
            "pluginregistration.Registration");
  ::pluginregistration::PluginInfo info;
  info.add_supported_versions("1.0.0");
  EXPECT_EQ(info.SerializeAsString(),
            "\x22\x05"
            "1.0.0");
}

}  // namespace
}  // namespace csinative
