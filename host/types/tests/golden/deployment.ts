// Types of apps/v1 Deployment. Made by `oarlock types`; changes are lost.

/** A time in RFC 3339. */
export type Time = string;

/** An integer or a string. */
export type IntOrString = number | string;

/** A quantity such as 100m or 2Gi. */
export type Quantity = number | string;

export interface Deployment {
  apiVersion: "apps/v1";
  kind: "Deployment";
  metadata: ObjectMeta2;
  spec?: DeploymentSpec;
  status?: DeploymentStatus;
}

export interface DeploymentSpec {
  minReadySeconds?: number;
  paused?: boolean;
  progressDeadlineSeconds?: number;
  replicas?: number;
  revisionHistoryLimit?: number;
  selector: LabelSelector;
  strategy?: DeploymentStrategy;
  template: PodTemplateSpec;
}

export interface LabelSelector {
  matchExpressions?: LabelSelectorRequirement[];
  matchLabels?: Record<string, string>;
}

export interface LabelSelectorRequirement {
  /** Default: "". */
  key: string;
  /** Default: "". */
  operator: string;
  values?: string[];
}

export interface DeploymentStrategy {
  rollingUpdate?: RollingUpdateDeployment;
  type?: DeploymentStrategyType;
}

export interface RollingUpdateDeployment {
  maxSurge?: IntOrString;
  maxUnavailable?: IntOrString;
}

export interface PodTemplateSpec {
  metadata?: ObjectMeta;
  spec?: PodSpec;
}

export interface ObjectMeta {
  annotations?: Record<string, string>;
  creationTimestamp?: Time;
  deletionGracePeriodSeconds?: number;
  deletionTimestamp?: Time;
  finalizers?: string[];
  generateName?: string;
  generation?: number;
  labels?: Record<string, string>;
  managedFields?: ManagedFieldsEntry[];
  name?: string;
  namespace?: string;
  ownerReferences?: OwnerReference[];
  resourceVersion?: string;
  selfLink?: string;
  uid?: string;
}

export interface ManagedFieldsEntry {
  apiVersion?: string;
  fieldsType?: string;
  fieldsV1?: Record<string, unknown>;
  manager?: string;
  operation?: string;
  subresource?: string;
  time?: Time;
}

export interface OwnerReference {
  /** Default: "". */
  apiVersion: string;
  blockOwnerDeletion?: boolean;
  controller?: boolean;
  /** Default: "". */
  kind: string;
  /** Default: "". */
  name: string;
  /** Default: "". */
  uid: string;
}

export interface PodSpec {
  activeDeadlineSeconds?: number;
  affinity?: Affinity;
  automountServiceAccountToken?: boolean;
  containers: Container[];
  dnsConfig?: PodDNSConfig;
  dnsPolicy?: PodSpecDnsPolicy;
  enableServiceLinks?: boolean;
  ephemeralContainers?: EphemeralContainer[];
  hostAliases?: HostAlias[];
  hostIPC?: boolean;
  hostNetwork?: boolean;
  hostPID?: boolean;
  hostUsers?: boolean;
  hostname?: string;
  hostnameOverride?: string;
  imagePullSecrets?: LocalObjectReference[];
  initContainers?: Container[];
  nodeName?: string;
  nodeSelector?: Record<string, string>;
  os?: PodOS;
  overhead?: Record<string, Quantity>;
  preemptionPolicy?: PodSpecPreemptionPolicy;
  priority?: number;
  priorityClassName?: string;
  readinessGates?: PodReadinessGate[];
  resourceClaims?: PodResourceClaim[];
  resources?: ResourceRequirements;
  restartPolicy?: PodSpecRestartPolicy;
  runtimeClassName?: string;
  schedulerName?: string;
  schedulingGates?: PodSchedulingGate[];
  schedulingGroup?: PodSchedulingGroup;
  securityContext?: PodSecurityContext;
  serviceAccount?: string;
  serviceAccountName?: string;
  setHostnameAsFQDN?: boolean;
  shareProcessNamespace?: boolean;
  subdomain?: string;
  terminationGracePeriodSeconds?: number;
  tolerations?: Toleration[];
  topologySpreadConstraints?: TopologySpreadConstraint[];
  volumes?: Volume[];
}

