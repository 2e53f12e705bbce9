// Types of example.com/v1 Difficult. Made by `oarlock types`; changes are lost.

/** A time in RFC 3339. */
export type Time = string;

/** An integer or a string. */
export type IntOrString = number | string;

/** A quantity such as 100m or 2Gi. */
export type Quantity = number | string;

/** A kind * / with / * difficult / names. */
export interface Difficult {
  apiVersion: "example.com/v1";
  kind: "Difficult";
  metadata: ObjectMeta;
  spec: DifficultSpec;
}

/** Exactly one of: from, self. */
export interface DifficultSpec {
  "3rd"?: boolean;
  any?: unknown;
  from?: string;
  labels?: Record<string, string>;
  large?: number;
  limit: IntOrString | null;
  matrix?: (number | null)[][];
  memory?: Quantity;
  /** Default: "on". */
  mode: DifficultSpecMode;
  none?: string;
  open?: DifficultSpecOpen;
  "pod-cidr"?: string;
  podCIDR?: string;
  port?: IntOrString;
  ratio?: number;
  rules?: Record<string, DifficultSpecRules>;
  self?: string;
  since?: Time;
  /** The keyword of Rust. */
  type: string;
}

export interface DifficultSpecOpen {
  other?: string;
  /** Fields outside the schema. */
  [field: string]: unknown;
}

export interface DifficultSpecRules {
  spec?: DifficultSpecRulesSpec;
}

export interface DifficultSpecRulesSpec {
  spec?: string;
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

export type DifficultSpecMode = "" | "on" | "On" | "ON" | "a\"b";
