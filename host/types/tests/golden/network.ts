// Types of samplecrd.k8s.io/v1 Network. Made by `oarlock types`; changes are lost.

/** A time in RFC 3339. */
export type Time = string;

/** Network is a network with one IPv4 subnet in OpenStack Neutron. */
export interface Network {
  apiVersion: "samplecrd.k8s.io/v1";
  kind: "Network";
  metadata: ObjectMeta;
  /** The desired network. */
  spec: NetworkSpec;
  /** The observed state in Neutron. The plugin writes it. */
  status?: NetworkStatus;
}

/** The desired network. */
export interface NetworkSpec {
  /**
   * IPv4 range of the subnet: its first address and a prefix length of at most 30, such as
   * 192.168.0.0/16. This field is immutable.
   */
  cidr: string;
  /**
   * IPv4 address of the gateway: an address in cidr, but neither the first (the network address) nor the
   * last (the broadcast address).
   */
  gateway: string;
}

/** The observed state in Neutron. The plugin writes it. */
export interface NetworkStatus {
  /** Range of the first subnet in Neutron. */
  cidr?: string;
  /** Conditions of the Network. Ready is True when the network and its subnet match the spec. */
  conditions?: NetworkStatusConditions[];
  /** Gateway of the first subnet in Neutron. */
  gateway?: string;
  /** Id of the network in Neutron. */
  networkId?: string;
  /** Generation of the spec that the plugin observed last. */
  observedGeneration?: number;
  /** Id of the OpenStack project of the network, if known. */
  projectId?: string;
  /** Id of the first subnet in Neutron. */
  subnetId?: string;
  /** The subnets in Neutron. */
  subnets?: NetworkStatusSubnets[];
}

export interface NetworkStatusConditions {
  /** Time of the last change of status. */
  lastTransitionTime: Time;
  /** Details of the last change, for people. */
  message: string;
  /** Generation of the spec for which the condition was set. */
  observedGeneration?: number;
  /** Reason of the last change, one word in CamelCase, for programs. */
  reason: string;
  /** Status of the condition. */
  status: NetworkStatusConditionsStatus;
  /** Type of the condition, such as Ready. */
  type: string;
}

export interface NetworkStatusSubnets {
  /** Range of the subnet in Neutron. */
  cidr: string;
  /** Gateway of the subnet in Neutron. */
  gateway?: string;
  /** Name of the subnet in the spec of v2; default where a v1 client created it. */
  name: string;
  /** Id of the subnet in Neutron. */
  subnetId: string;
}

/** The metadata of an object. */
export interface ObjectMeta {
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

/** Status of the condition. */
export type NetworkStatusConditionsStatus = "True" | "False" | "Unknown";