export interface Affinity {
  nodeAffinity?: NodeAffinity;
  podAffinity?: PodAffinity;
  podAntiAffinity?: PodAntiAffinity;
}

export interface NodeAffinity {
  preferredDuringSchedulingIgnoredDuringExecution?: PreferredSchedulingTerm[];
  requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector;
}

export interface PreferredSchedulingTerm {
  preference: NodeSelectorTerm;
  /** Default: 0. */
  weight: number;
}

export interface NodeSelectorTerm {
  matchExpressions?: NodeSelectorRequirement[];
  matchFields?: NodeSelectorRequirement[];
}

export interface NodeSelectorRequirement {
  /** Default: "". */
  key: string;
  /** Default: "". */
  operator: NodeSelectorRequirementOperator;
  values?: string[];
}

export interface NodeSelector {
  nodeSelectorTerms: NodeSelectorTerm[];
}

export interface PodAffinity {
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[];
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
}

export interface WeightedPodAffinityTerm {
  podAffinityTerm: PodAffinityTerm;
  /** Default: 0. */
  weight: number;
}

export interface PodAffinityTerm {
  labelSelector?: LabelSelector;
  matchLabelKeys?: string[];
  mismatchLabelKeys?: string[];
  namespaceSelector?: LabelSelector;
  namespaces?: string[];
  /** Default: "". */
  topologyKey: string;
}

export interface PodAntiAffinity {
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[];
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
}

export interface Container {
  args?: string[];
  command?: string[];
  env?: EnvVar[];
  envFrom?: EnvFromSource[];
  image?: string;
  imagePullPolicy?: ContainerImagePullPolicy;
  lifecycle?: Lifecycle;
  livenessProbe?: Probe;
  /** Default: "". */
  name: string;
  ports?: ContainerPort[];
  readinessProbe?: Probe;
  resizePolicy?: ContainerResizePolicy[];
  resources?: ResourceRequirements;
  restartPolicy?: string;
  restartPolicyRules?: ContainerRestartRule[];
  securityContext?: SecurityContext;
  startupProbe?: Probe;
  stdin?: boolean;
  stdinOnce?: boolean;
  terminationMessagePath?: string;
  terminationMessagePolicy?: ContainerTerminationMessagePolicy;
  tty?: boolean;
  volumeDevices?: VolumeDevice[];
  volumeMounts?: VolumeMount[];
  workingDir?: string;
}

export interface EnvVar {
  /** Default: "". */
  name: string;
  value?: string;
  valueFrom?: EnvVarSource;
}

export interface EnvVarSource {
  configMapKeyRef?: ConfigMapKeySelector;
  fieldRef?: ObjectFieldSelector;
  fileKeyRef?: FileKeySelector;
  resourceFieldRef?: ResourceFieldSelector;
  secretKeyRef?: SecretKeySelector;
}

export interface ConfigMapKeySelector {
  /** Default: "". */
  key: string;
  /** Default: "". */
  name?: string;
  optional?: boolean;
}

export interface ObjectFieldSelector {
  apiVersion?: string;
  /** Default: "". */
  fieldPath: string;
}

export interface FileKeySelector {
  /** Default: "". */
  key: string;
  /** Default: false. */
  optional?: boolean;
  /** Default: "". */
  path: string;
  /** Default: "". */
  volumeName: string;
}

export interface ResourceFieldSelector {
  containerName?: string;
  divisor?: Quantity;
  /** Default: "". */
  resource: string;
}

export interface SecretKeySelector {
  /** Default: "". */
  key: string;
  /** Default: "". */
  name?: string;
  optional?: boolean;
}

export interface EnvFromSource {
  configMapRef?: ConfigMapEnvSource;
  prefix?: string;
  secretRef?: SecretEnvSource;
}

