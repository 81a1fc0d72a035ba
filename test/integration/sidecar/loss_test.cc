// SPDX-License-Identifier: Apache-2.0
//
// A driver that is restarted behind its socket (common 7.3). Not built yet and so not here:
// csi-resizer and csi-snapshotter.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "lib/base/strings.h"
#include "test/integration/sidecar/fixture.h"
#include "test/support/oracle_rows.h"

namespace csinative {
namespace {

using std::chrono::seconds;

class DriverLossTest : public SidecarsFixture {
 protected:
  // Something to do for each controller.
  void AddAttachment() {
    Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv"},"spec":{
        "capacity":{"storage":"1Mi"},"accessModes":["ReadWriteOnce"],"csi":{"driver":")",
               kDriver, R"(","volumeHandle":"handle"}}})"));
    Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"node"},
        "spec":{"drivers":[{"name":")",
               kDriver, R"(","nodeID":"node-1","topologyKeys":[]}]}})"));
    Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{
        "name":"va"},"spec":{"attacher":")",
               kDriver, R"(","nodeName":"node","source":{"persistentVolumeName":"pv"}}})"));
  }
  void AddClaim() {
    Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{
        "name":"sc"},"provisioner":")",
               kDriver, R"("})"));
    Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c",
        "namespace":"default","annotations":{"volume.kubernetes.io/storage-provisioner":")",
               kDriver, R"("}},"spec":{"storageClassName":"sc","accessModes":["ReadWriteOnce"],
        "resources":{"requests":{"storage":"1Gi"}}}})"));
  }
};

TEST_F(DriverLossTest, IsNoticedAtTheNextCallAndToldInTheTerminationLog) {
  const oracle::Rows rows("common/20.11/6 common/20.11/12 common/20.6/11");
  StartApi();
  // Without a list, which csi-attacher asks for right after its start.
  const std::vector<std::string> driver_flags = {
      "--without=LIST_VOLUMES,LIST_VOLUMES_PUBLISHED_NODES"};
  StartDriver(driver_flags);
  const std::string attacher_words = dir_.path() + "/attacher-words";
  const std::string provisioner_words = dir_.path() + "/provisioner-words";
  Program& attacher =
      Start("csi-attacher", ControllerArguments(), {.wrapper = WithTerminationLog(attacher_words)});
  Program& provisioner = Start("csi-provisioner", ControllerArguments(),
                               {.wrapper = WithTerminationLog(provisioner_words)});
  const std::string driver = "--csi-address=" + driver_socket();
  Program& registrar = Start(
      "csi-node-driver-registrar",
      {driver, "--kubelet-registration-path=/x", "--plugin-registration-path=" + dir_.path()});
  Program& probe = Start("livenessprobe", {driver, "--http-endpoint=127.0.0.1:0"});
  ASSERT_TRUE(Until([&] { return attacher.Logged("Starting CSI attacher"); }));
  ASSERT_TRUE(Until([&] { return provisioner.Logged("Started provisioner controller"); }));
  ASSERT_TRUE(Until([&] { return registrar.Logged("Registration Server started"); }));
  ASSERT_TRUE(Until([&] { return probe.Port() != 0; }));

  StopDriver();
  StartDriver(driver_flags);
  EXPECT_FALSE(Until(
      [&] {
        return !attacher.Running() || !provisioner.Running() || !registrar.Running() ||
               !probe.Running();
      },
      seconds(3)));
  EXPECT_FALSE(attacher.Logged("Lost connection"));
  EXPECT_FALSE(provisioner.Logged("Lost connection"));

  AddAttachment();
  AddClaim();
  for (Program* program : {&attacher, &provisioner}) {
    EXPECT_EQ(ExitCode(*program), 1);
    EXPECT_TRUE(program->Logged(StrCat("\"Lost connection\" address=\"", driver_socket(), "\"")));
    EXPECT_TRUE(program->Logged("\"Lost connection to CSI driver, exiting\""));
  }
  constexpr char kWords[] = "Lost connection to CSI driver, exiting";
  EXPECT_EQ(Read(attacher_words), kWords);
  EXPECT_EQ(Read(provisioner_words), kWords);
  // The others do without a connection of their own.
  EXPECT_TRUE(registrar.Running());
  EXPECT_TRUE(probe.Running());
  EXPECT_THAT(Get("/healthz", probe.Port()), ::testing::EndsWith("\r\n\r\nok"));
}

}  // namespace
}  // namespace csinative
