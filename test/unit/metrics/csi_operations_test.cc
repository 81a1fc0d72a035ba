// SPDX-License-Identifier: Apache-2.0
//
// Rows of common 20.8.
#include "lib/metrics/csi_operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lib/metrics/exposition.h"
#include "test/support/oracle.h"

namespace csinative::metrics {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kMethod[] = "/csi.v1.Controller/ControllerGetCapabilities";

class CsiOperationsTest : public ::testing::Test {
 protected:
  std::string Text() const { return ExposeText(registry_); }

  Registry registry_;
};

TEST_F(CsiOperationsTest, OneCallIsOneObservation) {
  const oracle::Row row("registrar/12.4/1");
  const oracle::Row common("common/20.8/1");
  CsiOperations operations(registry_);
  operations.SetDriverName("fake.csi.driver.io");
  operations.Record(kMethod, Status(), std::chrono::seconds(20));
  const std::string labels =
      "driver_name=\"fake.csi.driver.io\",grpc_status_code=\"OK\",method_name=\"" +
      std::string(kMethod) + "\"";
  std::string expected =
      "# HELP csi_sidecar_operations_seconds [ALPHA] Container Storage Interface operation "
      "duration "
      "with gRPC error code status total\n"
      "# TYPE csi_sidecar_operations_seconds histogram\n";
  for (const char* bound : {"0.1", "0.25", "0.5", "1", "2.5", "5", "10", "15"}) {
    expected += "csi_sidecar_operations_seconds_bucket{" + labels + ",le=\"" + bound + "\"} 0\n";
  }
  for (const char* bound : {"25", "50", "120", "300", "600", "+Inf"}) {
    expected += "csi_sidecar_operations_seconds_bucket{" + labels + ",le=\"" + bound + "\"} 1\n";
  }
  expected += "csi_sidecar_operations_seconds_sum{" + labels + "} 20\n";
  expected += "csi_sidecar_operations_seconds_count{" + labels + "} 1\n";
  EXPECT_EQ(Text(), expected);
}

TEST_F(CsiOperationsTest, NothingIsExposedBeforeTheFirstCall) {
  CsiOperations operations(registry_);
  EXPECT_EQ(Text(), "");
}

TEST_F(CsiOperationsTest, SubsystemAndStabilityAreOptions) {
  const oracle::Row row("registrar/12.4/2");
  const oracle::Row common("common/20.8/2");
  const oracle::Row common3("common/20.8/3");
  const oracle::Row row2("registrar/12.4/3");
  for (const char* subsystem : {"csi_sidecar", "csi_plugin", "other"}) {
    for (const char* stability : {"ALPHA", "STABLE"}) {
      Registry registry;
      CsiOperations operations(registry, {.subsystem = subsystem, .stability = stability});
      operations.Record(kMethod, Status(), Duration(0));
      EXPECT_THAT(ExposeText(registry), StartsWith("# HELP " + std::string(subsystem) +
                                                   "_operations_seconds [" + stability + "] C"));
    }
  }
  CsiOperations operations(registry_);
  operations.Record(kMethod, Status(), Duration(0));
  EXPECT_THAT(Text(), StartsWith("# HELP csi_sidecar_operations_seconds [ALPHA] C"));
}

TEST_F(CsiOperationsTest, DriverIsUnknownUntilItIsNamed) {
  const oracle::Row row("registrar/12.4/4");
  const oracle::Row common("common/20.8/4");
  CsiOperations operations(registry_);
  operations.Record(kMethod, Status(), Duration(0));
  operations.SetDriverName("a");
  operations.Record(kMethod, Status(), Duration(0));
  EXPECT_THAT(Text(), AllOf(HasSubstr("count{driver_name=\"unknown-driver\""),
                            HasSubstr("count{driver_name=\"a\"")));
  operations.SetDriverName("");
  EXPECT_EQ(operations.driver_name(), "unknown-driver");
}

TEST_F(CsiOperationsTest, CodesAreNamed) {
  const oracle::Row row("registrar/12.4/5");
  const oracle::Row common("common/20.8/5");
  CsiOperations operations(registry_);
  operations.Record(kMethod, Status(Code::kInvalidArgument, "x", RpcError{3}), Duration(0));
  EXPECT_THAT(Text(), HasSubstr(",grpc_status_code=\"InvalidArgument\",method_name="));
  EXPECT_EQ(GrpcStatusCodeLabel(Status()), "OK");
  EXPECT_EQ(GrpcStatusCodeLabel(Status(Code::kInvalidArgument, "x", RpcError{3})),
            "InvalidArgument");
  EXPECT_EQ(GrpcStatusCodeLabel(Status(Code::kUnknown, "x", RpcError{99})), "Code(99)");
  EXPECT_EQ(GrpcStatusCodeLabel(InvalidArgumentError("not from a peer")), "unknown-non-grpc");
}

TEST_F(CsiOperationsTest, FixedLabelsAreOnEverySample) {
  const oracle::Row row("registrar/12.4/6");
  const oracle::Row common("common/20.8/6");
  CsiOperations operations(registry_, {.fixed_labels = {{"a", "111"}, {"b", "222"}}});
  operations.Record(kMethod, Status(), Duration(0));
  EXPECT_THAT(Text(), HasSubstr("_count{a=\"111\",b=\"222\",driver_name="));
}

TEST_F(CsiOperationsTest, ChildrenFillVaryingLabelsIndependently) {
  const oracle::Row row("registrar/12.4/7");
  const oracle::Row common("common/20.8/7");
  const oracle::Row common8("common/20.8/8");
  const CsiOperations root(registry_, {.varying_labels = {"a", "b"}});
  const auto parent = root.WithLabelValues({{"a", "111"}});
  ASSERT_TRUE(parent.ok());
  const auto first = parent->WithLabelValues({{"b", "222"}});
  const auto second = parent->WithLabelValues({{"b", "xxx"}});
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(second.ok());
  first->Record(kMethod, Status(), Duration(0));
  second->Record(kMethod, Status(), Duration(0));
  second->Record(kMethod, Status(), Duration(0));
  EXPECT_THAT(Text(), HasSubstr("_count{a=\"111\",b=\"222\",driver_name=\"unknown-driver\","
                                "grpc_status_code=\"OK\",method_name=\"" +
                                std::string(kMethod) + "\"} 1\n"));
  EXPECT_THAT(Text(), HasSubstr("_count{a=\"111\",b=\"xxx\",driver_name=\"unknown-driver\","
                                "grpc_status_code=\"OK\",method_name=\"" +
                                std::string(kMethod) + "\"} 2\n"));
}

TEST_F(CsiOperationsTest, MissingValuesAreEmpty) {
  const oracle::Row row("registrar/12.4/8");
  const oracle::Row common("common/20.8/9");
  const CsiOperations root(registry_, {.varying_labels = {"a", "b"}});
  root.WithLabelValues({{"a", "111"}}).value().Record(kMethod, Status(), Duration(0));
  EXPECT_THAT(Text(), HasSubstr("_count{a=\"111\",b=\"\",driver_name="));
}

TEST_F(CsiOperationsTest, LabelsMustBeDeclaredAndUnset) {
  const oracle::Row row("registrar/12.4/9");
  const oracle::Row common("common/20.8/10");
  const oracle::Row common11("common/20.8/11");
  const CsiOperations root(registry_, {.varying_labels = {"a", "b"}});
  EXPECT_EQ(root.WithLabelValues({{"c", "1"}}).status().message(),
            R"(label "c" was not defined via WithLabelNames)");
  const auto child = root.WithLabelValues({{"a", "111"}});
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child->WithLabelValues({{"a", "2"}}).status().message(),
            R"(label "a" already has value "111")");
}