export interface ConfigMapEnvSource {
  /** Default: "". */
  name?: string;
  optional?: boolean;
}

export interface SecretEnvSource {
  /** Default: "". */
  name?: string;
  optional?: boolean;
}

export interface Lifecycle {
  postStart?: LifecycleHandler;
  preStop?: LifecycleHandler;
  stopSignal?: LifecycleStopSignal;
}

export interface LifecycleHandler {
  exec?: ExecAction;
  httpGet?: HTTPGetAction;
  sleep?: SleepAction;
  tcpSocket?: TCPSocketAction;
}

export interface ExecAction {
  command?: string[];
}

export interface HTTPGetAction {
  host?: string;
  httpHeaders?: HTTPHeader[];
  path?: string;
  port: IntOrString;
  scheme?: HTTPGetActionScheme;
}

export interface HTTPHeader {
  /** Default: "". */
  name: string;
  /** Default: "". */
  value: string;
}

export interface SleepAction {
  /** Default: 0. */
  seconds: number;
}

export interface TCPSocketAction {
  host?: string;
  port: IntOrString;
}

export interface Probe {
  exec?: ExecAction;
  failureThreshold?: number;
  grpc?: GRPCAction;
  httpGet?: HTTPGetAction;
  initialDelaySeconds?: number;
  periodSeconds?: number;
  successThreshold?: number;
  tcpSocket?: TCPSocketAction;
  terminationGracePeriodSeconds?: number;
  timeoutSeconds?: number;
}

export interface GRPCAction {
  /** Default: 0. */
  port: number;
  /** Default: "". */
  service?: string;
}

export interface ContainerPort {
  /** Default: 0. */
  containerPort: number;
  hostIP?: string;
  hostPort?: number;
  name?: string;
  /** Default: "TCP". */
  protocol?: ContainerPortProtocol;
}

export interface ContainerResizePolicy {
  /** Default: "". */
  resourceName: string;
  /** Default: "". */
  restartPolicy: string;
}

export interface ResourceRequirements {
  claims?: ResourceClaim[];
  limits?: Record<string, Quantity>;
  requests?: Record<string, Quantity>;
}

export interface ResourceClaim {
  /** Default: "". */
  name: string;
  request?: string;
}

export interface ContainerRestartRule {
  action: string;
  exitCodes?: ContainerRestartRuleOnExitCodes;
}

export interface ContainerRestartRuleOnExitCodes {
  operator: string;
  values?: number[];
}

export interface SecurityContext {
  allowPrivilegeEscalation?: boolean;
  appArmorProfile?: AppArmorProfile;
  capabilities?: Capabilities;
  privileged?: boolean;
  procMount?: SecurityContextProcMount;
  readOnlyRootFilesystem?: boolean;
  runAsGroup?: number;
  runAsNonRoot?: boolean;
  runAsUser?: number;
  seLinuxOptions?: SELinuxOptions;
  seccompProfile?: SeccompProfile;
  windowsOptions?: WindowsSecurityContextOptions;
}

/** At most one of: localhostProfile (LocalhostProfile), as type says. */
export interface AppArmorProfile {
  localhostProfile?: string;
  /** Default: "". */
  type: AppArmorProfileType;
}

export interface Capabilities {
  add?: string[];
  drop?: string[];
}

export interface SELinuxOptions {
  level?: string;
  role?: string;
  type?: string;
  user?: string;
}

/** At most one of: localhostProfile (LocalhostProfile), as type says. */
export interface SeccompProfile {
  localhostProfile?: string;
  /** Default: "". */
  type: SeccompProfileType;
}

export interface WindowsSecurityContextOptions {
  gmsaCredentialSpec?: string;
  gmsaCredentialSpecName?: string;
  hostProcess?: boolean;
  runAsUserName?: string;
}

export interface VolumeDevice {
  /** Default: "". */
  devicePath: string;
  /** Default: "". */
  name: string;
}

