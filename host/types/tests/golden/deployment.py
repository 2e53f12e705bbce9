# Types of apps/v1 Deployment. Made by `oarlock types`; changes are lost.
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

# A time in RFC 3339.
Time = str

# An integer or a string.
IntOrString = int | str

# A quantity such as 100m or 2Gi.
Quantity = int | float | str

DeploymentStrategyType = Literal["Recreate", "RollingUpdate"]

NodeSelectorRequirementOperator = Literal["DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"]

ContainerImagePullPolicy = Literal["Always", "IfNotPresent", "Never"]

HTTPGetActionScheme = Literal["HTTP", "HTTPS"]

LifecycleStopSignal = Literal["SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL", "SIGINT", "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT", "SIGRTMAX", "SIGRTMAX-1", "SIGRTMAX-10", "SIGRTMAX-11", "SIGRTMAX-12", "SIGRTMAX-13", "SIGRTMAX-14", "SIGRTMAX-2", "SIGRTMAX-3", "SIGRTMAX-4", "SIGRTMAX-5", "SIGRTMAX-6", "SIGRTMAX-7", "SIGRTMAX-8", "SIGRTMAX-9", "SIGRTMIN", "SIGRTMIN+1", "SIGRTMIN+10", "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15", "SIGRTMIN+2", "SIGRTMIN+3", "SIGRTMIN+4", "SIGRTMIN+5", "SIGRTMIN+6", "SIGRTMIN+7", "SIGRTMIN+8", "SIGRTMIN+9", "SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ"]

ContainerPortProtocol = Literal["SCTP", "TCP", "UDP"]

AppArmorProfileType = Literal["Localhost", "RuntimeDefault", "Unconfined"]

SecurityContextProcMount = Literal["Default", "Unmasked"]

SeccompProfileType = Literal["Localhost", "RuntimeDefault", "Unconfined"]

ContainerTerminationMessagePolicy = Literal["FallbackToLogsOnError", "File"]

VolumeMountMountPropagation = Literal["Bidirectional", "HostToContainer", "None"]

PodSpecDnsPolicy = Literal["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"]

EphemeralContainerImagePullPolicy = Literal["Always", "IfNotPresent", "Never"]

EphemeralContainerTerminationMessagePolicy = Literal["FallbackToLogsOnError", "File"]

PodSpecPreemptionPolicy = Literal["Never", "PreemptLowerPriority"]

PodSpecRestartPolicy = Literal["Always", "Never", "OnFailure"]

PodSecurityContextFsGroupChangePolicy = Literal["Always", "OnRootMismatch"]

PodSecurityContextSupplementalGroupsPolicy = Literal["Merge", "Strict"]

TolerationEffect = Literal["NoExecute", "NoSchedule", "PreferNoSchedule"]

TolerationOperator = Literal["Equal", "Exists", "Gt", "Lt"]

TopologySpreadConstraintNodeAffinityPolicy = Literal["Honor", "Ignore"]

TopologySpreadConstraintNodeTaintsPolicy = Literal["Honor", "Ignore"]

TopologySpreadConstraintWhenUnsatisfiable = Literal["DoNotSchedule", "ScheduleAnyway"]

AzureDiskVolumeSourceCachingMode = Literal["None", "ReadOnly", "ReadWrite"]

AzureDiskVolumeSourceKind = Literal["Dedicated", "Managed", "Shared"]