TEST_F(CsiOperationsTest, FixedAndVaryingLabelsCombine) {
  const oracle::Row row("registrar/12.4/10");
  const oracle::Row common("common/20.8/12");
  const CsiOperations root(
      registry_, {.varying_labels = {"a", "b"}, .fixed_labels = {{"c", "333"}, {"d", "444"}}});
  root.WithLabelValues({{"a", "111"}, {"b", "222"}}).value().Record(kMethod, Status(), Duration(0));
  EXPECT_THAT(Text(), HasSubstr("_count{a=\"111\",b=\"222\",c=\"333\",d=\"444\",driver_name="));
}

// common 9.3
TEST_F(CsiOperationsTest, MigratedComesFromTheCall) {
  const oracle::Row row("registrar/12.3/12");
  const CsiOperations operations(registry_, {.varying_labels = {"migrated"}});
  operations.Record(kMethod, Status(), Duration(0), /*migrated=*/true);
  operations.Record(kMethod, Status(), Duration(0));
  EXPECT_THAT(Text(),
              AllOf(HasSubstr(",migrated=\"true\"} 1\n"), HasSubstr(",migrated=\"false\"} 1\n")));
}

TEST_F(CsiOperationsTest, MigrationReplacesTheFamily) {
  {
    const CsiOperations before(registry_);
    before.Record(kMethod, Status(), Duration(0));
  }
  registry_.RemoveFamily("csi_sidecar_operations_seconds");
  const CsiOperations after(registry_, {.varying_labels = {"migrated"}});
  EXPECT_EQ(Text(), "");
  after.Record(kMethod, Status(), Duration(0));
  EXPECT_THAT(Text(), AllOf(HasSubstr("migrated"), Not(HasSubstr("} 2\n"))));
}

}  // namespace
}  // namespace csinative::metrics