export interface VolumeMount {
  /** Default: "". */
  mountPath: string;
  mountPropagation?: VolumeMountMountPropagation;
  /** Default: "". */
  name: string;
  readOnly?: boolean;
  recursiveReadOnly?: string;
  subPath?: string;
  subPathExpr?: string;
}

export interface PodDNSConfig {
  nameservers?: string[];
  options?: PodDNSConfigOption[];
  searches?: string[];
}

export interface PodDNSConfigOption {
  name?: string;
  value?: string;
}

export interface EphemeralContainer {
  args?: string[];
  command?: string[];
  env?: EnvVar[];
  envFrom?: EnvFromSource[];
  image?: string;
  imagePullPolicy?: EphemeralContainerImagePullPolicy;
  lifecycle?: Lifecycle;
  livenessProbe?: Probe;
  /** Default: "". */
  name: string;
  ports?: ContainerPort[];
  readinessProbe?: Probe;
  resizePolicy?: ContainerResizePolicy[];
  resources?: ResourceRequirements;
  restartPolicy?: string;
  restartPolicyRules?: ContainerRestartRule[];
  securityContext?: SecurityContext;
  startupProbe?: Probe;
  stdin?: boolean;
  stdinOnce?: boolean;
  targetContainerName?: string;
  terminationMessagePath?: string;
  terminationMessagePolicy?: EphemeralContainerTerminationMessagePolicy;
  tty?: boolean;
  volumeDevices?: VolumeDevice[];
  volumeMounts?: VolumeMount[];
  workingDir?: string;
}

export interface HostAlias {
  hostnames?: string[];
  /** Default: "". */
  ip: string;
}

export interface LocalObjectReference {
  /** Default: "". */
  name?: string;
}

export interface PodOS {
  /** Default: "". */
  name: string;
}

export interface PodReadinessGate {
  /** Default: "". */
  conditionType: string;
}

export interface PodResourceClaim {
  /** Default: "". */
  name: string;
  resourceClaimName?: string;
  resourceClaimTemplateName?: string;
}

export interface PodSchedulingGate {
  /** Default: "". */
  name: string;
}

export interface PodSchedulingGroup {
  podGroupName?: string;
}

export interface PodSecurityContext {
  appArmorProfile?: AppArmorProfile;
  fsGroup?: number;
  fsGroupChangePolicy?: PodSecurityContextFsGroupChangePolicy;
  runAsGroup?: number;
  runAsNonRoot?: boolean;
  runAsUser?: number;
  seLinuxChangePolicy?: string;
  seLinuxOptions?: SELinuxOptions;
  seccompProfile?: SeccompProfile;
  supplementalGroups?: number[];
  supplementalGroupsPolicy?: PodSecurityContextSupplementalGroupsPolicy;
  sysctls?: Sysctl[];
  windowsOptions?: WindowsSecurityContextOptions;
}

export interface Sysctl {
  /** Default: "". */
  name: string;
  /** Default: "". */
  value: string;
}

export interface Toleration {
  effect?: TolerationEffect;
  key?: string;
  operator?: TolerationOperator;
  tolerationSeconds?: number;
  value?: string;
}

export interface TopologySpreadConstraint {
  labelSelector?: LabelSelector;
  matchLabelKeys?: string[];
  /** Default: 0. */
  maxSkew: number;
  minDomains?: number;
  nodeAffinityPolicy?: TopologySpreadConstraintNodeAffinityPolicy;
  nodeTaintsPolicy?: TopologySpreadConstraintNodeTaintsPolicy;
  /** Default: "". */
  topologyKey: string;
  /** Default: "". */
  whenUnsatisfiable: TopologySpreadConstraintWhenUnsatisfiable;
}

