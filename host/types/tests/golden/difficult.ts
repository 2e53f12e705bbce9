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

/**
 * Exactly one of: from, self.
 * At most one of: any, port.
 */
export interface DifficultSpec {
  ""?: string;
  "-"?: string;
  "3rd"?: boolean;
  "a,b"?: string;
  any?: unknown;
  /**
   * ``PEM``, or ''
   *
   * A Heading
   *
   * [it]: ends here ? ?/
   */
  certificate?: string;
  code?: number;
  from?: string;
  labels?: Record<string, string>;
  large?: number;
  limit: IntOrString | null;
  lists?: Record<string, boolean[] | null>;
  matrix?: (number | null)[][];
  memory?: Quantity;
  /** Default: "on". */
  mode: DifficultSpecMode;
  name?: string | null;
  none?: string;
  open?: DifficultSpecOpen;
  parts?: Record<string, DifficultSpecParts | null>;
  places?: (string | null)[] | null;
  "pod-cidr"?: string;
  podCIDR?: string;
  port?: IntOrString;
  ports?: (IntOrString | null)[];
  protocol?: DifficultSpecProtocol;
  ratio?: number;
  rules?: Record<string, DifficultSpecRules>;
  self?: string;
  share?: number | null;
  since?: Time;
  /**
   * ``PEM``, or ''
   *
   * A Heading
   *
   * [it]: ends here
   */
  target?: DifficultSpecTarget | null;
  /** The keyword of Rust. */
  type: string;
}

export interface DifficultSpecOpen {
  other?: string;
  /** Fields outside the schema. */
  [field: string]: unknown;
}

export interface DifficultSpecParts {
  int?: number;
}

export interface DifficultSpecRules {
  spec?: DifficultSpecRulesSpec;
}

export interface DifficultSpecRulesSpec {
  spec?: string;
}

/**
 * ``PEM``, or ''
 *
 * A Heading
 *
 * [it]: ends here
 * Exactly one field.
 */
export interface DifficultSpecTarget {
  podIPs?: string[];
  url?: string;
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

export type DifficultSpecProtocol = "TCP" | "UDP";