PersistentVolumeClaimSpecAccessModes = Literal["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]

PersistentVolumeClaimSpecVolumeMode = Literal["Block", "Filesystem"]

HostPathVolumeSourceType = Literal["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"]

ImageVolumeSourcePullPolicy = Literal["Always", "IfNotPresent", "Never"]


class Deployment(TypedDict):
    apiVersion: Literal["apps/v1"]
    kind: Literal["Deployment"]
    metadata: ObjectMeta2
    spec: NotRequired[DeploymentSpec]
    status: NotRequired[DeploymentStatus]


class DeploymentSpec(TypedDict):
    minReadySeconds: NotRequired[int]
    paused: NotRequired[bool]
    progressDeadlineSeconds: NotRequired[int]
    replicas: NotRequired[int]
    revisionHistoryLimit: NotRequired[int]
    selector: LabelSelector
    strategy: NotRequired[DeploymentStrategy]
    template: PodTemplateSpec


class LabelSelector(TypedDict):
    matchExpressions: NotRequired[list[LabelSelectorRequirement]]
    matchLabels: NotRequired[dict[str, str]]


class LabelSelectorRequirement(TypedDict):
    # Default: "".
    key: str
    # Default: "".
    operator: str
    values: NotRequired[list[str]]


class DeploymentStrategy(TypedDict):
    rollingUpdate: NotRequired[RollingUpdateDeployment]
    type: NotRequired[DeploymentStrategyType]


class RollingUpdateDeployment(TypedDict):
    maxSurge: NotRequired[IntOrString]
    maxUnavailable: NotRequired[IntOrString]


class PodTemplateSpec(TypedDict):
    metadata: NotRequired[ObjectMeta]
    spec: NotRequired[PodSpec]


class ObjectMeta(TypedDict):
    annotations: NotRequired[dict[str, str]]
    creationTimestamp: NotRequired[Time]
    deletionGracePeriodSeconds: NotRequired[int]
    deletionTimestamp: NotRequired[Time]
    finalizers: NotRequired[list[str]]
    generateName: NotRequired[str]
    generation: NotRequired[int]
    labels: NotRequired[dict[str, str]]
    managedFields: NotRequired[list[ManagedFieldsEntry]]
    name: NotRequired[str]
    namespace: NotRequired[str]
    ownerReferences: NotRequired[list[OwnerReference]]
    resourceVersion: NotRequired[str]
    selfLink: NotRequired[str]
    uid: NotRequired[str]


class ManagedFieldsEntry(TypedDict):
    apiVersion: NotRequired[str]
    fieldsType: NotRequired[str]
    fieldsV1: NotRequired[dict[str, Any]]
    manager: NotRequired[str]
    operation: NotRequired[str]
    subresource: NotRequired[str]
    time: NotRequired[Time]


class OwnerReference(TypedDict):
    # Default: "".
    apiVersion: str
    blockOwnerDeletion: NotRequired[bool]
    controller: NotRequired[bool]
    # Default: "".
    kind: str
    # Default: "".
    name: str
    # Default: "".
    uid: str


class PodSpec(TypedDict):
    activeDeadlineSeconds: NotRequired[int]
    affinity: NotRequired[Affinity]
    automountServiceAccountToken: NotRequired[bool]
    containers: list[Container]
    dnsConfig: NotRequired[PodDNSConfig]
    dnsPolicy: NotRequired[PodSpecDnsPolicy]
    enableServiceLinks: NotRequired[bool]
    ephemeralContainers: NotRequired[list[EphemeralContainer]]
    hostAliases: NotRequired[list[HostAlias]]
    hostIPC: NotRequired[bool]
    hostNetwork: NotRequired[bool]
    hostPID: NotRequired[bool]
    hostUsers: NotRequired[bool]
    hostname: NotRequired[str]
    hostnameOverride: NotRequired[str]
    imagePullSecrets: NotRequired[list[LocalObjectReference]]
    initContainers: NotRequired[list[Container]]
    nodeName: NotRequired[str]
    nodeSelector: NotRequired[dict[str, str]]
    os: NotRequired[PodOS]
    overhead: NotRequired[dict[str, Quantity]]
    preemptionPolicy: NotRequired[PodSpecPreemptionPolicy]
    priority: NotRequired[int]
    priorityClassName: NotRequired[str]
    readinessGates: NotRequired[list[PodReadinessGate]]
    resourceClaims: NotRequired[list[PodResourceClaim]]
    resources: NotRequired[ResourceRequirements]
    restartPolicy: NotRequired[PodSpecRestartPolicy]
    runtimeClassName: NotRequired[str]
    schedulerName: NotRequired[str]
    schedulingGates: NotRequired[list[PodSchedulingGate]]
    schedulingGroup: NotRequired[PodSchedulingGroup]
    securityContext: NotRequired[PodSecurityContext]
    serviceAccount: NotRequired[str]
    serviceAccountName: NotRequired[str]
    setHostnameAsFQDN: NotRequired[bool]
    shareProcessNamespace: NotRequired[bool]
    subdomain: NotRequired[str]
    terminationGracePeriodSeconds: NotRequired[int]
    tolerations: NotRequired[list[Toleration]]
    topologySpreadConstraints: NotRequired[list[TopologySpreadConstraint]]
    volumes: NotRequired[list[Volume]]


class Affinity(TypedDict):
    nodeAffinity: NotRequired[NodeAffinity]
    podAffinity: NotRequired[PodAffinity]
    podAntiAffinity: NotRequired[PodAntiAffinity]


class NodeAffinity(TypedDict):
    preferredDuringSchedulingIgnoredDuringExecution: NotRequired[list[PreferredSchedulingTerm]]
    requiredDuringSchedulingIgnoredDuringExecution: NotRequired[NodeSelector]


class PreferredSchedulingTerm(TypedDict):
    preference: NodeSelectorTerm
    # Default: 0.
    weight: int


class NodeSelectorTerm(TypedDict):
    matchExpressions: NotRequired[list[NodeSelectorRequirement]]
    matchFields: NotRequired[list[NodeSelectorRequirement]]


class NodeSelectorRequirement(TypedDict):
    # Default: "".
    key: str
    # Default: "".
    operator: NodeSelectorRequirementOperator
    values: NotRequired[list[str]]


class NodeSelector(TypedDict):
    nodeSelectorTerms: list[NodeSelectorTerm]


class PodAffinity(TypedDict):
    preferredDuringSchedulingIgnoredDuringExecution: NotRequired[list[WeightedPodAffinityTerm]]
    requiredDuringSchedulingIgnoredDuringExecution: NotRequired[list[PodAffinityTerm]]


class WeightedPodAffinityTerm(TypedDict):
    podAffinityTerm: PodAffinityTerm
    # Default: 0.
    weight: int


class PodAffinityTerm(TypedDict):
    labelSelector: NotRequired[LabelSelector]
    matchLabelKeys: NotRequired[list[str]]
    mismatchLabelKeys: NotRequired[list[str]]
    namespaceSelector: NotRequired[LabelSelector]
    namespaces: NotRequired[list[str]]
    # Default: "".
    topologyKey: str


class PodAntiAffinity(TypedDict):
    preferredDuringSchedulingIgnoredDuringExecution: NotRequired[list[WeightedPodAffinityTerm]]
    requiredDuringSchedulingIgnoredDuringExecution: NotRequired[list[PodAffinityTerm]]


class Container(TypedDict):
    args: NotRequired[list[str]]
    command: NotRequired[list[str]]
    env: NotRequired[list[EnvVar]]
    envFrom: NotRequired[list[EnvFromSource]]
    image: NotRequired[str]
    imagePullPolicy: NotRequired[ContainerImagePullPolicy]
    lifecycle: NotRequired[Lifecycle]
    livenessProbe: NotRequired[Probe]
    # Default: "".
    name: str
    ports: NotRequired[list[ContainerPort]]
    readinessProbe: NotRequired[Probe]
    resizePolicy: NotRequired[list[ContainerResizePolicy]]
    resources: NotRequired[ResourceRequirements]
    restartPolicy: NotRequired[str]
    restartPolicyRules: NotRequired[list[ContainerRestartRule]]
    securityContext: NotRequired[SecurityContext]
    startupProbe: NotRequired[Probe]
    stdin: NotRequired[bool]
    stdinOnce: NotRequired[bool]
    terminationMessagePath: NotRequired[str]
    terminationMessagePolicy: NotRequired[ContainerTerminationMessagePolicy]
    tty: NotRequired[bool]
    volumeDevices: NotRequired[list[VolumeDevice]]
    volumeMounts: NotRequired[list[VolumeMount]]
    workingDir: NotRequired[str]


class EnvVar(TypedDict):
    # Default: "".
    name: str
    value: NotRequired[str]
    valueFrom: NotRequired[EnvVarSource]


class EnvVarSource(TypedDict):
    configMapKeyRef: NotRequired[ConfigMapKeySelector]
    fieldRef: NotRequired[ObjectFieldSelector]
    fileKeyRef: NotRequired[FileKeySelector]
    resourceFieldRef: NotRequired[ResourceFieldSelector]
    secretKeyRef: NotRequired[SecretKeySelector]


class ConfigMapKeySelector(TypedDict):
    # Default: "".
    key: str
    # Default: "".
    name: NotRequired[str]
    optional: NotRequired[bool]


class ObjectFieldSelector(TypedDict):
    apiVersion: NotRequired[str]
    # Default: "".
    fieldPath: str


class FileKeySelector(TypedDict):
    # Default: "".
    key: str
    # Default: false.
    optional: NotRequired[bool]
    # Default: "".
    path: str
    # Default: "".
    volumeName: str


class ResourceFieldSelector(TypedDict):
    containerName: NotRequired[str]
    divisor: NotRequired[Quantity]
    # Default: "".
    resource: str


class SecretKeySelector(TypedDict):
    # Default: "".
    key: str
    # Default: "".
    name: NotRequired[str]
    optional: NotRequired[bool]


class EnvFromSource(TypedDict):
    configMapRef: NotRequired[ConfigMapEnvSource]
    prefix: NotRequired[str]
    secretRef: NotRequired[SecretEnvSource]


class ConfigMapEnvSource(TypedDict):
    # Default: "".
    name: NotRequired[str]
    optional: NotRequired[bool]


class SecretEnvSource(TypedDict):
    # Default: "".
    name: NotRequired[str]
    optional: NotRequired[bool]


class Lifecycle(TypedDict):
    postStart: NotRequired[LifecycleHandler]
    preStop: NotRequired[LifecycleHandler]
    stopSignal: NotRequired[LifecycleStopSignal]


class LifecycleHandler(TypedDict):
    exec: NotRequired[ExecAction]
    httpGet: NotRequired[HTTPGetAction]
    sleep: NotRequired[SleepAction]
    tcpSocket: NotRequired[TCPSocketAction]


class ExecAction(TypedDict):
    command: NotRequired[list[str]]


class HTTPGetAction(TypedDict):
    host: NotRequired[str]
    httpHeaders: NotRequired[list[HTTPHeader]]
    path: NotRequired[str]
    port: IntOrString
    scheme: NotRequired[HTTPGetActionScheme]


class HTTPHeader(TypedDict):
    # Default: "".
    name: str
    # Default: "".
    value: str


class SleepAction(TypedDict):
    # Default: 0.
    seconds: int


class TCPSocketAction(TypedDict):
    host: NotRequired[str]
    port: IntOrString


class Probe(TypedDict):
    exec: NotRequired[ExecAction]
    failureThreshold: NotRequired[int]
    grpc: NotRequired[GRPCAction]
    httpGet: NotRequired[HTTPGetAction]
    initialDelaySeconds: NotRequired[int]
    periodSeconds: NotRequired[int]
    successThreshold: NotRequired[int]
    tcpSocket: NotRequired[TCPSocketAction]
    terminationGracePeriodSeconds: NotRequired[int]
    timeoutSeconds: NotRequired[int]


class GRPCAction(TypedDict):
    # Default: 0.
    port: int
    # Default: "".
    service: NotRequired[str]


class ContainerPort(TypedDict):
    # Default: 0.
    containerPort: int
    hostIP: NotRequired[str]
    hostPort: NotRequired[int]
    name: NotRequired[str]
    # Default: "TCP".
    protocol: NotRequired[ContainerPortProtocol]


class ContainerResizePolicy(TypedDict):
    # Default: "".
    resourceName: str
    # Default: "".
    restartPolicy: str


class ResourceRequirements(TypedDict):
    claims: NotRequired[list[ResourceClaim]]
    limits: NotRequired[dict[str, Quantity]]
    requests: NotRequired[dict[str, Quantity]]


class ResourceClaim(TypedDict):
    # Default: "".
    name: str
    request: NotRequired[str]


class ContainerRestartRule(TypedDict):
    action: str
    exitCodes: NotRequired[ContainerRestartRuleOnExitCodes]


class ContainerRestartRuleOnExitCodes(TypedDict):
    operator: str
    values: NotRequired[list[int]]


class SecurityContext(TypedDict):
    allowPrivilegeEscalation: NotRequired[bool]
    appArmorProfile: NotRequired[AppArmorProfile]
    capabilities: NotRequired[Capabilities]
    privileged: NotRequired[bool]
    procMount: NotRequired[SecurityContextProcMount]
    readOnlyRootFilesystem: NotRequired[bool]
    runAsGroup: NotRequired[int]
    runAsNonRoot: NotRequired[bool]
    runAsUser: NotRequired[int]
    seLinuxOptions: NotRequired[SELinuxOptions]
    seccompProfile: NotRequired[SeccompProfile]
    windowsOptions: NotRequired[WindowsSecurityContextOptions]


# At most one of: localhostProfile (LocalhostProfile), as type says.
class AppArmorProfile(TypedDict):
    localhostProfile: NotRequired[str]
    # Default: "".
    type: AppArmorProfileType


class Capabilities(TypedDict):
    add: NotRequired[list[str]]
    drop: NotRequired[list[str]]


class SELinuxOptions(TypedDict):
    level: NotRequired[str]
    role: NotRequired[str]
    type: NotRequired[str]
    user: NotRequired[str]


# At most one of: localhostProfile (LocalhostProfile), as type says.
class SeccompProfile(TypedDict):
    localhostProfile: NotRequired[str]
    # Default: "".
    type: SeccompProfileType


class WindowsSecurityContextOptions(TypedDict):
    gmsaCredentialSpec: NotRequired[str]
    gmsaCredentialSpecName: NotRequired[str]
    hostProcess: NotRequired[bool]
    runAsUserName: NotRequired[str]


class VolumeDevice(TypedDict):
    # Default: "".
    devicePath: str
    # Default: "".
    name: str


class VolumeMount(TypedDict):
    # Default: "".
    mountPath: str
    mountPropagation: NotRequired[VolumeMountMountPropagation]
    # Default: "".
    name: str
    readOnly: NotRequired[bool]
    recursiveReadOnly: NotRequired[str]
    subPath: NotRequired[str]
    subPathExpr: NotRequired[str]


class PodDNSConfig(TypedDict):
    nameservers: NotRequired[list[str]]
    options: NotRequired[list[PodDNSConfigOption]]
    searches: NotRequired[list[str]]


class PodDNSConfigOption(TypedDict):
    name: NotRequired[str]
    value: NotRequired[str]


class EphemeralContainer(TypedDict):
    args: NotRequired[list[str]]
    command: NotRequired[list[str]]
    env: NotRequired[list[EnvVar]]
    envFrom: NotRequired[list[EnvFromSource]]
    image: NotRequired[str]
    imagePullPolicy: NotRequired[EphemeralContainerImagePullPolicy]
    lifecycle: NotRequired[Lifecycle]
    livenessProbe: NotRequired[Probe]
    # Default: "".
    name: str
    ports: NotRequired[list[ContainerPort]]
    readinessProbe: NotRequired[Probe]
    resizePolicy: NotRequired[list[ContainerResizePolicy]]
    resources: NotRequired[ResourceRequirements]
    restartPolicy: NotRequired[str]
    restartPolicyRules: NotRequired[list[ContainerRestartRule]]
    securityContext: NotRequired[SecurityContext]
    startupProbe: NotRequired[Probe]
    stdin: NotRequired[bool]
    stdinOnce: NotRequired[bool]
    targetContainerName: NotRequired[str]
    terminationMessagePath: NotRequired[str]
    terminationMessagePolicy: NotRequired[EphemeralContainerTerminationMessagePolicy]
    tty: NotRequired[bool]
    volumeDevices: NotRequired[list[VolumeDevice]]
    volumeMounts: NotRequired[list[VolumeMount]]
    workingDir: NotRequired[str]


class HostAlias(TypedDict):
    hostnames: NotRequired[list[str]]
    # Default: "".
    ip: str


class LocalObjectReference(TypedDict):
    # Default: "".
    name: NotRequired[str]


class PodOS(TypedDict):
    # Default: "".
    name: str


class PodReadinessGate(TypedDict):
    # Default: "".
    conditionType: str


class PodResourceClaim(TypedDict):
    # Default: "".
    name: str
    resourceClaimName: NotRequired[str]
    resourceClaimTemplateName: NotRequired[str]


class PodSchedulingGate(TypedDict):
    # Default: "".
    name: str


class PodSchedulingGroup(TypedDict):
    podGroupName: NotRequired[str]


class PodSecurityContext(TypedDict):
    appArmorProfile: NotRequired[AppArmorProfile]
    fsGroup: NotRequired[int]
    fsGroupChangePolicy: NotRequired[PodSecurityContextFsGroupChangePolicy]
    runAsGroup: NotRequired[int]
    runAsNonRoot: NotRequired[bool]
    runAsUser: NotRequired[int]
    seLinuxChangePolicy: NotRequired[str]
    seLinuxOptions: NotRequired[SELinuxOptions]
    seccompProfile: NotRequired[SeccompProfile]
    supplementalGroups: NotRequired[list[int]]
    supplementalGroupsPolicy: NotRequired[PodSecurityContextSupplementalGroupsPolicy]
    sysctls: NotRequired[list[Sysctl]]
    windowsOptions: NotRequired[WindowsSecurityContextOptions]


class Sysctl(TypedDict):
    # Default: "".
    name: str
    # Default: "".
    value: str


class Toleration(TypedDict):
    effect: NotRequired[TolerationEffect]
    key: NotRequired[str]
    operator: NotRequired[TolerationOperator]
    tolerationSeconds: NotRequired[int]
    value: NotRequired[str]


class TopologySpreadConstraint(TypedDict):
    labelSelector: NotRequired[LabelSelector]
    matchLabelKeys: NotRequired[list[str]]
    # Default: 0.
    maxSkew: int
    minDomains: NotRequired[int]
    nodeAffinityPolicy: NotRequired[TopologySpreadConstraintNodeAffinityPolicy]
    nodeTaintsPolicy: NotRequired[TopologySpreadConstraintNodeTaintsPolicy]
    # Default: "".
    topologyKey: str
    # Default: "".
    whenUnsatisfiable: TopologySpreadConstraintWhenUnsatisfiable


class Volume(TypedDict):
    awsElasticBlockStore: NotRequired[AWSElasticBlockStoreVolumeSource]
    azureDisk: NotRequired[AzureDiskVolumeSource]
    azureFile: NotRequired[AzureFileVolumeSource]
    cephfs: NotRequired[CephFSVolumeSource]
    cinder: NotRequired[CinderVolumeSource]
    configMap: NotRequired[ConfigMapVolumeSource]
    csi: NotRequired[CSIVolumeSource]
    downwardAPI: NotRequired[DownwardAPIVolumeSource]
    emptyDir: NotRequired[EmptyDirVolumeSource]
    ephemeral: NotRequired[EphemeralVolumeSource]
    fc: NotRequired[FCVolumeSource]
    flexVolume: NotRequired[FlexVolumeSource]
    flocker: NotRequired[FlockerVolumeSource]
    gcePersistentDisk: NotRequired[GCEPersistentDiskVolumeSource]
    gitRepo: NotRequired[GitRepoVolumeSource]
    glusterfs: NotRequired[GlusterfsVolumeSource]
    hostPath: NotRequired[HostPathVolumeSource]
    image: NotRequired[ImageVolumeSource]
    iscsi: NotRequired[ISCSIVolumeSource]
    # Default: "".
    name: str
    nfs: NotRequired[NFSVolumeSource]
    persistentVolumeClaim: NotRequired[PersistentVolumeClaimVolumeSource]
    photonPersistentDisk: NotRequired[PhotonPersistentDiskVolumeSource]
    portworxVolume: NotRequired[PortworxVolumeSource]
    projected: NotRequired[ProjectedVolumeSource]
    quobyte: NotRequired[QuobyteVolumeSource]
    rbd: NotRequired[RBDVolumeSource]
    scaleIO: NotRequired[ScaleIOVolumeSource]
    secret: NotRequired[SecretVolumeSource]
    storageos: NotRequired[StorageOSVolumeSource]
    vsphereVolume: NotRequired[VsphereVirtualDiskVolumeSource]


class AWSElasticBlockStoreVolumeSource(TypedDict):
    fsType: NotRequired[str]
    partition: NotRequired[int]
    readOnly: NotRequired[bool]
    # Default: "".
    volumeID: str


class AzureDiskVolumeSource(TypedDict):
    # Default: "ReadWrite".
    cachingMode: NotRequired[AzureDiskVolumeSourceCachingMode]
    # Default: "".
    diskName: str
    # Default: "".
    diskURI: str
    # Default: "ext4".
    fsType: NotRequired[str]
    # Default: "Shared".
    kind: NotRequired[AzureDiskVolumeSourceKind]
    # Default: false.
    readOnly: NotRequired[bool]


class AzureFileVolumeSource(TypedDict):
    readOnly: NotRequired[bool]
    # Default: "".
    secretName: str
    # Default: "".
    shareName: str


class CephFSVolumeSource(TypedDict):
    monitors: list[str]
    path: NotRequired[str]
    readOnly: NotRequired[bool]
    secretFile: NotRequired[str]
    secretRef: NotRequired[LocalObjectReference]
    user: NotRequired[str]


class CinderVolumeSource(TypedDict):
    fsType: NotRequired[str]
    readOnly: NotRequired[bool]
    secretRef: NotRequired[LocalObjectReference]
    # Default: "".
    volumeID: str


class ConfigMapVolumeSource(TypedDict):
    defaultMode: NotRequired[int]
    items: NotRequired[list[KeyToPath]]
    # Default: "".
    name: NotRequired[str]
    optional: NotRequired[bool]


class KeyToPath(TypedDict):
    # Default: "".
    key: str
    mode: NotRequired[int]
    # Default: "".
    path: str


class CSIVolumeSource(TypedDict):
    # Default: "".
    driver: str
    fsType: NotRequired[str]
    nodePublishSecretRef: NotRequired[LocalObjectReference]
    readOnly: NotRequired[bool]
    volumeAttributes: NotRequired[dict[str, str]]


class DownwardAPIVolumeSource(TypedDict):
    defaultMode: NotRequired[int]
    items: NotRequired[list[DownwardAPIVolumeFile]]


class DownwardAPIVolumeFile(TypedDict):
    fieldRef: NotRequired[ObjectFieldSelector]
    mode: NotRequired[int]
    # Default: "".
    path: str
    resourceFieldRef: NotRequired[ResourceFieldSelector]


class EmptyDirVolumeSource(TypedDict):
    medium: NotRequired[str]
    sizeLimit: NotRequired[Quantity]


class EphemeralVolumeSource(TypedDict):
    volumeClaimTemplate: NotRequired[PersistentVolumeClaimTemplate]


class PersistentVolumeClaimTemplate(TypedDict):
    metadata: NotRequired[ObjectMeta]
    spec: PersistentVolumeClaimSpec


class PersistentVolumeClaimSpec(TypedDict):
    accessModes: NotRequired[list[PersistentVolumeClaimSpecAccessModes]]
    dataSource: NotRequired[TypedLocalObjectReference]
    dataSourceRef: NotRequired[TypedObjectReference]
    resources: NotRequired[VolumeResourceRequirements]
    selector: NotRequired[LabelSelector]
    storageClassName: NotRequired[str]
    volumeAttributesClassName: NotRequired[str]
    volumeMode: NotRequired[PersistentVolumeClaimSpecVolumeMode]
    volumeName: NotRequired[str]


class TypedLocalObjectReference(TypedDict):
    apiGroup: NotRequired[str]
    # Default: "".
    kind: str
    # Default: "".
    name: str


class TypedObjectReference(TypedDict):
    apiGroup: NotRequired[str]
    # Default: "".
    kind: str
    # Default: "".
    name: str
    namespace: NotRequired[str]


class VolumeResourceRequirements(TypedDict):
    limits: NotRequired[dict[str, Quantity]]
    requests: NotRequired[dict[str, Quantity]]


class FCVolumeSource(TypedDict):
    fsType: NotRequired[str]
    lun: NotRequired[int]
    readOnly: NotRequired[bool]
    targetWWNs: NotRequired[list[str]]
    wwids: NotRequired[list[str]]


class FlexVolumeSource(TypedDict):
    # Default: "".
    driver: str
    fsType: NotRequired[str]
    options: NotRequired[dict[str, str]]
    readOnly: NotRequired[bool]
    secretRef: NotRequired[LocalObjectReference]


class FlockerVolumeSource(TypedDict):
    datasetName: NotRequired[str]
    datasetUUID: NotRequired[str]


class GCEPersistentDiskVolumeSource(TypedDict):
    fsType: NotRequired[str]
    partition: NotRequired[int]
    # Default: "".
    pdName: str
    readOnly: NotRequired[bool]


class GitRepoVolumeSource(TypedDict):
    directory: NotRequired[str]
    # Default: "".
    repository: str
    revision: NotRequired[str]


class GlusterfsVolumeSource(TypedDict):
    # Default: "".
    endpoints: str
    # Default: "".
    path: str
    readOnly: NotRequired[bool]


class HostPathVolumeSource(TypedDict):
    # Default: "".
    path: str
    type: NotRequired[HostPathVolumeSourceType]


class ImageVolumeSource(TypedDict):
    pullPolicy: NotRequired[ImageVolumeSourcePullPolicy]
    reference: NotRequired[str]


class ISCSIVolumeSource(TypedDict):
    chapAuthDiscovery: NotRequired[bool]
    chapAuthSession: NotRequired[bool]
    fsType: NotRequired[str]
    initiatorName: NotRequired[str]
    # Default: "".
    iqn: str
    # Default: "default".
    iscsiInterface: NotRequired[str]
    # Default: 0.
    lun: int
    portals: NotRequired[list[str]]
    readOnly: NotRequired[bool]
    secretRef: NotRequired[LocalObjectReference]
    # Default: "".
    targetPortal: str


class NFSVolumeSource(TypedDict):
    # Default: "".
    path: str
    readOnly: NotRequired[bool]
    # Default: "".
    server: str


class PersistentVolumeClaimVolumeSource(TypedDict):
    # Default: "".
    claimName: str
    readOnly: NotRequired[bool]


class PhotonPersistentDiskVolumeSource(TypedDict):
    fsType: NotRequired[str]
    # Default: "".
    pdID: str


class PortworxVolumeSource(TypedDict):
    fsType: NotRequired[str]
    readOnly: NotRequired[bool]
    # Default: "".
    volumeID: str


class ProjectedVolumeSource(TypedDict):
    defaultMode: NotRequired[int]
    sources: NotRequired[list[VolumeProjection]]


class VolumeProjection(TypedDict):
    clusterTrustBundle: NotRequired[ClusterTrustBundleProjection]
    configMap: NotRequired[ConfigMapProjection]
    downwardAPI: NotRequired[DownwardAPIProjection]
    podCertificate: NotRequired[PodCertificateProjection]
    secret: NotRequired[SecretProjection]
    serviceAccountToken: NotRequired[ServiceAccountTokenProjection]


class ClusterTrustBundleProjection(TypedDict):
    labelSelector: NotRequired[LabelSelector]
    name: NotRequired[str]
    optional: NotRequired[bool]
    # Default: "".
    path: str
    signerName: NotRequired[str]


class ConfigMapProjection(TypedDict):
    items: NotRequired[list[KeyToPath]]
    # Default: "".
    name: NotRequired[str]
    optional: NotRequired[bool]


class DownwardAPIProjection(TypedDict):
    items: NotRequired[list[DownwardAPIVolumeFile]]


class PodCertificateProjection(TypedDict):
    certificateChainPath: NotRequired[str]
    credentialBundlePath: NotRequired[str]
    keyPath: NotRequired[str]
    keyType: str
    maxExpirationSeconds: NotRequired[int]
    signerName: str
    userAnnotations: NotRequired[dict[str, str]]


class SecretProjection(TypedDict):
    items: NotRequired[list[KeyToPath]]
    # Default: "".
    name: NotRequired[str]
    optional: NotRequired[bool]


class ServiceAccountTokenProjection(TypedDict):
    audience: NotRequired[str]
    expirationSeconds: NotRequired[int]
    # Default: "".
    path: str


class QuobyteVolumeSource(TypedDict):
    group: NotRequired[str]
    readOnly: NotRequired[bool]
    # Default: "".
    registry: str
    tenant: NotRequired[str]
    user: NotRequired[str]
    # Default: "".
    volume: str


class RBDVolumeSource(TypedDict):
    fsType: NotRequired[str]
    # Default: "".
    image: str
    # Default: "/etc/ceph/keyring".
    keyring: NotRequired[str]
    monitors: list[str]
    # Default: "rbd".
    pool: NotRequired[str]
    readOnly: NotRequired[bool]
    secretRef: NotRequired[LocalObjectReference]
    # Default: "admin".
    user: NotRequired[str]


class ScaleIOVolumeSource(TypedDict):
    # Default: "xfs".
    fsType: NotRequired[str]
    # Default: "".
    gateway: str
    protectionDomain: NotRequired[str]
    readOnly: NotRequired[bool]
    secretRef: LocalObjectReference
    sslEnabled: NotRequired[bool]
    # Default: "ThinProvisioned".
    storageMode: NotRequired[str]
    storagePool: NotRequired[str]
    # Default: "".
    system: str
    volumeName: NotRequired[str]


class SecretVolumeSource(TypedDict):
    defaultMode: NotRequired[int]
    items: NotRequired[list[KeyToPath]]
    optional: NotRequired[bool]
    secretName: NotRequired[str]


class StorageOSVolumeSource(TypedDict):
    fsType: NotRequired[str]
    readOnly: NotRequired[bool]
    secretRef: NotRequired[LocalObjectReference]
    volumeName: NotRequired[str]
    volumeNamespace: NotRequired[str]


class VsphereVirtualDiskVolumeSource(TypedDict):
    fsType: NotRequired[str]
    storagePolicyID: NotRequired[str]
    storagePolicyName: NotRequired[str]
    # Default: "".
    volumePath: str


class DeploymentStatus(TypedDict):
    availableReplicas: NotRequired[int]
    collisionCount: NotRequired[int]
    conditions: NotRequired[list[DeploymentCondition]]
    observedGeneration: NotRequired[int]
    readyReplicas: NotRequired[int]
    replicas: NotRequired[int]
    terminatingReplicas: NotRequired[int]
    unavailableReplicas: NotRequired[int]
    updatedReplicas: NotRequired[int]


class DeploymentCondition(TypedDict):
    lastTransitionTime: NotRequired[Time]
    lastUpdateTime: NotRequired[Time]
    message: NotRequired[str]
    reason: NotRequired[str]
    # Default: "".
    status: str
    # Default: "".
    type: str


# The metadata of an object.
# Objects may have more fields.
class ObjectMeta2(TypedDict):
    annotations: NotRequired[dict[str, str]]
    creationTimestamp: NotRequired[Time]
    deletionTimestamp: NotRequired[Time]
    finalizers: NotRequired[list[str]]
    generateName: NotRequired[str]
    generation: NotRequired[int]
    labels: NotRequired[dict[str, str]]
    name: str
    namespace: NotRequired[str]
    ownerReferences: NotRequired[list[ObjectMetaOwnerReferences]]
    resourceVersion: NotRequired[str]
    uid: NotRequired[str]


# An owner of the object.
class ObjectMetaOwnerReferences(TypedDict):
    apiVersion: str
    blockOwnerDeletion: NotRequired[bool]
    controller: NotRequired[bool]
    kind: str
    name: str
    uid: str