export interface Volume {
  awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource;
  azureDisk?: AzureDiskVolumeSource;
  azureFile?: AzureFileVolumeSource;
  cephfs?: CephFSVolumeSource;
  cinder?: CinderVolumeSource;
  configMap?: ConfigMapVolumeSource;
  csi?: CSIVolumeSource;
  downwardAPI?: DownwardAPIVolumeSource;
  emptyDir?: EmptyDirVolumeSource;
  ephemeral?: EphemeralVolumeSource;
  fc?: FCVolumeSource;
  flexVolume?: FlexVolumeSource;
  flocker?: FlockerVolumeSource;
  gcePersistentDisk?: GCEPersistentDiskVolumeSource;
  gitRepo?: GitRepoVolumeSource;
  glusterfs?: GlusterfsVolumeSource;
  hostPath?: HostPathVolumeSource;
  image?: ImageVolumeSource;
  iscsi?: ISCSIVolumeSource;
  /** Default: "". */
  name: string;
  nfs?: NFSVolumeSource;
  persistentVolumeClaim?: PersistentVolumeClaimVolumeSource;
  photonPersistentDisk?: PhotonPersistentDiskVolumeSource;
  portworxVolume?: PortworxVolumeSource;
  projected?: ProjectedVolumeSource;
  quobyte?: QuobyteVolumeSource;
  rbd?: RBDVolumeSource;
  scaleIO?: ScaleIOVolumeSource;
  secret?: SecretVolumeSource;
  storageos?: StorageOSVolumeSource;
  vsphereVolume?: VsphereVirtualDiskVolumeSource;
}

export interface AWSElasticBlockStoreVolumeSource {
  fsType?: string;
  partition?: number;
  readOnly?: boolean;
  /** Default: "". */
  volumeID: string;
}

export interface AzureDiskVolumeSource {
  /** Default: "ReadWrite". */
  cachingMode?: AzureDiskVolumeSourceCachingMode;
  /** Default: "". */
  diskName: string;
  /** Default: "". */
  diskURI: string;
  /** Default: "ext4". */
  fsType?: string;
  /** Default: "Shared". */
  kind?: AzureDiskVolumeSourceKind;
  /** Default: false. */
  readOnly?: boolean;
}

export interface AzureFileVolumeSource {
  readOnly?: boolean;
  /** Default: "". */
  secretName: string;
  /** Default: "". */
  shareName: string;
}

export interface CephFSVolumeSource {
  monitors: string[];
  path?: string;
  readOnly?: boolean;
  secretFile?: string;
  secretRef?: LocalObjectReference;
  user?: string;
}

export interface CinderVolumeSource {
  fsType?: string;
  readOnly?: boolean;
  secretRef?: LocalObjectReference;
  /** Default: "". */
  volumeID: string;
}

export interface ConfigMapVolumeSource {
  defaultMode?: number;
  items?: KeyToPath[];
  /** Default: "". */
  name?: string;
  optional?: boolean;
}

export interface KeyToPath {
  /** Default: "". */
  key: string;
  mode?: number;
  /** Default: "". */
  path: string;
}

export interface CSIVolumeSource {
  /** Default: "". */
  driver: string;
  fsType?: string;
  nodePublishSecretRef?: LocalObjectReference;
  readOnly?: boolean;
  volumeAttributes?: Record<string, string>;
}

export interface DownwardAPIVolumeSource {
  defaultMode?: number;
  items?: DownwardAPIVolumeFile[];
}

export interface DownwardAPIVolumeFile {
  fieldRef?: ObjectFieldSelector;
  mode?: number;
  /** Default: "". */
  path: string;
  resourceFieldRef?: ResourceFieldSelector;
}

export interface EmptyDirVolumeSource {
  medium?: string;
  sizeLimit?: Quantity;
}

export interface EphemeralVolumeSource {
  volumeClaimTemplate?: PersistentVolumeClaimTemplate;
}

export interface PersistentVolumeClaimTemplate {
  metadata?: ObjectMeta;
  spec: PersistentVolumeClaimSpec;
}

