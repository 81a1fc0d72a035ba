// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/paths.h"

#include <gtest/gtest.h>

namespace csinative::volumemanager {
namespace {

const Paths kPaths("/var/lib/kubelet");
#define K "/var/lib/kubelet"

TEST(PathsTest, PodsOfAVolume) {
  EXPECT_EQ(kPaths.PublishTarget("uid", "spec-0"),
            K "/pods/uid/volumes/kubernetes.io~csi/spec-0/mount");
  EXPECT_EQ(kPaths.PublishTarget("uid", "test.spec.1"),
            K "/pods/uid/volumes/kubernetes.io~csi/test.spec.1/mount");
  EXPECT_EQ(kPaths.PodDeviceLink("uid", "pv"), K "/pods/uid/volumeDevices/kubernetes.io~csi/pv");
  EXPECT_EQ(kPaths.PodSubpaths("uid", "pv"), K "/pods/uid/volume-subpaths/pv");
}

TEST(PathsTest, StagingIsNamedAfterTheHashOfTheHandle) {
  EXPECT_EQ(kPaths.StagingTarget("hostpath.csi.k8s.io", "0c6ba2b3-4f6a-11ef-9b0a-0242ac110002"), K
            "/plugins/kubernetes.io/csi/hostpath.csi.k8s.io/"
            "4422ce34fd6854d9288753bcd49ceaf4f78aaac789cb1cdf818c0011fdd01331/globalmount");
  EXPECT_EQ(Sha256Hex("project/zone/test-vol1"),
            "499e124114963a0c3bde28794f1045fb2327a7484f2d26afafaf0765f0985a95");
  EXPECT_EQ(Sha256Hex("test-vol1"),
            "92a807f8042f0f3e63cbff91593d4716b5381fb1be5472ce62901eaeb8a4f0d3");
}

TEST(PathsTest, BlockVolumes) {
  EXPECT_EQ(kPaths.BlockMap("spec-0"), K "/plugins/kubernetes.io/csi/volumeDevices/spec-0/dev");
  EXPECT_EQ(kPaths.BlockData("spec-0"), K "/plugins/kubernetes.io/csi/volumeDevices/spec-0/data");
  EXPECT_EQ(kPaths.BlockStaging("spec-0"),
            K "/plugins/kubernetes.io/csi/volumeDevices/staging/spec-0");
  EXPECT_EQ(kPaths.BlockPublishTarget("spec-0", "test-pod"),
            K "/plugins/kubernetes.io/csi/volumeDevices/publish/spec-0/test-pod");
}

TEST(PathsTest, NamesOfAttachments) {
  EXPECT_EQ(AttachmentName("testvol-01", "testdriver-01", "testnode-01"),
            "csi-4d8f42c5f953488d695504cfaf9658961d83f72b5ac9bba3e32c2ddb7708e84f");
  EXPECT_EQ(AttachmentName("vol02", "driver02", "node02"),
            "csi-70fa8b122628ff5436f098759b79c93487b3894e2bff5637c618405a059b0b47");
  EXPECT_EQ(AttachmentName("0c6ba2b3-4f6a-11ef-9b0a-0242ac110002", "hostpath.csi.k8s.io", "node-a"),
            "csi-b481a3342545631ccb32e2ccf3ce9c6a8822900d231986532b156edb9570561d");
}

TEST(PathsTest, NamesOfVolumes) {
  EXPECT_EQ(InlineHandle("7f1c2a54-9f0e-4a53-8f8f-0a2b6f1d3c11", "my-inline"),
            "csi-9e146a1d8f3c73787d0f69ac8942ae344241b719476723737cc54dc94b985a8e");
  EXPECT_EQ(UniqueVolumeName("test.dr.cc", "test-vol"), "kubernetes.io/csi/test.dr.cc^test-vol");
  EXPECT_EQ(UniqueInlineName("uid", "in"), "kubernetes.io/csi/uid-in");
}

TEST(PathsTest, NamesAreEscaped) {
  EXPECT_EQ(EscapeName("kubernetes.io/csi"), "kubernetes.io~csi");
  EXPECT_EQ(UnescapeName("kubernetes.io~csi"), "kubernetes.io/csi");
}

TEST(PathsTest, PartsThatWouldLeaveTheRootAreRefused) {
  EXPECT_TRUE(CheckPathParts("d", "h/with/slashes", "n").ok());
  EXPECT_FALSE(CheckPathParts("", "h", "n").ok());
  EXPECT_FALSE(CheckPathParts("d", "", "n").ok());
  EXPECT_FALSE(CheckPathParts("../d", "h", "n").ok());
  EXPECT_FALSE(CheckPathParts("..", "h", "n").ok());
  EXPECT_FALSE(CheckPathParts("d", "h", "a/b").ok());
  EXPECT_FALSE(CheckPathParts("d", "h", "..").ok());
}

}  // namespace
}  // namespace csinative::volumemanager
