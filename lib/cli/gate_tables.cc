// SPDX-License-Identifier: Apache-2.0
//
// Which gates each program knows (common 4.2, 4.3; resizer 3.1; snapshotter 4.2).
#include <iterator>
#include <vector>

#include "lib/cli/feature_gates.h"

namespace csinative::cli {
namespace {

constexpr bool kLocked = true;

// Known upstream because API-server code is linked in. They have no effect in a sidecar, but
// manifests that name them must start.
constexpr Gate kInert[] = {
    {"APIResponseCompression", true, Stage::kBeta},
    {"APIServerIdentity", true, Stage::kBeta},
    {"AllowParsingUserUIDFromCertAuth", true, Stage::kBeta},
    {"ComponentFlagz", true, Stage::kBeta},
    {"ComponentStatusz", true, Stage::kBeta},
    {"ConstrainedImpersonation", true, Stage::kBeta},
    {"DeclarativeValidationBeta", true, Stage::kBeta},
    {"DetectCacheInconsistency", true, Stage::kBeta},
    {"ListFromCacheSnapshot", true, Stage::kBeta},
    {"OpenAPIEnums", true, Stage::kBeta},
    {"RemoteRequestHeaderUID", true, Stage::kBeta},
    {"SizeBasedListCostEstimate", true, Stage::kBeta},
    {"StorageVersionHash", true, Stage::kBeta},
    {"StructuredAuthenticationConfigurationEgressSelector", true, Stage::kBeta},
    {"StructuredAuthenticationConfigurationJWKSMetrics", true, Stage::kBeta},
    {"TokenRequestServiceAccountUIDValidation", true, Stage::kBeta},
    {"UnauthenticatedHTTP2DOSMitigation", true, Stage::kBeta},
    {"UnknownVersionInteroperabilityProxy", true, Stage::kBeta},
    {"WatchCacheInitializationPostStartHook", true, Stage::kBeta},
    {"WatchList", true, Stage::kBeta},
    {"ConcurrentWatchObjectDecode", false, Stage::kBeta},
    {"CoordinatedLeaderElection", false, Stage::kBeta},
    {"APIServingWithRoutine", false, Stage::kAlpha},
    {"AllowUnsafeMalformedObjectDeletion", false, Stage::kAlpha},
    {"CBORServingAndStorage", false, Stage::kAlpha},
    {"ManifestBasedAdmissionControlConfig", false, Stage::kAlpha},
    {"NativeHistograms", false, Stage::kAlpha},
    {"ShardedListAndWatch", false, Stage::kAlpha},
    {"StorageVersionAPI", false, Stage::kAlpha},
    {"APIServerTracing", true, Stage::kGa, kLocked},
    {"AnonymousAuthConfigurableEndpoints", true, Stage::kGa, kLocked},
    {"AuthorizeWithSelectors", true, Stage::kGa, kLocked},
    {"BtreeWatchCache", true, Stage::kGa, kLocked},
    {"ConsistentListFromCache", true, Stage::kGa, kLocked},
    {"DeclarativeValidation", true, Stage::kGa, kLocked},
    {"ResilientWatchCacheInitialization", true, Stage::kGa, kLocked},
    {"RetryGenerateName", true, Stage::kGa, kLocked},
    {"StreamingCollectionEncodingToJSON", true, Stage::kGa, kLocked},
    {"StreamingCollectionEncodingToProtobuf", true, Stage::kGa, kLocked},
    {"StructuredAuthenticationConfiguration", true, Stage::kGa, kLocked},
    {"MutatingAdmissionPolicy", true, Stage::kGa},
    {"AggregatedDiscoveryRemoveBetaType", true, Stage::kDeprecated, kLocked},
    {"SeparateCacheWatchRPC", false, Stage::kDeprecated, kLocked},
    {"DeclarativeValidationTakeover", false, Stage::kDeprecated},
    {"KMSv1", false, Stage::kDeprecated},
};

constexpr Gate kAttacher[] = {
    {gate::kReleaseLeaderElectionOnExit, false, Stage::kAlpha},
    {gate::kMutableCsiNodeAllocatableCount, true, Stage::kGa},
};

constexpr Gate kProvisioner[] = {
    {gate::kReleaseLeaderElectionOnExit, false, Stage::kAlpha},
    {gate::kTopology, true, Stage::kGa},
    {gate::kCrossNamespaceVolumeDataSource, false, Stage::kAlpha},
    {gate::kVolumeAttributesClass, true, Stage::kGa},
    // Differs: gone since external-provisioner v6.2.0, where it ends the program; published
    // manifests still name it. Always on, as its last version was.
    {"HonorPVReclaimPolicy", true, Stage::kGa, kLocked},
};

constexpr Gate kResizer[] = {
    {gate::kReleaseLeaderElectionOnExit, false, Stage::kAlpha},
    {gate::kVolumeAttributesClass, true, Stage::kGa},
    // Beta and true on the branch after external-resizer v2.2.1 (resizer, version note).
    {gate::kAnnotateFsResize, false, Stage::kAlpha},
    {gate::kRecoverVolumeExpansionFailure, true, Stage::kGa},
};

constexpr Gate kSnapshotter[] = {
    {gate::kCsiVolumeGroupSnapshot, false, Stage::kBeta},
    {gate::kReleaseLeaderElectionOnExit, false, Stage::kAlpha},
};

FeatureGates WithInert(std::span<const Gate> own) {
  std::vector<Gate> all(std::begin(kInert), std::end(kInert));
  all.insert(all.end(), own.begin(), own.end());
  return FeatureGates(all);
}

}  // namespace

FeatureGates AttacherGates() { return WithInert(kAttacher); }
FeatureGates ProvisionerGates() { return WithInert(kProvisioner); }
FeatureGates ResizerGates() { return WithInert(kResizer); }
FeatureGates SnapshotterGates() { return WithInert(kSnapshotter); }

}  // namespace csinative::cli