export interface PersistentVolumeClaimSpec {
  accessModes?: PersistentVolumeClaimSpecAccessModes[];
  dataSource?: TypedLocalObjectReference;
  dataSourceRef?: TypedObjectReference;
  resources?: VolumeResourceRequirements;
  selector?: LabelSelector;
  storageClassName?: string;
  volumeAttributesClassName?: string;
  volumeMode?: PersistentVolumeClaimSpecVolumeMode;
  volumeName?: string;
}

export interface TypedLocalObjectReference {
  apiGroup?: string;
  /** Default: "". */
  kind: string;
  /** Default: "". */
  name: string;
}

export interface TypedObjectReference {
  apiGroup?: string;
  /** Default: "". */
  kind: string;
  /** Default: "". */
  name: string;
  namespace?: string;
}

export interface VolumeResourceRequirements {
  limits?: Record<string, Quantity>;
  requests?: Record<string, Quantity>;
}

export interface FCVolumeSource {
  fsType?: string;
  lun?: number;
  readOnly?: boolean;
  targetWWNs?: string[];
  wwids?: string[];
}

export interface FlexVolumeSource {
  /** Default: "". */
  driver: string;
  fsType?: string;
  options?: Record<string, string>;
  readOnly?: boolean;
  secretRef?: LocalObjectReference;
}

export interface FlockerVolumeSource {
  datasetName?: string;
  datasetUUID?: string;
}

export interface GCEPersistentDiskVolumeSource {
  fsType?: string;
  partition?: number;
  /** Default: "". */
  pdName: string;
  readOnly?: boolean;
}

export interface GitRepoVolumeSource {
  directory?: string;
  /** Default: "". */
  repository: string;
  revision?: string;
}

export interface GlusterfsVolumeSource {
  /** Default: "". */
  endpoints: string;
  /** Default: "". */
  path: string;
  readOnly?: boolean;
}

export interface HostPathVolumeSource {
  /** Default: "". */
  path: string;
  type?: HostPathVolumeSourceType;
}

export interface ImageVolumeSource {
  pullPolicy?: ImageVolumeSourcePullPolicy;
  reference?: string;
}

export interface ISCSIVolumeSource {
  chapAuthDiscovery?: boolean;
  chapAuthSession?: boolean;
  fsType?: string;
  initiatorName?: string;
  /** Default: "". */
  iqn: string;
  /** Default: "default". */
  iscsiInterface?: string;
  /** Default: 0. */
  lun: number;
  portals?: string[];
  readOnly?: boolean;
  secretRef?: LocalObjectReference;
  /** Default: "". */
  targetPortal: string;
}

export interface NFSVolumeSource {
  /** Default: "". */
  path: string;
  readOnly?: boolean;
  /** Default: "". */
  server: string;
}

export interface PersistentVolumeClaimVolumeSource {
  /** Default: "". */
  claimName: string;
  readOnly?: boolean;
}

export interface PhotonPersistentDiskVolumeSource {
  fsType?: string;
  /** Default: "". */
  pdID: string;
}

export interface PortworxVolumeSource {
  fsType?: string;
  readOnly?: boolean;
  /** Default: "". */
  volumeID: string;
}

export interface ProjectedVolumeSource {
  defaultMode?: number;
  sources?: VolumeProjection[];
}

export interface VolumeProjection {
  clusterTrustBundle?: ClusterTrustBundleProjection;
  configMap?: ConfigMapProjection;
  downwardAPI?: DownwardAPIProjection;
  podCertificate?: PodCertificateProjection;
  secret?: SecretProjection;
  serviceAccountToken?: ServiceAccountTokenProjection;
}

export interface ClusterTrustBundleProjection {
  labelSelector?: LabelSelector;
  name?: string;
  optional?: boolean;
  /** Default: "". */
  path: string;
  signerName?: string;
}

export interface ConfigMapProjection {
  items?: KeyToPath[];
  /** Default: "". */
  name?: string;
  optional?: boolean;
}

export interface DownwardAPIProjection {
  items?: DownwardAPIVolumeFile[];
}

export interface PodCertificateProjection {
  certificateChainPath?: string;
  credentialBundlePath?: string;
  keyPath?: string;
  keyType: string;
  maxExpirationSeconds?: number;
  signerName: string;
  userAnnotations?: Record<string, string>;
}

export interface SecretProjection {
  items?: KeyToPath[];
  /** Default: "". */
  name?: string;
  optional?: boolean;
}

export interface ServiceAccountTokenProjection {
  audience?: string;
  expirationSeconds?: number;
  /** Default: "". */
  path: string;
}

export interface QuobyteVolumeSource {
  group?: string;
  readOnly?: boolean;
  /** Default: "". */
  registry: string;
  tenant?: string;
  user?: string;
  /** Default: "". */
  volume: string;
}

export interface RBDVolumeSource {
  fsType?: string;
  /** Default: "". */
  image: string;
  /** Default: "/etc/ceph/keyring". */
  keyring?: string;
  monitors: string[];
  /** Default: "rbd". */
  pool?: string;
  readOnly?: boolean;
  secretRef?: LocalObjectReference;
  /** Default: "admin". */
  user?: string;
}

export interface ScaleIOVolumeSource {
  /** Default: "xfs". */
  fsType?: string;
  /** Default: "". */
  gateway: string;
  protectionDomain?: string;
  readOnly?: boolean;
  secretRef: LocalObjectReference;
  sslEnabled?: boolean;
  /** Default: "ThinProvisioned". */
  storageMode?: string;
  storagePool?: string;
  /** Default: "". */
  system: string;
  volumeName?: string;
}

export interface SecretVolumeSource {
  defaultMode?: number;
  items?: KeyToPath[];
  optional?: boolean;
  secretName?: string;
}

export interface StorageOSVolumeSource {
  fsType?: string;
  readOnly?: boolean;
  secretRef?: LocalObjectReference;
  volumeName?: string;
  volumeNamespace?: string;
}

export interface VsphereVirtualDiskVolumeSource {
  fsType?: string;
  storagePolicyID?: string;
  storagePolicyName?: string;
  /** Default: "". */
  volumePath: string;
}

export interface DeploymentStatus {
  availableReplicas?: number;
  collisionCount?: number;
  conditions?: DeploymentCondition[];
  observedGeneration?: number;
  readyReplicas?: number;
  replicas?: number;
  terminatingReplicas?: number;
  unavailableReplicas?: number;
  updatedReplicas?: number;
}

export interface DeploymentCondition {
  lastTransitionTime?: Time;
  lastUpdateTime?: Time;
  message?: string;
  reason?: string;
  /** Default: "". */
  status: string;
  /** Default: "". */
  type: string;
}

/** The metadata of an object. */
export interface ObjectMeta2 {
  annotations?: Record<string, string>;
  creationTimestamp?: Time;
  deletionTimestamp?: Time;
  finalizers?: string[];
  generateName?: string;
  generation?: number;
  labels?: Record<string, string>;
  name: string;
  namespace?: string;
  ownerReferences?: ObjectMetaOwnerReferences[];
  resourceVersion?: string;
  uid?: string;
  /** Fields outside the schema. */
  [field: string]: unknown;
}

/** An owner of the object. */
export interface ObjectMetaOwnerReferences {
  apiVersion: string;
  blockOwnerDeletion?: boolean;
  controller?: boolean;
  kind: string;
  name: string;
  uid: string;
}

export type DeploymentStrategyType = "Recreate" | "RollingUpdate";

export type NodeSelectorRequirementOperator = "DoesNotExist" | "Exists" | "Gt" | "In" | "Lt" | "NotIn";

export type ContainerImagePullPolicy = "Always" | "IfNotPresent" | "Never";

export type HTTPGetActionScheme = "HTTP" | "HTTPS";

export type LifecycleStopSignal = "SIGABRT" | "SIGALRM" | "SIGBUS" | "SIGCHLD" | "SIGCLD" | "SIGCONT" | "SIGFPE" | "SIGHUP" | "SIGILL" | "SIGINT" | "SIGIO" | "SIGIOT" | "SIGKILL" | "SIGPIPE" | "SIGPOLL" | "SIGPROF" | "SIGPWR" | "SIGQUIT" | "SIGRTMAX" | "SIGRTMAX-1" | "SIGRTMAX-10" | "SIGRTMAX-11" | "SIGRTMAX-12" | "SIGRTMAX-13" | "SIGRTMAX-14" | "SIGRTMAX-2" | "SIGRTMAX-3" | "SIGRTMAX-4" | "SIGRTMAX-5" | "SIGRTMAX-6" | "SIGRTMAX-7" | "SIGRTMAX-8" | "SIGRTMAX-9" | "SIGRTMIN" | "SIGRTMIN+1" | "SIGRTMIN+10" | "SIGRTMIN+11" | "SIGRTMIN+12" | "SIGRTMIN+13" | "SIGRTMIN+14" | "SIGRTMIN+15" | "SIGRTMIN+2" | "SIGRTMIN+3" | "SIGRTMIN+4" | "SIGRTMIN+5" | "SIGRTMIN+6" | "SIGRTMIN+7" | "SIGRTMIN+8" | "SIGRTMIN+9" | "SIGSEGV" | "SIGSTKFLT" | "SIGSTOP" | "SIGSYS" | "SIGTERM" | "SIGTRAP" | "SIGTSTP" | "SIGTTIN" | "SIGTTOU" | "SIGURG" | "SIGUSR1" | "SIGUSR2" | "SIGVTALRM" | "SIGWINCH" | "SIGXCPU" | "SIGXFSZ";

export type ContainerPortProtocol = "SCTP" | "TCP" | "UDP";

export type AppArmorProfileType = "Localhost" | "RuntimeDefault" | "Unconfined";

export type SecurityContextProcMount = "Default" | "Unmasked";

export type SeccompProfileType = "Localhost" | "RuntimeDefault" | "Unconfined";

export type ContainerTerminationMessagePolicy = "FallbackToLogsOnError" | "File";

export type VolumeMountMountPropagation = "Bidirectional" | "HostToContainer" | "None";

export type PodSpecDnsPolicy = "ClusterFirst" | "ClusterFirstWithHostNet" | "Default" | "None";

export type EphemeralContainerImagePullPolicy = "Always" | "IfNotPresent" | "Never";

export type EphemeralContainerTerminationMessagePolicy = "FallbackToLogsOnError" | "File";

export type PodSpecPreemptionPolicy = "Never" | "PreemptLowerPriority";

export type PodSpecRestartPolicy = "Always" | "Never" | "OnFailure";

export type PodSecurityContextFsGroupChangePolicy = "Always" | "OnRootMismatch";

export type PodSecurityContextSupplementalGroupsPolicy = "Merge" | "Strict";

export type TolerationEffect = "NoExecute" | "NoSchedule" | "PreferNoSchedule";

export type TolerationOperator = "Equal" | "Exists" | "Gt" | "Lt";

export type TopologySpreadConstraintNodeAffinityPolicy = "Honor" | "Ignore";

export type TopologySpreadConstraintNodeTaintsPolicy = "Honor" | "Ignore";

export type TopologySpreadConstraintWhenUnsatisfiable = "DoNotSchedule" | "ScheduleAnyway";

export type AzureDiskVolumeSourceCachingMode = "None" | "ReadOnly" | "ReadWrite";

export type AzureDiskVolumeSourceKind = "Dedicated" | "Managed" | "Shared";

export type PersistentVolumeClaimSpecAccessModes = "ReadOnlyMany" | "ReadWriteMany" | "ReadWriteOnce" | "ReadWriteOncePod";

export type PersistentVolumeClaimSpecVolumeMode = "Block" | "Filesystem";

export type HostPathVolumeSourceType = "" | "BlockDevice" | "CharDevice" | "Directory" | "DirectoryOrCreate" | "File" | "FileOrCreate" | "Socket";

export type ImageVolumeSourcePullPolicy = "Always" | "IfNotPresent" | "Never";
